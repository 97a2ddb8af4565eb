"""The latest verdicts that this process gave, numbered and in bounded memory, for people who watch them come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from gate.model import Verdict

FEED_MATCHES = 10  # of a verdict that are kept here


class FeedEntry(msgspec.Struct, frozen=True, gc=False):
    """A verdict, its number, when it was given, and how long it took."""

    seq: int
    judged_at: float
    seconds: float
    verdict: Verdict


class FeedPage(msgspec.Struct, frozen=True):
    """Entries, newest first. `missed`: so many after the number asked for are no longer kept."""

    entries: list[FeedEntry]
    missed: int


class VerdictFeed:
    """A ring of verdicts. Numbers begin at 1 and rise by one."""

    def __init__(self, size: int) -> None:
        self._entries: deque[FeedEntry] = deque(maxlen=size)
        self.newest = 0

    @property
    def oldest(self) -> int:
        """The lowest number that is kept; one above `newest` where none is."""
        return self._entries[0].seq if self._entries else self.newest + 1

    def record_verdicts(self, verdicts: Sequence[Verdict], arrived_at: Sequence[float], now: float) -> None:
        for verdict, at in zip(verdicts, arrived_at, strict=True):
            self.newest += 1
            if len(verdict.matches) > FEED_MATCHES:
                verdict = msgspec.structs.replace(verdict, matches=verdict.matches[:FEED_MATCHES])
            self._entries.append(FeedEntry(self.newest, now, max(0.0, now - at), verdict))

    def page(self, *, after: int | None, before: int | None, accept: Callable[[Verdict], bool], limit: int) -> FeedPage:
        """The newest entries that are accepted, between two numbers; with `after` alone, those that came next."""
        low = max(self.oldest, 0 if after is None else after + 1)
        high = self.newest if before is None else min(self.newest, before - 1)
        entries = (entry for entry in self._between(low, high, newest_first=after is None) if accept(entry.verdict))
        found = list(islice(entries, limit))
        if after is not None:
            found.reverse()
        missed = 0 if after is None else max(0, min(self.oldest, self.newest + 1) - after - 1)
        return FeedPage(found, missed)

    def _between(self, low: int, high: int, *, newest_first: bool) -> Iterator[FeedEntry]:
        if high < low:
            return iter(())
        first, last = low - self.oldest, high - self.oldest
        if newest_first:
            return islice(reversed(self._entries), len(self._entries) - 1 - last, len(self._entries) - first)
        return islice(self._entries, first, last + 1)

    def values(self, of: Callable[[Verdict], str | None]) -> list[str]:
        """The different values of a field among the entries, in order."""
        return sorted({value for entry in self._entries if (value := of(entry.verdict)) is not None})
