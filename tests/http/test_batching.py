"""Requests are joined into batches, and each gets its own verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gate import CheckIn, Gate, Limits, Unavailable, Verdict
from gate.demo import corpus
from gate.http.batching import BESIDE_DOCUMENTS, Batcher

UNRELATED = [planted.document for planted in corpus(3, 60) if planted.story == "unrelated"]


class GatedJudge:
    """Judges with a real gate, when it is told to; keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = asyncio.Event()
        self._gate = Gate("simhash")

    async def __call__(self, documents: list[CheckIn]) -> list[Verdict]:
        self.batches.append([document.document_id for document in documents])
        await self.go.wait()
        return self._gate.check_in(documents)


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_requests_of_one_turn_of_the_loop_are_one_batch() -> None:
    judge = GatedJudge()
    judge.go.set()
    batcher = Batcher(judge, Limits())
    answers = await asyncio.gather(*(batcher.judge([document]) for document in UNRELATED[:20]))
    assert [len(batch) for batch in judge.batches] == [20]
    assert [[verdict.document_id for verdict in verdicts] for verdicts in answers] == [
        [document.document_id] for document in UNRELATED[:20]
    ]


async def test_what_comes_while_a_batch_is_judged_is_the_next_batch() -> None:
    judge = GatedJudge()
    batcher = Batcher(judge, Limits())
    tasks = []
    for document in UNRELATED[:10]:
        tasks.append(asyncio.create_task(batcher.judge([document])))
        await turns()
    assert [len(batch) for batch in judge.batches] == [1]
    judge.go.set()
    await asyncio.gather(*tasks)
    assert [len(batch) for batch in judge.batches] == [1, 9]


async def test_enough_documents_are_a_batch_beside_another_and_a_third_waits() -> None:
    judge = GatedJudge()
    batcher = Batcher(judge, Limits())
    sizes = (1, BESIDE_DOCUMENTS - 1, 1, BESIDE_DOCUMENTS)
    tasks = []
    for number, size in enumerate(sizes):
        documents = [CheckIn(document_id=f"{number}/{n}", text=f"{number} {n}") for n in range(size)]
        tasks.append(asyncio.create_task(batcher.judge(documents)))
        await turns()
    assert [len(batch) for batch in judge.batches] == [1, BESIDE_DOCUMENTS]
    judge.go.set()
    await asyncio.gather(*tasks)
    assert [len(batch) for batch in judge.batches] == [1, BESIDE_DOCUMENTS, BESIDE_DOCUMENTS]


async def test_clients_that_ask_again_after_their_answers_are_one_batch_again() -> None:
    judge = GatedJudge()
    judge.go.set()
    batcher = Batcher(judge, Limits())

    async def ask_twice(number: int) -> None:
        await batcher.judge([UNRELATED[number]])
        await turns(number)  # some take longer than others
        await batcher.judge([UNRELATED[number]])

    await asyncio.gather(*map(ask_twice, range(10)))
    assert [len(batch) for batch in judge.batches] == [10, 10]


async def test_closing_waits_for_a_batch_that_is_about_to_begin() -> None:
    judge = GatedJudge()
    judge.go.set()
    batcher = Batcher(judge, Limits())
    await asyncio.gather(*(batcher.judge([document]) for document in UNRELATED[:2]))
    last = asyncio.create_task(batcher.judge([UNRELATED[2]]))
    await turns()
    await batcher.close()
    assert judge.batches[-1] == [UNRELATED[2].document_id]
    assert (await last)[0].document_id == UNRELATED[2].document_id


async def test_a_batch_stays_within_the_limits_and_keeps_requests_whole() -> None:
    judge = GatedJudge()
    judge.go.set()
    batcher = Batcher(judge, Limits(batch_documents=5))
    parts = [UNRELATED[:3], UNRELATED[3:6], UNRELATED[6:8], UNRELATED[8:18], UNRELATED[18:19]]
    answers = await asyncio.gather(*map(batcher.judge, parts))
    assert [len(batch) for batch in judge.batches] == [3, 5, 10, 1]
    assert [len(verdicts) for verdicts in answers] == [3, 3, 2, 10, 1]


