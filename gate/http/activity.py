"""What this process did lately, in bounded memory: verdicts by interval with their latencies, and outages.

    now ──┐
    [ point | point | ... | point ]   one for each INTERVAL_SECONDS, for the last MINUTES
    totals                            since the process started

A latency is counted in a bucket that is a quarter wider than the one before, so a quantile is right within an eighth;
a point holds only the buckets that are used.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from gate.http.verdict_feed import VerdictFeed
from gate.model import Relation, Verdict

INTERVAL_SECONDS = 10
MINUTES = 60
MAX_OUTAGES = 50
_FIRST_SECONDS, _STEP = 0.0001, 1.25
_LOG_STEP = math.log(_STEP)
_LAST_BUCKET = 80  # an hour and a half


class Point(msgspec.Struct):
    """The verdicts of one interval."""

    verdicts: int = 0
    similar: int = 0
    degraded: int = 0
    refused: int = 0
    relations: Counter[Relation] = msgspec.field(default_factory=Counter)
    latencies: Counter[int] = msgspec.field(default_factory=Counter)

    def add(self, other: Point) -> None:
        self.verdicts += other.verdicts
        self.similar += other.similar
        self.degraded += other.degraded
        self.refused += other.refused
        self.relations.update(other.relations)
        self.latencies.update(other.latencies)

    def quantile(self, share: float) -> float | None:
        """The latency that this share of the verdicts did not exceed, in seconds; None: there are none."""
        rest = share * self.latencies.total()
        for bucket in sorted(self.latencies):
            rest -= self.latencies[bucket]
            if rest <= 0:
                return float(f"{_FIRST_SECONDS * _STEP ** (bucket + 0.5):.3g}")
        return None


class PastOutage(msgspec.Struct):
    """A time for which a dependency did not answer. `ended_at` is None while it lasts."""

    dependency: str
    reason: str
    began_at: float
    ended_at: float | None = None


class Activity:
    """Counts verdicts and outages, and keeps the latest verdicts, for one event loop: a `gate.metrics.VerdictObserver`.

    `clock` gives Unix seconds."""

    def __init__(self, *, feed_size: int, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.feed = VerdictFeed(feed_size)
        self.started_at = clock()
        self.totals = Point()
        self._points: deque[tuple[int, Point]] = deque()  # by the number of their interval, ascending; empty ones too
        self._outages: deque[PastOutage] = deque(maxlen=MAX_OUTAGES)

    def now(self) -> float:
        return self._clock()

    def record_verdicts(self, verdicts: Sequence[Verdict], arrived_at: Sequence[float], now: float) -> None:
        counted = Point(
            verdicts=len(verdicts),
            similar=sum(verdict.similar for verdict in verdicts),
            degraded=sum(bool(verdict.degraded) for verdict in verdicts),
            relations=Counter(verdict.relation for verdict in verdicts),
            latencies=Counter(_bucket(now - at) for at in arrived_at),
        )
        self._add(counted)
        self.feed.record_verdicts(verdicts, arrived_at, now)

    def record_refused(self, documents: int) -> None:
        """Documents that could not be judged."""
        self._add(Point(refused=documents))

    def _add(self, counted: Point) -> None:
        self._current().add(counted)
        self.totals.add(counted)

    def _current(self) -> Point:
        """The point of now; those that are too old are dropped. A clock that was set back does no harm."""
        number = int(self._clock() // INTERVAL_SECONDS)
        most = MINUTES * 60 // INTERVAL_SECONDS
        if not self._points or number - self._points[-1][0] >= most:
            self._points.clear()
            self._points.append((number, Point()))
        while self._points[-1][0] < number:
            self._points.append((self._points[-1][0] + 1, Point()))
        while len(self._points) > most:
            self._points.popleft()
        return self._points[-1][1]

    def points(self, minutes: int) -> list[tuple[float, Point]]:
        """The points of the last minutes with the times at which they begin, oldest first, the current one too."""
        self._current()
        first = self._points[-1][0] - minutes * 60 // INTERVAL_SECONDS
        return [(float(number * INTERVAL_SECONDS), point) for number, point in self._points if number > first]

    def record_failed(self, dependency: str, reason: str) -> None:
        """A dependency does not answer; said again while it does not."""
        if self._lasting(dependency) is None:
            self._outages.append(PastOutage(dependency, reason, self._clock()))

    def record_recovered(self, dependency: str) -> None:
        if (outage := self._lasting(dependency)) is not None:
            outage.ended_at = self._clock()

    def _lasting(self, dependency: str) -> PastOutage | None:
        lasting = (one for one in self._outages if one.dependency == dependency and one.ended_at is None)
        return next(lasting, None)

    @property
    def outages(self) -> list[PastOutage]:
        """The latest ones, newest first."""
        return [*reversed(self._outages)]


def _bucket(seconds: float) -> int:
    if seconds <= _FIRST_SECONDS:
        return 0
    return min(int(math.log(seconds / _FIRST_SECONDS) / _LOG_STEP), _LAST_BUCKET)


def moment(unix_seconds: float) -> datetime:
    """A time for people, in whole milliseconds."""
    return datetime.fromtimestamp(round(unix_seconds, 3), UTC)
