"""The child process: what it says and when it ends."""

from __future__ import annotations

import io
import subprocess
import sys

import msgspec
import pytest

from gate.extract.limits import ExtractLimits
from gate.extract.messages import LENGTH, READY, Request, Response, pack
from gate.extract.text_of import ReadOptions
from tests.extract.office_samples import docx_of


def responses(*requests: Request) -> list[Response]:
    """What a child answers, which ends by itself when its input does."""
    child = subprocess.run(
        [sys.executable, "-m", "gate.extract.child"],
        input=b"".join(pack(request) for request in requests),
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    stream = io.BytesIO(child.stdout)
    found = []
    assert stream.read(len(READY)) == READY
    while head := stream.read(LENGTH.size):
        found.append(msgspec.msgpack.decode(stream.read(LENGTH.unpack(head)[0]), type=Response))
    return found


def test_it_answers_each_request_and_ends_with_its_input() -> None:
    first, second = responses(Request(data=docx_of("one")), Request(data=b"\x89PNG\0"))
    assert first.extracted is not None
    assert first.extracted.text.strip() == "one"
    assert (second.code, second.extracted) == ("binary", None)


def test_surrogates_that_stand_alone_are_replaced() -> None:
    [response] = responses(Request(data=rb"{\rtf1 a\u-10240?b}"))
    assert response.extracted is not None
    response.extracted.text.encode()


def test_it_ends_after_a_file_that_took_all_memory() -> None:
    options = ReadOptions(limits=ExtractLimits(memory_bytes=64 * 2**20))
    large = Request(data=b"a" * (40 * 2**20), options=options)
    [response] = responses(large, Request(data=docx_of("is not answered")))
    assert response.is_last
    assert response.code == "too_costly"
    assert "extract.memory_bytes" in response.message


@pytest.mark.parametrize("path", ["/dev/null", "/nowhere"])
def test_paths_are_read_by_the_child(path: str) -> None:
    [response] = responses(Request(path=path))
    assert (response.code == "unreadable") == (path == "/nowhere")
