"""A stream of documents into a gate whose index fails now and then, and the state of the index afterwards.

A feed does what a consumer of a topic does: it retries a batch until it is judged, and takes the next one only then.
Its verdicts are compared with those of a gate in memory on the same stream, where nothing ever fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar, cast

from gate.api import Gate
from gate.errors import Unavailable
from gate.index.protocol.postings import postings_of
from gate.index.redis.url import RedisSettings, RetryPolicy
from gate.index.scan import ScannableStore
from gate.index.store import EntryRecord, Store
from gate.index.tools.audit import audit
from gate.model import CheckIn, Verdict
from load.corpus import Recipe, SyntheticCorpus

T = TypeVar("T")

BATCH = 16
PAUSE_SECONDS = 0.01
OUTAGE_SECONDS = 60.0
# Short enough for a failover to be noticed; retried often enough for a test to be quick.
SETTINGS = RedisSettings(
    timeout_seconds=2.0, retry=RetryPolicy(retries=1, backoff_seconds=0.005, failures_to_open=5, open_seconds=0.01)
)


def stream(seed: int) -> Iterator[CheckIn]:
    """Short documents, 30 % of them copies."""
    for planted in SyntheticCorpus(seed, 200_000, Recipe(words=60, edit_shares=(0.01, 0.03))):
        yield CheckIn(document_id=planted.document_id, text=planted.text)


class FaultyStore:
    """A store that causes a fault right before its n-th primitive, counted from when it is armed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.steps = 0
        self._steps_left = 0
        self._fault: Callable[[], object] | None = None

    def arm(self, step: int, fault: Callable[[], object]) -> None:
        self._steps_left, self._fault = step, fault

    def disarm(self) -> None:
        self._fault = None

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.store, name)
        if name == "scan":
            return attribute

        async def primitive(*arguments: Any, **options: Any) -> Any:
            self.steps += 1
            self._steps_left -= 1
            if self._steps_left == 0 and self._fault is not None:
                self._fault()
            return await attribute(*arguments, **options)

        return primitive


class FaultyGate(Gate):
    """A gate whose index can be made to fail at a step of a batch."""

    async def _open(self, index: Path | str | None, redis: RedisSettings | None) -> ScannableStore:
        self.faulty_store = FaultyStore(await super()._open(index, redis))
        return cast(ScannableStore, self.faulty_store)

    def ticket(self) -> int:
        return self._run(self._store.draw(1))

    # The index entries of documents that passed

    def incomplete(self, passed: Sequence[tuple[CheckIn, Verdict]]) -> set[str]:
        """The ids of those that lack something: the answer, the entry or its registration, or a posting."""
        return self._run(self._incomplete(passed))

    async def _incomplete(self, passed: Sequence[tuple[CheckIn, Verdict]]) -> set[str]:
        names = [document.document_id for document, _ in passed]
        contents = [bytes.fromhex(verdict.content_id) for _, verdict in passed]
        held = await self._store.documents(names)
        entries = await self._store.contents(contents)
        known = [entry for entry in entries if entry]
        records = dict(zip(known, await self._store.records(known), strict=True))
        incomplete = set()
        whole: dict[str, EntryRecord] = {}
        for name, content, has, entry in zip(names, contents, held, entries, strict=True):
            record = records.get(entry or 0)
            if any(one.content == content and one.answer for one in has) and record is not None and record.ticket:
                whole[name] = record
            else:
                incomplete.add(name)
        missing = await self._store.scan().missing(*postings_of(self.method, list(whole.values())))
        lacking = set(missing[1].tolist())
        return incomplete | {name for name, record in whole.items() if record.entry in lacking}

    def count_missed(self, passed: Sequence[tuple[CheckIn, Verdict]]) -> int:
        """How many of them have an edited copy that would pass too."""
        copies = [CheckIn(document_id=f"copy of {d.document_id}", text=f"{d.text} And more.") for d, _ in passed]
        return sum(not verdict.similar for verdict in self.preview(copies))

    def count_findings(self, *, fix: bool) -> int:
        """How many problems `gate index verify` finds."""
        report = self._run(audit(self._store, self.method, self.profile, fix=fix))
        return report.found.total()


@dataclass(slots=True)
class RetryingFeed:
    """Batches of a stream, each retried until it is judged. `recover` is called before each retry."""

    gate: FaultyGate
    documents: Iterator[CheckIn]
    recover: Callable[[], object] = field(default=lambda: time.sleep(PAUSE_SECONDS))
    answered: list[tuple[CheckIn, Verdict]] = field(default_factory=list)
    answered_at: list[float] = field(default_factory=list)
    batches: list[list[CheckIn]] = field(default_factory=list)
    retries: int = 0
    longest_seconds: float = 0.0
    highest_ticket: int = 0
    postings: int = 0  # of the gate in memory, at the end

    def run(self, batches: int = 1) -> None:
        for _ in range(batches):
            batch = list(islice(self.documents, BATCH))
            begun = time.monotonic()
            verdicts = self.retry(partial(self.gate.check_in, batch))
            ticket = self.retry(self.gate.ticket)
            assert ticket > self.highest_ticket, "tickets fell back"
            self.highest_ticket = ticket
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - begun)
            self.answered += zip(batch, verdicts, strict=True)
            self.answered_at += [time.monotonic()] * len(batch)
            self.batches.append(batch)

    def retry(self, call: Callable[[], T]) -> T:
        deadline = time.monotonic() + OUTAGE_SECONDS
        while True:
            try:
                return call()
            except Unavailable:
                self.retries += 1
                if time.monotonic() > deadline:
                    raise
                self.recover()

    def during(self, fault: Callable[[], None], *, before: int = 20, after: int = 20) -> None:
        """Run while a fault happens to the index, and some batches before and after it."""
        self.run(before)
        raised: list[BaseException] = []

        def cause() -> None:
            try:
                fault()
            except BaseException as exc:  # noqa: BLE001 - raised again below, in the thread that can
                raised.append(exc)

        thread = Thread(target=cause)
        thread.start()
        while thread.is_alive():
            self.run()
        thread.join()
        for exc in raised:
            raise exc
        self.run(after)

    @property
    def passed(self) -> list[tuple[CheckIn, Verdict]]:
        return [(document, verdict) for document, verdict in self.answered if not verdict.similar]

    def count_changed(self) -> int:
        """Check in everything again; how many verdicts differ from the first ones."""
        again: list[Verdict] = []
        for start in range(0, len(self.answered), 256):
            again += self.gate.check_in([document for document, _ in self.answered[start : start + 256]])
        return sum(verdict != first for (_, first), verdict in zip(self.answered, again, strict=True))

    def count_unexpected(self) -> int:
        """How many verdicts differ from those of a gate in memory."""
        with Gate(self.gate.profile) as reference:
            expected = [verdict for batch in self.batches for verdict in reference.check_in(batch)]
            self.postings = reference.info()["postings"]
        return sum(
            _comparable(verdict) != _comparable(first)
            for (_, first), verdict in zip(self.answered, expected, strict=True)
        )


def _comparable(verdict: Verdict) -> tuple[object, ...]:
    """The parts of a verdict that retries do not change; only the number of candidates depends on them."""
    return verdict.similar, verdict.relation, verdict.group, verdict.matches, verdict.degraded
