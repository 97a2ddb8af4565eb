"""The index file: it outlives its processes, is shared by several, and is refused where it cannot be trusted."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from gate.api import Gate
from gate.core.profile import Profile
from gate.errors import ConfigError, Unavailable
from gate.index.sqlite.store import FORMAT, SqliteStore
from gate.index.store import AnswerUpdate, NewEntry, Registration
from tests.index.store_contract import StoreContract

POSTINGS = 5

# What a worker does with each document, a line printed after each acknowledged step.
WORKER = """
import sys
import numpy as np
from gate.index.sqlite.store import SqliteStore
from gate.index.store import NewEntry, AnswerUpdate, Registration
from gate.pipeline import run_now as now

path, worker, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = SqliteStore(path, digest="d", profile_ref="p@1")
print("open", flush=True)
for n in range(count):
    content, entry = n.to_bytes(16, "big"), worker * 1_000_000 + n + 1
    [state] = now(store.register_content([NewEntry(f"d{worker}-{n}", None, content, entry, content * 8)]))
    print("entered", n, state.record.entry, flush=True)
    keys = np.arange(5, dtype=np.uint64) + np.uint64(n % 100 * 5)
    now(store.append(keys, np.full(5, entry, np.uint64), keys))
    print("appended", n, entry, flush=True)
    ticket = now(store.draw(1))
    print("drew", n, ticket, flush=True)
    [record] = now(store.register([Registration(state.record.entry, ticket=ticket)]))
    print("registered", n, record.ticket, flush=True)
    now(store.save_answers([AnswerUpdate(f"d{worker}-{n}", content, b"answer" * 50)]))
    print("saved", n, 0, flush=True)
now(store.close())
"""


def open_index(
    path: Path, *, digest: str = "d", profile_ref: str = "p@1", busy_milliseconds: int = 10_000
) -> SqliteStore:
    return SqliteStore(path, digest=digest, profile_ref=profile_ref, busy_milliseconds=busy_milliseconds)


def new_entry(number: int) -> NewEntry:
    return NewEntry(f"d{number}", "v", number.to_bytes(16, "big"), number, b"body")


def worker(path: Path, number: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(path), str(number), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def test_the_file_of_an_index_and_those_beside_it_are_private(tmp_path: Path) -> None:
    store = open_index(tmp_path / "index")
    await store.register_content([new_entry(1)])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"index": 0o600, "index-wal": 0o600, "index-shm": 0o600}
    await store.close()


class TestSqliteStore(StoreContract):
    """A file."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.gate"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = open_index(path)
    yield store
    await store.close()


# It outlives its processes.


async def test_an_index_that_is_opened_again_holds_what_it_held(path: Path) -> None:
    store = open_index(path)
    [before] = await store.register_content([new_entry(1)])
    await store.append(np.array([5], np.uint64), np.array([1], np.uint64), np.array([9], np.uint64))
    drawn = await store.draw(10)
    await store.close()

    store = open_index(path)
    assert await store.records([1]) == [before.record]
    assert (await store.read(np.array([5], np.uint64))).tags.tolist() == [9]
    assert await store.draw(1) == drawn + 10
    await store.close()


async def test_closing_twice_is_harmless(path: Path) -> None:
    store = open_index(path)
    await store.close()
    await store.close()


@pytest.mark.slow
async def test_a_process_killed_at_any_moment_loses_nothing_that_it_acknowledged(path: Path) -> None:
    randomness = random.Random(20)
    for number in range(1, 9):
        process = worker(path, number, 100_000)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(randomness.randint(1, 300))]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()  # acknowledged while the signal was under way
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        if not lines[-1].endswith("\n"):
            del lines[-1]

        store = open_index(path)
        await _assert_acknowledged(store, number, [line.split() for line in lines[1:]])
        await _assert_whole(store, number)
        await store.close()
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


async def _assert_acknowledged(store: SqliteStore, number: int, lines: list[list[str]]) -> None:
    tickets = [int(value) for step, _, value in lines if step == "drew"]
    assert tickets == sorted(set(tickets))
    assert await store.draw(1) > max(tickets, default=0)
    for step, n, value in lines:
        content = int(n).to_bytes(16, "big")
        [entry] = await store.contents([content])
        [record] = await store.records([entry or 0])
        assert record is not None
        [held] = (await store.documents([f"d{number}-{n}"]))[0]
        match step:
            case "entered":
                assert entry == int(value)
                assert held.content == content
            case "appended":
                assert await _postings_of(store, int(n), int(value)) == POSTINGS
            case "registered":
                assert record.ticket == int(value)
            case "saved":
                assert held.answer == b"answer" * 50


async def _assert_whole(store: SqliteStore, number: int) -> None:
    """Also what was not acknowledged is there entirely or not at all."""
    total = (await store.info())["contents"]
    for n in range(total):
        content = n.to_bytes(16, "big")
        [entry] = await store.contents([content])
        [record] = await store.records([entry or 0])
        assert record is not None
        assert (record.content, record.body) == (content, content * 8)
        assert await _postings_of(store, n, number * 1_000_000 + n + 1) in (0, POSTINGS)
    assert total == (await store.info())["entries"]


async def _postings_of(store: SqliteStore, n: int, entry: int) -> int:
    keys = np.arange(POSTINGS, dtype=np.uint64) + np.uint64(n % 100 * POSTINGS)
    return int(((await store.read(keys)).entries == entry).sum())


# Several processes share it.


