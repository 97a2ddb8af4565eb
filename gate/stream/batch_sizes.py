"""How large the batches to a topic may be: halved when the topic refuses one, and doubled again some time later.

A topic's limit may be raised, or the batch that was refused may have been an odd one: its records grow when the client
unpacks them. A refusal costs a producer, so the size grows no more often than once in ten minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

BATCH_BYTES = 256 * 1024  # of records that are sent to one partition together
GROW_SECONDS = 600.0


@dataclass(slots=True)
class _Lowered:
    size_bytes: int
    since: float


class BatchSizes:
    """The limits of all topics. Not shared between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lowered: dict[str, _Lowered] = {}

    def limit(self, topic: str) -> int:
        lowered = self._lowered.get(topic)
        if lowered is None:
            return BATCH_BYTES
        now = self._clock()
        if now - lowered.since >= GROW_SECONDS:
            lowered.size_bytes, lowered.since = lowered.size_bytes * 2, now
            if lowered.size_bytes >= BATCH_BYTES:
                del self._lowered[topic]
        return min(lowered.size_bytes, BATCH_BYTES)

    def lower(self, topic: str, refused_bytes: int) -> None:
        """After a batch of this size was refused."""
        size = min(refused_bytes, self._lowered[topic].size_bytes if topic in self._lowered else BATCH_BYTES)
        self._lowered[topic] = _Lowered(max(size // 2, 1), self._clock())
