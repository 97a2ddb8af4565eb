"""Numbers of entries, and operations that are repeated where the index changed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gate.errors import Stale, Unavailable
from gate.index.store import STALE_ATTEMPTS, new_entry_id, retry_stale

CONTENT = bytes(range(16))

FORKING = """
import os
from gate.index.store import new_entry_id
new_entry_id(bytes(16))
reads, writes = os.pipe()
if os.fork() == 0:
    os.write(writes, str([new_entry_id(bytes(16)) for _ in range(4)]).encode())
    os._exit(0)
own = str([new_entry_id(bytes(16)) for _ in range(4)])
os.wait()
print(own, os.read(reads, 1000).decode(), sep="|")
"""


def test_an_entry_begins_like_its_content_and_no_two_are_the_same() -> None:
    entries = {new_entry_id(CONTENT) for _ in range(1000)}
    assert len(entries) > 990  # of four thousand million numbers, a thousand are distinct but for the rarest chance
    assert {entry >> 32 for entry in entries} == {int.from_bytes(CONTENT[:4], "big")}
    assert all(0 < entry < 2**64 for entry in entries)


def test_a_forked_process_draws_other_numbers_than_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True, timeout=60)
    parent, _, child = done.stdout.strip().partition("|")
    assert parent != child


class Operation:
    """Raises `Stale` so many times before it succeeds."""

    def __init__(self, stale: int) -> None:
        self.stale = stale
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.stale:
            raise Stale("changed")
        return "done"


async def test_an_operation_is_repeated_while_it_is_stale() -> None:
    operation = Operation(stale=STALE_ATTEMPTS - 1)
    assert await retry_stale(operation) == "done"
    assert operation.calls == STALE_ATTEMPTS


async def test_an_operation_that_stays_stale_is_unavailable() -> None:
    operation = Operation(stale=STALE_ATTEMPTS)
    with pytest.raises(Unavailable, match="try again"):
        await retry_stale(operation)
    assert operation.calls == STALE_ATTEMPTS