@pytest.mark.slow
async def test_processes_that_create_and_fill_one_file_together_agree(path: Path) -> None:
    count = 60
    processes = [worker(path, number, count) for number in (1, 2, 3)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    lines = [line.split() for output in outputs for line in output.splitlines() if line != "open"]

    tickets = [value for step, _, value in lines if step == "drew"]
    assert len(set(tickets)) == 3 * count
    winners = {(n, value) for step, n, value in lines if step == "entered"}
    assert len(winners) == count, "processes got different entries of one content"
    registered = {(n, value) for step, n, value in lines if step == "registered"}
    assert len(registered) == count, "processes got different registrations of one entry"
    store = open_index(path)
    info = await store.info()
    await store.close()
    assert (info["documents"], info["entries"], info["postings"]) == (3 * count, count, 3 * count * POSTINGS)


async def test_a_read_does_not_wait_for_a_writer(store: SqliteStore, path: Path) -> None:
    await store.register_content([new_entry(1)])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM contents")
    assert await store.contents([new_entry(1).content]) == [1]
    writer.execute("COMMIT")
    writer.close()
    assert await store.contents([new_entry(1).content]) == [None]


async def test_a_file_that_stays_locked_is_unavailable_and_works_again_afterwards(path: Path) -> None:
    store = open_index(path, busy_milliseconds=20)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await store.register_content([new_entry(1)])
    with pytest.raises(Unavailable, match="locked"):
        open_index(path, busy_milliseconds=20)
    other.execute("ROLLBACK")
    other.close()
    [state] = await store.register_content([new_entry(1)])
    assert state.record is not None
    assert state.record.entry == 1
    await store.close()


async def test_a_full_disk_is_unavailable_and_leaves_nothing_half_written(store: SqliteStore) -> None:
    store._connection.execute("PRAGMA max_page_count = 30")
    many = np.arange(1, 10_001, dtype=np.uint64)
    with pytest.raises(Unavailable, match="full"):
        await store.append(many, many, many)
    assert (await store.info())["postings"] == 0
    [state] = await store.register_content([new_entry(1)])
    assert state.record is not None
    assert state.record.entry == 1


async def test_a_call_that_fails_half_way_leaves_no_trace(store: SqliteStore) -> None:
    await store.register_content([new_entry(1)])
    clash = NewEntry("d3", None, b"another content.", 1, b"")
    with pytest.raises(ValueError, match="never used twice"):
        await store.register_content([new_entry(2), clash])
    assert (await store.documents(["d2"]))[0] == ()
    assert await store.records([2]) == [None]
    await store.register([Registration(1, ticket=1)])
    assert await store.save_answers([AnswerUpdate("d1", new_entry(1).content, b"x")]) == [b"x"]


@pytest.mark.parametrize(("sync", "level"), [("normal", 1), ("full", 2)])
async def test_how_far_a_write_waits_for_the_disk_is_chosen(path: Path, sync: Any, level: int) -> None:
    store = SqliteStore(path, digest="d", profile_ref="p@1", sync=sync)
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (level,)
    await store.close()


# It is refused where it cannot be trusted.


def test_another_digest_under_the_same_name_is_refused_with_the_way_out(store: SqliteStore, path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        open_index(path, digest="e")
    message = str(refusal.value)
    for part in (str(path), "p@1", "digest d", "digest e", "new version", "new file", "replay"):
        assert part in message


def test_a_gate_that_decides_by_another_threshold_is_refused_with_both_values(tmp_path: Path) -> None:
    path = tmp_path / "index.gate"
    profile = Profile(name="p")
    with Gate(profile, index=path):
        with pytest.raises(ConfigError) as refusal:
            Gate(structs.replace(profile, resemblance=0.8), index=path)
        for part in (str(path), "resemblance 0.65, and this profile has 0.8", "gate index export"):
            assert part in str(refusal.value)
    Gate(profile, index=path).close()


@pytest.mark.parametrize("digest", ["d", "e"])
def test_another_profile_is_refused_with_the_way_out(store: SqliteStore, path: Path, digest: str) -> None:
    with pytest.raises(ConfigError, match=r"made under profile p@1 .* this is q@2 .* name a new file"):
        open_index(path, profile_ref="q@2", digest=digest)


async def test_a_refused_file_is_left_as_it_was(path: Path) -> None:
    await open_index(path).close()
    before = path.read_bytes()
    with pytest.raises(ConfigError):
        open_index(path, digest="e")
    assert path.read_bytes() == before


async def test_a_newer_format_is_refused_with_the_way_out(path: Path) -> None:
    await open_index(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT + 1),))
    connection.close()
    with pytest.raises(
        ConfigError, match=f"format {FORMAT + 1} .* reads format {FORMAT}: use the version that wrote it"
    ):
        open_index(path)


def test_a_file_that_is_no_database_is_refused_and_kept(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(ConfigError, match=r"no SQLite file .* name a new file"):
        open_index(path)
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_the_database_of_another_program_is_refused_and_kept(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="not an index: name another file"):
        open_index(path)
    assert path.read_bytes() == before


async def test_a_damaged_file_is_refused_while_it_is_used(path: Path) -> None:
    store = open_index(path)
    many = np.arange(1, 5_001, dtype=np.uint64)
    await store.append(many, many, many)
    await store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(os.urandom(size // 2))

    store = open_index(path)
    with pytest.raises(ConfigError, match="damaged"):
        await store.read(many)
    await store.close()


async def test_an_empty_file_becomes_an_index(path: Path) -> None:
    path.touch()
    store = open_index(path)
    assert (await store.info())["documents"] == 0
    await store.close()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere is not a directory: create it"):
        open_index(tmp_path / "nowhere" / "index.gate")


def test_a_directory_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be opened"):
        open_index(tmp_path)
