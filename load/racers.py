"""The workers of `load.races`: processes that check documents in, late at every step and killed at any of them.

`LookUpThenInsert` is what a gate would be without the claim protocol: look up what is alike, and insert if nothing is.
It runs over the same store, and fails.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from gate.api import Gate
from gate.errors import Unavailable
from gate.index.protocol.postings import postings_of
from gate.index.redis.url import RedisSettings
from gate.index.scan import ScannableStore
from gate.index.store import NewEntry, Registration, Store, new_entry_id
from gate.model import CheckIn, Verdict

SHORT_SECONDS, LONG_SECONDS = 0.002, 0.03  # a step of a batch, and all of its steps: other workers come in between
LONG_SHARE = 0.1
UNAVAILABLE_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Documents for one process. `last_step`: the number of the step at which it dies by itself, if it does."""

    number: int
    documents: tuple[CheckIn, ...]
    last_step: int | None = None


class DelayedStore:
    """A store whose every primitive may be late, and may be the last thing that the process does."""

    def __init__(self, store: Store, rng: random.Random, *, waits: bool) -> None:
        self._store = store
        self._rng = rng
        self._waits = waits  # a store across a network lets other coroutines go on meanwhile
        self.steps_left: int | None = None

    def __getattr__(self, name: str) -> Any:
        primitive = getattr(self._store, name)

        async def delayed(*arguments: Any, **options: Any) -> Any:
            await self._pause()
            result = await primitive(*arguments, **options)
            await self._pause()
            return result

        return delayed

    async def _pause(self) -> None:
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        seconds = self._rng.random() * (LONG_SECONDS if self._rng.random() < LONG_SHARE else SHORT_SECONDS)
        if self._waits:
            await asyncio.sleep(seconds)
        else:
            time.sleep(seconds)


class DelayedGate(Gate):
    """A gate over a delayed store."""

    def __init__(self, profile: str, index: str, rng: random.Random) -> None:
        self._rng = rng
        super().__init__(profile, index=index)

    async def _open(self, index: Path | str | None, redis: RedisSettings | None) -> ScannableStore:
        store = await super()._open(index, redis)
        self.delayed = DelayedStore(store, self._rng, waits=self._runner is not None)
        return cast(ScannableStore, self.delayed)


class LookUpThenInsert(DelayedGate):
    """The same gate without the protocol. One document at a time, so that those of a batch at least find each other."""

    def check_in(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        return [verdict for document in documents for verdict in self._run(self._look_up_then_insert(document))]

    async def _look_up_then_insert(self, document: CheckIn) -> list[Verdict]:
        signed = self.signer.sign([document])
        verdicts = await self.pipeline.preview(signed)
        [claim], [verdict] = signed.claims, verdicts
        if not verdict.similar:
            entry = new_entry_id(claim.content)
            new = NewEntry(claim.document_id, claim.version, claim.content, entry, claim.body)
            [state] = await self._store.register_content([new])
            if state.record is not None:
                await self._store.append(*postings_of(self.method, [state.record]))
                ticket = await self._store.draw(1)
                await self._store.register([Registration(state.record.entry, ticket=ticket)])
        return verdicts


def work(pipe: Connection, profile: str, index: str, *, naive: bool, seed: int) -> None:
    """Check in what is delivered, and acknowledge it with its verdicts, until nothing more comes."""
    with (LookUpThenInsert if naive else DelayedGate)(profile, index, random.Random(seed)) as gate:
        pipe.send(None)  # ready
        while (assignment := pipe.recv()) is not None:
            gate.delayed.steps_left = assignment.last_step
            verdicts = _check_in_with_retries(gate, assignment.documents)
            gate.delayed.steps_left = None
            pipe.send((assignment.number, verdicts))


def _check_in_with_retries(gate: Gate, documents: Sequence[CheckIn]) -> list[Verdict]:
    while True:
        try:
            return gate.check_in(documents)
        except Unavailable:  # as a stream worker does: nothing was decided, so the same again
            time.sleep(UNAVAILABLE_PAUSE_SECONDS)
