"""`AsyncGate` beyond what it shares with `Gate` (`test_api` runs on both): the event loop, cancellation, closing."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import threading
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from gate import AsyncGate, CheckIn, ConfigError, Gate, Limits, Relation, UnknownDocument, UsageError
from gate.demo import BREAD, LIGHTHOUSE, corpus
from gate.index.scan import ScannableStore
from tests.support.servers import RedisServer

UNRELATED = [planted.document for planted in corpus(3, 260) if planted.story == "unrelated"]
BATCH = 16


def document(document_id: str, text: str) -> CheckIn:
    return CheckIn(document_id=document_id, text=text)


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[AsyncGate]:
    async with AsyncGate(index=tmp_path / "gate.sqlite", limits=Limits(batch_documents=BATCH)) as opened:
        yield opened


async def count_ticks(task: asyncio.Task[Any]) -> int:
    """How often the event loop turns until a task is done."""
    ticks = 0
    while not task.done():
        ticks += 1
        await asyncio.sleep(0)
    return ticks


def index_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("gate-")]


async def test_a_document_is_judged_found_and_explained(gate: AsyncGate) -> None:
    [first, second] = await gate.check_in([document("a", LIGHTHOUSE), document("b", LIGHTHOUSE.upper())])
    assert (first.relation, second.relation) == (Relation.NEW, Relation.EXACT)
    assert [match.document_id for match in await gate.find_similar(text=LIGHTHOUSE, limit=1)] == ["a"]
    assert (await gate.explain(["b"]))[0][0].verdict_id == second.verdict_id
    with pytest.raises(UnknownDocument):
        await gate.find_similar(document_id="nobody")


def test_every_method_has_the_arguments_that_it_has_on_a_gate() -> None:
    for name, method in vars(AsyncGate).items():
        if not name.startswith("_") and name != "open":
            assert inspect.iscoroutinefunction(method)
            assert inspect.signature(method) == inspect.signature(getattr(Gate, name)), name


# The event loop


async def test_the_event_loop_turns_while_the_index_waits_for_a_lock(tmp_path: Path) -> None:
    """Blocked, the loop would not come to release the lock, and the check-in would fail for it."""
    path = tmp_path / "gate.sqlite"
    async with AsyncGate(index=path) as gate:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(gate.check_in([document("a", LIGHTHOUSE)]))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not task.done()
        other.execute("ROLLBACK")
        other.close()
        assert [verdict.relation for verdict in await task] == [Relation.NEW]


@pytest.mark.slow
async def test_the_event_loop_turns_while_a_large_batch_is_judged() -> None:
    documents = [document(str(n), f"{LIGHTHOUSE} {BREAD} {n} " * 20) for n in range(100)]
    async with AsyncGate(limits=Limits(batch_documents=100, batch_chars=10_000_000)) as gate:
        judged = await count_ticks(asyncio.create_task(gate.check_in(documents)))
        compared = await count_ticks(asyncio.create_task(gate.compare([(BREAD * 50, BREAD * 51)] * 20)))
    assert judged > 20
    assert compared > 20


async def test_a_batch_is_signed_while_another_one_is_claimed(gate: AsyncGate) -> None:
    held, release = threading.Event(), threading.Event()

    async def hold(_: ScannableStore) -> None:
        held.set()
        release.wait()

    holding = asyncio.create_task(gate.with_store(hold))
    await asyncio.to_thread(held.wait)
    [comparison] = await gate.compare([(LIGHTHOUSE, BREAD)])  # in the thread that signs
    assert not comparison.alike
    assert not holding.done()
    release.set()
    await holding


async def test_of_many_tasks_with_copies_exactly_one_passes(gate: AsyncGate) -> None:
    calls = [gate.check_in([document(f"{n}", f"{BREAD} {n}"), UNRELATED[n]]) for n in range(40)]
    verdicts = await asyncio.gather(*calls)
    assert [verdict.similar for verdict, _ in verdicts].count(False) == 1
    assert not any(verdict.similar for _, verdict in verdicts)


async def test_tasks_may_share_a_gate_on_redis(shared_redis: RedisServer) -> None:
    async with AsyncGate("containment", index=shared_redis.url) as gate:
        verdicts = await asyncio.gather(*(gate.check_in([document(f"{n}", f"{BREAD} {n}")]) for n in range(10)))
        assert [verdict.similar for [verdict] in verdicts].count(False) == 1


async def test_a_gate_that_would_block_the_event_loop_on_redis_refuses_and_names_the_other(
    shared_redis: RedisServer,
) -> None:
    with pytest.raises(UsageError, match="use `AsyncGate` in a coroutine"):
        Gate(index=shared_redis.url)


# Cancellation


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8, 13, 100, 1000])
async def test_a_cancelled_list_is_checked_in_up_to_the_end_of_a_batch(gate: AsyncGate, ticks: int) -> None:
    documents = UNRELATED[: 6 * BATCH]
    task = asyncio.create_task(gate.check_in(documents))
    for _ in range(ticks):
        await asyncio.sleep(0)
    was_done = task.done()
    task.cancel()
    if not was_done:
        with pytest.raises(asyncio.CancelledError):
            await task
    known = [bool(verdicts) for verdicts in await gate.explain([one.document_id for one in documents])]
    assert known == [True] * sum(known) + [False] * (len(known) - sum(known))
    assert sum(known) % BATCH == 0
    assert {verdict.relation for verdict in await gate.check_in(documents)} == {Relation.NEW}


async def test_a_call_that_is_cancelled_before_the_index_is_free_leaves_no_trace(gate: AsyncGate) -> None:
    held, release = threading.Event(), threading.Event()

    async def hold(_: ScannableStore) -> None:
        held.set()
        release.wait()

    holding = asyncio.create_task(gate.with_store(hold))
    await asyncio.to_thread(held.wait)
    waiting: list[asyncio.Task[Any]] = [
        asyncio.create_task(gate.check_in([document("a", LIGHTHOUSE)])),
        asyncio.create_task(gate.delete(["a"])),
    ]
    await gate.compare([])  # what is signed is signed before it
    for task in waiting:
        task.cancel()
    release.set()
    await asyncio.wait(waiting)
    assert all(task.cancelled() for task in waiting)
    await holding
    assert (await gate.info())["documents"] == 0


# Opening and closing


async def test_close_waits_for_the_calls_under_way_to_the_end_of_their_lists(gate: AsyncGate) -> None:
    task = asyncio.create_task(gate.check_in(UNRELATED[: 6 * BATCH]))
    await asyncio.sleep(0)
    await asyncio.gather(gate.close(), gate.close())
    assert task.done()
    assert len(task.result()) == 6 * BATCH
    with pytest.raises(UsageError, match="this gate is closed; open another one"):
        await gate.check_in([])
    await gate.close()


async def test_a_close_that_is_cancelled_is_carried_out_by_the_next(gate: AsyncGate) -> None:
    task = asyncio.create_task(gate.check_in(UNRELATED[: 2 * BATCH]))
    await asyncio.sleep(0)
    closing = asyncio.create_task(gate.close())
    await asyncio.sleep(0)
    closing.cancel()
    assert len(await task) == 2 * BATCH
    await gate.close()
    for thread in index_threads():
        thread.join()


async def test_a_gate_that_is_closed_leaves_no_thread(tmp_path: Path) -> None:
    gate = await AsyncGate.open(index=tmp_path / "gate.sqlite")
    await gate.check_in([document("a", LIGHTHOUSE)])
    await gate.close()
    for thread in index_threads():
        thread.join()


async def test_a_gate_whose_opening_is_cancelled_is_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release, closed = threading.Event(), threading.Event(), threading.Event()

    class SlowGate(Gate):
        def __init__(self) -> None:
            begun.set()
            release.wait()
            super().__init__()

        def close(self) -> None:
            super().close()
            closed.set()

    monkeypatch.setattr("gate.async_api.Gate", lambda profile: SlowGate())
    opening = asyncio.create_task(AsyncGate.open())
    await asyncio.to_thread(begun.wait)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    release.set()
    for thread in index_threads():
        thread.join()
    assert closed.is_set()


async def test_a_gate_that_cannot_be_opened_says_why_and_leaves_no_thread() -> None:
    with pytest.raises(ConfigError, match="did you mean `standard`"):
        await AsyncGate.open("standrad")
    with pytest.raises(UsageError, match="secret: is of type str; give bytes"):
        async with AsyncGate(secret="hush"):  # type: ignore[arg-type]
            raise AssertionError("it was opened")
    for thread in index_threads():
        thread.join()


def uses(gate: AsyncGate) -> list[Coroutine[Any, Any, Any]]:
    return [gate.check_in([]), gate.find_similar(text="text"), gate.compare([]), gate.info()]


async def test_a_gate_that_is_not_open_says_how_to_open_it() -> None:
    for use in uses(AsyncGate()):
        with pytest.raises(UsageError, match=r"use `async with AsyncGate\(...\)` or `await AsyncGate.open\(...\)`"):
            await use


async def test_a_gate_is_opened_once() -> None:
    async with AsyncGate() as gate:
        with pytest.raises(UsageError, match="this gate was opened before; open another one"):
            await gate.__aenter__()


async def test_a_gate_that_is_closed_while_it_opens_does_not_stay_open(tmp_path: Path) -> None:
    gate = AsyncGate(index=tmp_path / "gate.sqlite")
    opening = asyncio.create_task(gate.__aenter__())
    await asyncio.sleep(0)
    await gate.close()
    with pytest.raises(UsageError, match="this gate is closed"):
        await opening
    for thread in index_threads():
        thread.join()
