"""A short soak: what a process holds is read from /proc, growth is noticed, and the results are written."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from load.soak import ProcessSample, growth, main, sample_process


def samples(*resident: float, descriptors: int = 20) -> list[ProcessSample]:
    return [
        ProcessSample(seconds=n, answered=n, resident_mb=mb, descriptors=descriptors + n, connections=3)
        for n, mb in enumerate(resident)
    ]


def test_memory_that_settles_is_flat_and_memory_that_grows_is_not() -> None:
    settled, grown = growth(samples(*[70, 100, 120] * 3)), growth(samples(*range(70, 160, 10)))
    assert next((row.what, row.is_flat) for row in settled) == ("resident_mb", True)
    assert next((row.what, row.is_flat) for row in grown) == ("resident_mb", False)


def test_descriptors_that_leak_are_not_flat() -> None:
    [_, descriptors, connections] = growth(samples(*[100] * 90))
    assert (descriptors.is_flat, connections.is_flat) == (False, True)


def test_a_sample_counts_open_files_and_connections_of_a_process() -> None:
    before = sample_process(os.getpid(), seconds=0, answered=0)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
        server.accept()[0],
    ):
        during = sample_process(os.getpid(), seconds=0, answered=0)
    assert during.descriptors - before.descriptors == 3
    assert during.connections - before.connections == 2
    assert during.resident_mb > 10


@pytest.mark.kafka
@pytest.mark.redis
@pytest.mark.timeout(240)
def test_a_short_soak_writes_samples_and_plots(tmp_path: Path) -> None:
    main(["--minutes", "0.2", "--rate", "50", "--out", str(tmp_path), "--json"])
    result = json.loads((tmp_path / "soak.json").read_text())
    assert len(result["samples"]) >= 5
    assert result["samples"][-1]["answered"] > 100
    assert result["samples"][-1]["connections"] >= 2
    for name in ("soak-memory", "soak-descriptors"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
