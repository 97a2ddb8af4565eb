"""An audit that repairs may run beside check-ins, deletes and crashes, step by step in any order, and does no harm."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import suppress
from inspect import isasyncgenfunction
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import method_of
from gate.index.memory.store import MemoryStore
from gate.index.protocol.claim import Index
from gate.index.protocol.outcome import Claim
from gate.index.protocol.postings import postings_of
from gate.index.tools.audit import audit
from gate.index.tools.findings import Fault, Report
from gate.limits import Limits

# Counting the lines of so many interleavings would take longer than running them.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

PROFILE = BUILT_IN["simhash"]
METHOD = method_of(PROFILE)
# Three that are alike in pairs, and one that is not; the first two have one beginning, and so one name in a page.
PRINTS = {"a": 0, "b": 1, "c": 2, "d": 2**63 - 1}
CONTENTS = {name: (b"same" if name in "ab" else name.encode() * 4) + name.encode() * 12 for name in PRINTS}


class Step:
    def __await__(self) -> Generator[None, None, None]:
        yield


class SteppingStore:
    """A store, or its scan, that stops before each of its calls, so that other processes may come in between."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name == "scan":
            return lambda: SteppingStore(method())
        return _batches(method) if isasyncgenfunction(method) else _result(method)


def _batches(method: Any) -> Any:
    async def stepped() -> AsyncIterator[Any]:
        async for batch in method():
            await Step()
            yield batch

    return stepped


def _result(method: Any) -> Any:
    async def stepped(*args: Any, **kwargs: Any) -> Any:
        await Step()
        return await method(*args, **kwargs)

    return stepped


def claim(name: str) -> Claim:
    return Claim(document_id=name, version=None, content=CONTENTS[name], body=PRINTS[name].to_bytes(8, "little"))


def run_steps(steps: Coroutine[Any, Any, Any]) -> Any:
    while True:
        try:
            steps.send(None)
        except StopIteration as done:
            return done.value


class SmallIndex:
    def __init__(self, index: str) -> None:
        self.numbers = Random(7)
        self.store = MemoryStore()
        self.profile = msgspec.structs.replace(PROFILE, index=index)
        self.index = Index(SteppingStore(self.store), METHOD, self.profile, Limits(), new_entry_id=self.new_entry_id)

    def new_entry_id(self, content: bytes) -> int:
        return int.from_bytes(content[:4], "big") << 32 | self.numbers.randrange(1, 2**32)

    def audit(self, *, fix: bool) -> Coroutine[Any, Any, Report]:
        return audit(SteppingStore(self.store), METHOD, self.profile, fix=fix)

    def check_in(self, name: str) -> Coroutine[Any, Any, Any]:
        return self.index.claim([claim(name)])

    def similar(self) -> dict[str, bool]:
        """Whether each is similar to something that was first."""
        return {name: run_steps(self.check_in(name))[0].answer.similar for name in "abcd"}


def any_order(tasks: list[Coroutine[Any, Any, Any]], random: Random, *, crashes: bool) -> None:
    """Run tasks a step at a time, in any order; some may stop anywhere, as if killed."""
    going = list(tasks)
    try:
        while going:
            task = random.choice(going)
            try:
                if crashes and random.random() < 0.03:
                    task.close()
                    going.remove(task)
                else:
                    task.send(None)
            except StopIteration:
                going.remove(task)
    finally:
        for task in going:
            task.close()


@given(
    seed=st.integers(0, 2**32),
    index=st.sampled_from(["originals", "all"]),
    deletes=st.sampled_from(["", "a", "ab"]),
    crashes=st.booleans(),
)
@settings(max_examples=200)
def test_repairing_beside_check_ins_deletes_and_crashes_does_no_harm(
    seed: int, index: str, deletes: str, crashes: bool
) -> None:
    random, small = Random(seed), SmallIndex(index)
    any_order([*map(small.check_in, random.sample("abcd", 2))], random, crashes=crashes)
    tasks = [*map(small.check_in, "abcd"), *(small.index.delete([name]) for name in deletes)]
    any_order([*tasks, small.audit(fix=True), small.audit(fix=True)], random, crashes=crashes)
    if crashes:  # a delete that was cut off may have taken an entry from a document that was answered meanwhile
        run_steps(small.audit(fix=True))

    once = small.similar()
    assert sorted(once[name] for name in "abc") == [False, True, True]
    assert not once["d"]
    run_steps(small.audit(fix=True))
    assert small.similar() == once
    assert run_steps(small.audit(fix=False)).found == {}
    for name in "abcd":
        run_steps(small.index.delete([name]))
    left = run_steps(small.store.info())
    assert (left["documents"], left["contents"], left["entries"], left["postings"]) == (0, 0, 0, 0)


@given(seed=st.integers(0, 2**32), index=st.sampled_from(["originals", "all"]))
@settings(max_examples=200)
def test_check_ins_alone_are_never_reported_as_a_fault(seed: int, index: str) -> None:
    random, small = Random(seed), SmallIndex(index)
    reports: list[Report] = []

    async def looked() -> None:
        reports.append(await small.audit(fix=True))

    any_order([*map(small.check_in, "abcdabcd"), looked(), looked()], random, crashes=False)
    assert [report.problems for report in reports] == [{}, {}]


def test_the_steps_come_in_between() -> None:
    """Without the steps nothing above would be tested."""
    small = SmallIndex("originals")
    run_steps(small.check_in("a"))
    task, steps = small.audit(fix=False), 0
    with suppress(StopIteration):
        while True:
            task.send(None)
            steps += 1
    assert steps > 8


def test_an_entry_that_is_deleted_while_it_is_repaired_leaves_nothing_behind() -> None:
    small = SmallIndex("originals")
    run_steps(small.check_in("a"))
    [record] = small.store._records.values()
    keys, entries, _ = postings_of(METHOD, [record])
    run_steps(small.store.remove_postings(keys, entries))

    class Late(SteppingStore):
        async def append(self, *postings: Any) -> None:
            await small.index.delete(["a"])
            await small.store.append(*postings)

    assert run_steps(audit(Late(small.store), METHOD, small.profile, fix=True)).found[Fault.UNLISTED] == 1
    left = run_steps(small.store.info())
    assert (left["documents"], left["entries"], left["postings"]) == (0, 0, 0)
