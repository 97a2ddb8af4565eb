"""Connections over real sockets: slow clients, many of them, TLS, and the end of the service."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from gate.errors import ConfigError
from gate.http import server
from gate.http.server import MAX_HEAD_BYTES, bind
from gate.http.settings import ServiceSettings
from tests.http.service_harness import running_service, until_ready
from tests.support.servers import certificates

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = (
    b"POST /v1/check-ins HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
)


async def connect(port: int) -> Streams:
    return await asyncio.open_connection("127.0.0.1", port)


async def answer_of(streams: Streams) -> bytes:
    """All that comes until the service closes the connection."""
    try:
        return await streams[0].read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: loc", b"\x16\x03\x01\x02"])
async def test_a_client_that_never_finishes_its_head_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.05)
    async with running_service(ready=False) as service:
        streams = await connect(service.port)
        streams[1].write(sent)
        answer = await answer_of(streams)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
        streams[1].close()


async def test_a_client_that_trickles_its_second_head_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    async with running_service() as service:
        reader, writer = await connect(service.port)
        writer.write(GET)
        assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
        for byte in GET * 1000:
            writer.write(bytes([byte]))
            try:
                await writer.drain()
                await asyncio.wait_for(reader.read(1), 0.02)
            except TimeoutError:
                continue
            except ConnectionError:
                break
            if reader.at_eof():
                break
        else:
            raise AssertionError("the connection is still open")
        writer.close()


async def test_a_head_that_is_too_long_is_not_read_to_its_end() -> None:
    async with running_service() as service:
        streams = await connect(service.port)
        streams[1].write(b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (2 * MAX_HEAD_BYTES))
        assert await answer_of(streams) == b""
        streams[1].close()


async def test_a_body_that_stops_is_answered_in_time_and_enters_nothing() -> None:
    async with running_service(api_receive_seconds=0.05) as service:
        streams = await connect(service.port)
        streams[1].write(POST + b'{"document_id": "a", ')
        answer = await answer_of(streams)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in answer
        assert b"api_receive_seconds" in answer
        streams[1].close()
        assert (await service.client.get("/v1/documents/a/verdict")).status_code == 404


async def test_a_client_that_leaves_within_its_body_enters_nothing_and_frees_its_room() -> None:
    async with running_service() as service:
        _, writer = await connect(service.port)
        writer.write(POST + b'{"document_id": "a", ')
        await writer.drain()
        while service.sample("gate_http_requests_in_progress") < 1:
            await asyncio.sleep(0)
        writer.close()
        while service.sample("gate_http_requests_in_progress") > 0:
            await asyncio.sleep(0)
        assert service.sample("gate_http_pending_bytes") == 0
        assert (await service.client.get("/v1/documents/a/verdict")).status_code == 404


async def test_idle_connections_make_room_for_others() -> None:
    async with running_service(api_max_connections=8) as service:
        idle = [await connect(service.port) for _ in range(40)]
        assert (await service.client.get("/healthz")).status_code == 200
        open_still = 0
        for reader, writer in idle:
            try:
                await asyncio.wait_for(reader.read(1), 0.01)
            except TimeoutError:
                open_still += 1
            except ConnectionError:
                pass
            writer.close()
        assert open_still <= 8


async def test_what_is_no_http_is_refused() -> None:
    async with running_service() as service:
        streams = await connect(service.port)
        streams[1].write(b"HELLO\r\n\r\n")
        assert (await answer_of(streams)).startswith(b"HTTP/1.1 400 ")
        streams[1].close()


async def test_requests_in_progress_are_answered_when_the_service_ends() -> None:
    async with running_service() as service:
        reader, writer = await connect(service.port)
        body = b'{"document_id": "a", "text": "t"}'
        writer.write(POST.replace(b"100", str(len(body)).encode()) + body[:-5])
        while service.sample("gate_http_requests_in_progress") < 1:
            await asyncio.sleep(0)
        finishing = asyncio.create_task(answer_of((reader, writer)))
        asyncio.get_running_loop().call_later(0.05, writer.write, body[-5:])
    assert (await finishing).startswith(b"HTTP/1.1 200 ")
    writer.close()


@pytest.mark.redis  # what makes certificates comes with it
async def test_the_service_speaks_tls(tmp_path: Path) -> None:
    files = certificates(tmp_path)
    flags: dict[str, Any] = {"api_cert_file": str(files.certificate), "api_key_file": str(files.key)}
    async with running_service(ready=False, **flags) as service:
        assert service.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(files.authority))
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port, ssl=context)
        writer.write(GET)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()


@pytest.mark.parametrize("content", [b"", b"no certificate"])
async def test_a_certificate_that_cannot_be_used_is_a_config_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cert.pem"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="api_cert_file, api_key_file: cannot be used"):
        async with running_service(api_cert_file=str(path)):
            pass


def test_a_port_in_use_is_a_config_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"api_port.*{port}.*choose another port"):
            bind(ServiceSettings(port=port))


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.1"])
def test_a_host_that_is_not_this_machine_is_a_config_error(host: str) -> None:
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1"):
        bind(ServiceSettings(host=host, port=0))


def test_several_processes_may_listen_on_one_port() -> None:
    with bind(ServiceSettings(port=0), shared=True) as first:
        port = first.getsockname()[1]
        with bind(ServiceSettings(port=port), shared=True) as second:
            assert second.getsockname() == first.getsockname()


async def test_the_service_listens_on_ipv6() -> None:
    async with running_service(api_host="::1", ready=False) as service:
        assert service.url.startswith("http://[::1]:")
        await until_ready(service.client)
