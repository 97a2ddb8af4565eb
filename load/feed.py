"""A stream of documents into a gate whose index fails now and then, and what is left of the index afterwards.

A feed does what a consumer of a topic does: it tries a batch again until it is judged, and only then goes on. What it
was told is compared with what a gate in memory says of the same stream, where nothing ever fails.
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
# Short enough for a failover to be noticed, and tried often enough that nobody waits for a feed.
SETTINGS = RedisSettings(
    timeout_seconds=2.0, retry=RetryPolicy(retries=1, backoff_seconds=0.005, failures_to_open=5, open_seconds=0.01)
)


def stream(seed: int) -> Iterator[CheckIn]:
    """Short documents, 30 % of them copies."""
    for planted in SyntheticCorpus(seed, 200_000, Recipe(words=60, edit_shares=(0.01, 0.03))):
        yield CheckIn(document_id=planted.document_id, text=planted.text)


class Tripped:
    """A store that calls `trip` right before its n-th primitive, counted from when it is armed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.steps = 0
        self._left = 0
        self._trip: Callable[[], object] | None = None

    def arm(self, step: int, trip: Callable[[], object]) -> None:
        self._left, self._trip = step, trip

    def disarm(self) -> None:
        self._trip = None

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.store, name)
        if name == "scan":
            return attribute

        async def primitive(*arguments: Any, **options: Any) -> Any:
            self.steps += 1
            self._left -= 1
            if self._left == 0 and self._trip is not None:
                self._trip()
            return await attribute(*arguments, **options)

        return primitive


class TrippedGate(Gate):
    """A gate whose index can be made to fail at a step of a batch."""

    async def _open(self, index: Path | str | None, redis: RedisSettings | None) -> ScannableStore:
        self.tripped = Tripped(await super()._open(index, redis))
        return cast(ScannableStore, self.tripped)

    def ticket(self) -> int:
        return self._run(self._store.draw(1))

    # What is there of documents that passed.

    def damaged(self, passed: Sequence[tuple[CheckIn, Verdict]]) -> set[str]:
        """Those that lack something: the answer, the entry or its registration, or a posting."""
        return self._run(self._damaged(passed))

    async def _damaged(self, passed: Sequence[tuple[CheckIn, Verdict]]) -> set[str]:
        names = [document.document_id for document, _ in passed]
        contents = [bytes.fromhex(verdict.content_id) for _, verdict in passed]
        held = await self._store.documents(names)
        entries = await self._store.contents(contents)
        known = [entry for entry in entries if entry]
        records = dict(zip(known, await self._store.records(known), strict=True))
        damaged = set()
        whole: dict[str, EntryRecord] = {}
        for name, content, has, entry in zip(names, contents, held, entries, strict=True):
            record = records.get(entry or 0)
            if any(one.content == content and one.answer for one in has) and record is not None and record.ticket:
                whole[name] = record
            else:
                damaged.add(name)
        missing = await self._store.scan().missing(*postings_of(self.method, list(whole.values())))
        lacking = set(missing[1].tolist())
        return damaged | {name for name, record in whole.items() if record.entry in lacking}

    def let_through(self, passed: Sequence[tuple[CheckIn, Verdict]]) -> int:
        """How many of them somebody could check in once more, with some words changed."""
        copies = [CheckIn(document_id=f"copy of {d.document_id}", text=f"{d.text} And more.") for d, _ in passed]
        return sum(not verdict.similar for verdict in self.preview(copies))

    def faults(self, *, fix: bool) -> int:
        """What `gate index verify` finds."""
        report = self._run(audit(self._store, self.method, self.profile, fix=fix))
        return report.found.total()


@dataclass(slots=True)
class Feed:
    """Batches of a stream, each tried until it is judged. `recover` is what is done before a batch is tried again."""

    gate: TrippedGate
    documents: Iterator[CheckIn]
    recover: Callable[[], object] = field(default=lambda: time.sleep(PAUSE_SECONDS))
    told: list[tuple[CheckIn, Verdict]] = field(default_factory=list)
    when: list[float] = field(default_factory=list)
    batches: list[list[CheckIn]] = field(default_factory=list)
    tried_again: int = 0
    longest_seconds: float = 0.0
    highest_ticket: int = 0
    postings: int = 0  # that the gate in memory had in the end

    def run(self, batches: int = 1) -> None:
        for _ in range(batches):
            batch = list(islice(self.documents, BATCH))
            begun = time.monotonic()
            verdicts = self._patiently(partial(self.gate.check_in, batch))
            ticket = self._patiently(self.gate.ticket)
            assert ticket > self.highest_ticket, "tickets fell back"
            self.highest_ticket = ticket
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - begun)
            self.told += zip(batch, verdicts, strict=True)
            self.when += [time.monotonic()] * len(batch)
            self.batches.append(batch)

    def _patiently(self, ask: Callable[[], T]) -> T:
        deadline = time.monotonic() + OUTAGE_SECONDS
        while True:
            try:
                return ask()
            except Unavailable:
                self.tried_again += 1
                if time.monotonic() > deadline:
                    raise
                self.recover()

    def during(self, fault: Callable[[], None], *, before: int = 20, after: int = 20) -> None:
        """Go on while something happens to the index, and some batches longer."""
        self.run(before)
        raised: list[BaseException] = []

        def happen() -> None:
            try:
                fault()
            except BaseException as exc:  # noqa: BLE001 - raised again below, in the thread that can
                raised.append(exc)

        thread = Thread(target=happen)
        thread.start()
        while thread.is_alive():
            self.run()
        thread.join()
        for exc in raised:
            raise exc
        self.run(after)

    @property
    def passed(self) -> list[tuple[CheckIn, Verdict]]:
        return [(document, verdict) for document, verdict in self.told if not verdict.similar]

    def changed(self) -> int:
        """How many verdicts are others when everything is checked in again; it is checked in again thereby."""
        again: list[Verdict] = []
        for start in range(0, len(self.told), 256):
            again += self.gate.check_in([document for document, _ in self.told[start : start + 256]])
        return sum(verdict != first for (_, first), verdict in zip(self.told, again, strict=True))

    def unlike(self) -> int:
        """How many verdicts a gate in memory would not have given."""
        with Gate(self.gate.profile) as calm:
            expected = [verdict for batch in self.batches for verdict in calm.check_in(batch)]
            self.postings = calm.info()["postings"]
        return sum(_said(verdict) != _said(first) for (_, first), verdict in zip(self.told, expected, strict=True))


def _said(verdict: Verdict) -> tuple[object, ...]:
    """All that is the same however often a batch was begun again: only how many candidates were met is not."""
    return verdict.similar, verdict.relation, verdict.group, verdict.matches, verdict.degraded
