"""Every backend can be walked, and put back, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gate.index.memory.store import MemoryStore
from gate.index.scan import ScannableStore
from gate.index.sqlite.store import SqliteStore
from gate.index.store import EntryRecord
from tests.index.scan_contract import FIRST, Run, WalkContract, records, wish


@pytest.fixture(params=["memory", "sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, run: Run) -> Iterator[Callable[[int], ScannableStore]]:
    opened: list[ScannableStore] = []

    def open_one(max_bucket: int = 4096) -> ScannableStore:
        path = tmp_path / f"{len(opened)}.gate"
        if request.param == "memory":
            opened.append(MemoryStore(max_bucket))
        else:
            opened.append(SqliteStore(path, digest="d", profile_ref="p@1", max_bucket=max_bucket))
        return opened[-1]

    yield open_one
    for store in opened:
        run(store.close())


class TestEmbeddedStores(WalkContract):
    """Memory and SQLite."""


def test_a_content_that_leads_to_no_record_is_met_and_can_be_erased(tmp_path: Path, run: Run) -> None:
    memory = MemoryStore()
    sqlite = SqliteStore(tmp_path / "x", digest="d", profile_ref="p@1")
    for store in (memory, sqlite):
        run(store.register_content([wish(entry=1)]))
    del memory._records[1]
    sqlite._connection.execute("DELETE FROM entries")
    for store in (memory, sqlite):
        [astray] = records(store, run)
        assert astray == EntryRecord(1, FIRST, (), b"", dead=True)
        assert run(store.scan().restore([astray])) == [astray]
        run(store.delete_records([1]))
        assert run(store.contents([FIRST])) == [None]
    run(sqlite.close())
