"""The servers that tests start: only under their marker, on ports of their own, and never silently absent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers import CLUSTER_BUS_OFFSET, RedisServer, free_ports, redis_server, require_program, wait_until


def test_a_test_without_the_marker_starts_no_server() -> None:
    with pytest.raises(RuntimeError, match="a test that runs redis-server needs the marker redis"), redis_server():
        pass


@pytest.mark.slow
def test_a_process_of_a_test_without_the_marker_starts_no_server_either() -> None:
    code = "from tests.support.servers import require_program; require_program('java', 'any')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "a test that runs java needs the marker kafka" in done.stderr


def test_a_shared_fixture_sets_its_marker(shared_redis: RedisServer, request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("redis")
    with shared_redis.client() as client:
        assert client.ping()


@pytest.mark.redis
def test_a_missing_program_is_an_error_that_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="apt-get install redis-tools"):
        require_program("redis-cli", "redis-tools")


@pytest.mark.redis
def test_a_killed_server_starts_again_with_its_port_and_its_data() -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        with server.client() as client:
            client.set("key", "value")
        server.kill()
        server.start()
        with server.client() as client:
            assert client.get("key") == b"value"


def test_ports_are_different_and_leave_room_for_the_cluster_bus() -> None:
    ports = free_ports(50)
    assert len({*ports, *(port + CLUSTER_BUS_OFFSET for port in ports)}) == 100


def test_waiting_for_a_condition_that_never_holds_fails_with_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.servers.START_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match="the cluster did not form"):
        wait_until(lambda: False, "the cluster did not form")
