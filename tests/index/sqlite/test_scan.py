"""An index file can be scanned, and restored, in batches."""

from __future__ import annotations

from pathlib import Path

from gate.index.sqlite.store import SqliteStore
from gate.index.store import EntryRecord
from tests.index.scan_contract import FIRST, ScanContract, new_entry, records


class TestSqliteScan(ScanContract):
    """A file."""


async def test_a_content_that_points_to_no_record_is_scanned_and_can_be_deleted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "x", digest="d", profile_ref="p@1")
    await store.register_content([new_entry(entry=1)])
    store._connection.execute("DELETE FROM entries")
    [dangling] = await records(store)
    assert dangling == EntryRecord(1, FIRST, (), b"", dead=True)
    assert await store.scan().restore([dangling]) == [dangling]
    await store.delete_records([1])
    assert await store.contents([FIRST]) == [None]
    await store.close()
