"""An index in memory can be scanned, and restored, in batches."""

from __future__ import annotations

from gate.index.memory.store import MemoryStore
from gate.index.store import EntryRecord
from tests.index.scan_contract import FIRST, ScanContract, new_entry, records


class TestMemoryScan(ScanContract):
    """One process."""


async def test_a_content_that_points_to_no_record_is_scanned_and_can_be_deleted() -> None:
    store = MemoryStore()
    await store.register_content([new_entry(entry=1)])
    del store._records[1]
    [dangling] = await records(store)
    assert dangling == EntryRecord(1, FIRST, (), b"", dead=True)
    assert await store.scan().restore([dangling]) == [dangling]
    await store.delete_records([1])
    assert await store.contents([FIRST]) == [None]