async def test_a_batch_stays_within_the_limit_of_characters() -> None:
    judge = GatedJudge()
    judge.go.set()
    limits = Limits(batch_chars=len(UNRELATED[0].text) + len(UNRELATED[1].text))
    await asyncio.gather(*(Batcher(judge, limits).judge([one]) for one in UNRELATED[:1]))
    batcher = Batcher(judge, limits)
    await asyncio.gather(*(batcher.judge([one]) for one in UNRELATED[:3]))
    assert [len(batch) for batch in judge.batches] == [1, 2, 1]


async def test_a_request_that_is_cancelled_while_it_waits_is_left_out() -> None:
    judge = GatedJudge()
    batcher = Batcher(judge, Limits())
    busy = asyncio.create_task(batcher.judge([UNRELATED[1]]))
    await turns()
    cancelled = asyncio.create_task(batcher.judge([UNRELATED[2]]))
    kept = asyncio.create_task(batcher.judge([UNRELATED[3]]))
    await turns()
    cancelled.cancel()
    await turns()
    judge.go.set()
    await asyncio.gather(busy, kept)
    assert [UNRELATED[2].document_id] not in judge.batches
    assert judge.batches[-1] == [UNRELATED[3].document_id]


async def test_a_request_that_is_cancelled_in_its_batch_is_judged_to_the_end() -> None:
    judge = GatedJudge()
    batcher = Batcher(judge, Limits())
    cancelled = asyncio.create_task(batcher.judge([UNRELATED[0]]))
    other = asyncio.create_task(batcher.judge([UNRELATED[1]]))
    await turns()
    cancelled.cancel()
    await turns()
    judge.go.set()
    [verdict] = await other
    assert verdict.document_id == UNRELATED[1].document_id
    assert judge.batches == [[UNRELATED[0].document_id, UNRELATED[1].document_id]]
    await batcher.close()


def failing(
    error: Exception, *, when: Callable[[list[CheckIn]], bool]
) -> Callable[[list[CheckIn]], Awaitable[list[Verdict]]]:
    gate = Gate("simhash")

    async def judge(documents: list[CheckIn]) -> list[Verdict]:
        if when(documents):
            raise error
        return gate.check_in(documents)

    return judge


async def test_an_unavailable_index_fails_every_request_of_the_batch_and_none_after_it() -> None:
    outage = [True]
    batcher = Batcher(failing(Unavailable("down"), when=lambda documents: outage[0]), Limits())
    answers = await asyncio.gather(*(batcher.judge([one]) for one in UNRELATED[:3]), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Unavailable] * 3
    outage[0] = False
    assert len(await batcher.judge(UNRELATED[:1])) == 1


async def test_a_request_that_cannot_be_judged_does_not_fail_the_others_of_its_batch() -> None:
    bad = UNRELATED[1].document_id
    judge = failing(ArithmeticError("a bug"), when=lambda documents: any(one.document_id == bad for one in documents))
    batcher = Batcher(judge, Limits())
    answers = await asyncio.gather(*(batcher.judge([one]) for one in UNRELATED[:3]), return_exceptions=True)
    assert [type(answer) for answer in answers] == [list, ArithmeticError, list]


async def test_a_request_without_documents_is_no_batch() -> None:
    judge = GatedJudge()
    assert await Batcher(judge, Limits()).judge([]) == []
    assert judge.batches == []


async def test_closing_waits_for_the_batches_in_progress() -> None:
    judge = GatedJudge()
    batcher = Batcher(judge, Limits())
    request = asyncio.create_task(batcher.judge(UNRELATED[:1]))
    await turns()
    closing = asyncio.create_task(batcher.close())
    await turns()
    assert not closing.done()
    judge.go.set()
    await closing
    assert len(await request) == 1
