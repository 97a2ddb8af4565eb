"""A catalogue that is kept like its index: by scans, and by what its own process does meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from gate import AsyncGate, CheckIn
from gate.demo import LIGHTHOUSE
from gate.http.catalogue_scan import SCAN_SECONDS, LiveCatalogue
from gate.index.scan import ScannableStore
from gate.model import Relation


class SteppedGate(AsyncGate):
    """Waits before each page of a scan until it is told to go on."""

    def __init__(self, *, go: asyncio.Event) -> None:
        super().__init__()
        self.go = go

    async def with_store(self, work: Callable[[ScannableStore], Coroutine[Any, Any, Any]]) -> Any:
        await self.go.wait()
        return await super().with_store(work)


def names(live: LiveCatalogue) -> list[str]:
    return [row.document_id for row in live.latest().ordered()]


@pytest.mark.parametrize("index", [None, "gate.sqlite"])
async def test_a_scan_lists_every_document_with_its_family(index: str | None, tmp_path: Path) -> None:
    async with AsyncGate(index=None if index is None else tmp_path / index) as gate:
        documents = [CheckIn(document_id=f"{n:04}", text=f"short {n}") for n in range(3000)]
        await gate.check_in([*documents, CheckIn(document_id="a", text=LIGHTHOUSE, title="Lighthouse")])
        await gate.check_in([CheckIn(document_id="b", text=LIGHTHOUSE)])
        live = LiveCatalogue(lambda: gate, most=10_000, is_shared=index is not None)
        catalogue = await live.read()
    assert len(catalogue) == 3002
    assert live.is_complete
    assert [tuple(family) for family in catalogue.largest(3)] == [("a", 2)]
    [row] = [row for row in catalogue.ordered() if row.document_id == "b"]
    assert (row.group, row.relation, catalogue.title("a")) == ("a", Relation.EXACT, "Lighthouse")


async def test_what_the_process_does_during_a_scan_is_not_overwritten_by_it() -> None:
    go = asyncio.Event()
    async with SteppedGate(go=go) as gate:
        await gate.check_in([CheckIn(document_id="old", text=LIGHTHOUSE)])
        live = LiveCatalogue(lambda: gate, most=100, is_shared=False)
        live.refresh()
        await asyncio.sleep(0)
        live.add_verdicts(await gate.check_in([CheckIn(document_id="new", text="a text of its own")]))
        live.remove("old")
        states = [live.is_complete]
        go.set()
        await live.read()
        assert names(live) == ["new"]
        assert [*states, live.is_complete] == [False, True]
        await live.close()


async def test_a_shared_index_is_scanned_again_when_it_is_old_and_one_of_this_process_never() -> None:
    now = 0.0
    async with AsyncGate() as gate:
        shared, own = (
            LiveCatalogue(lambda: gate, most=100, is_shared=is_shared, clock=lambda: now) for is_shared in (True, False)
        )
        for live in (shared, own):
            await live.read()
        await gate.check_in([CheckIn(document_id="elsewhere", text=LIGHTHOUSE)])
        now = SCAN_SECONDS + 1
        assert (shared.age_seconds, own.age_seconds) == (now, 0.0)
        while not names(shared):
            await asyncio.sleep(0)
        assert names(own) == []


async def test_more_documents_than_are_kept_are_not_scanned_and_the_catalogue_says_so() -> None:
    async with AsyncGate() as gate:
        await gate.check_in([CheckIn(document_id=f"{n}", text=f"short {n}") for n in range(5)])
        live = LiveCatalogue(lambda: gate, most=3, is_shared=False)
        assert len(await live.read()) == 3
        assert not live.is_complete
