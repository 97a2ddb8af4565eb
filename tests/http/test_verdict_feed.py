"""The feed of verdicts: numbered, bounded, and paged from both ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gate import CheckIn, Gate, Verdict
from gate.demo import LIGHTHOUSE
from gate.http.verdict_feed import FEED_MATCHES, VerdictFeed


@pytest.fixture(scope="module")
def pair() -> list[Verdict]:
    """A verdict on a new document and one on its copy."""
    with Gate() as gate:
        return gate.check_in([CheckIn(document_id=name, text=LIGHTHOUSE, source=f"of {name}") for name in "ab"])


@pytest.fixture
def feed(pair: list[Verdict]) -> VerdictFeed:
    """The latest six of ten verdicts: 5 to 10, of which the even ones are of copies."""
    made = VerdictFeed(6)
    for number in range(5):
        made.record_verdicts(pair, [number, number], number + 0.5)
    return made


def numbers(
    feed: VerdictFeed,
    *,
    after: int | None = None,
    before: int | None = None,
    accept: Callable[[Verdict], bool] = lambda verdict: True,
    limit: int = 50,
) -> list[int]:
    return [entry.seq for entry in feed.page(after=after, before=before, accept=accept, limit=limit).entries]


def test_the_newest_come_first_and_the_oldest_are_forgotten(feed: VerdictFeed) -> None:
    assert (feed.oldest, feed.newest) == (5, 10)
    assert numbers(feed) == [10, 9, 8, 7, 6, 5]
    assert numbers(feed, limit=2) == [10, 9]
    assert feed.page(after=None, before=None, accept=lambda verdict: True, limit=1).entries[0].seconds == 0.5


def test_pages_lead_back_to_the_oldest(feed: VerdictFeed) -> None:
    assert numbers(feed, before=9, limit=2) == [8, 7]
    assert numbers(feed, before=7) == [6, 5]
    assert numbers(feed, before=5) == []
    assert numbers(feed, before=100, limit=1) == [10]


def test_what_came_next_is_given_in_parts_without_a_gap(feed: VerdictFeed) -> None:
    assert numbers(feed, after=6, limit=2) == [8, 7]
    assert numbers(feed, after=8, limit=2) == [10, 9]
    assert numbers(feed, after=10) == []
    assert numbers(feed, after=7, before=9) == [8]


def test_what_was_forgotten_meanwhile_is_counted(feed: VerdictFeed) -> None:
    def missed(after: int) -> int:
        return feed.page(after=after, before=None, accept=lambda verdict: True, limit=50).missed

    assert [missed(after) for after in (0, 2, 4, 6, 10)] == [4, 2, 0, 0, 0]
    assert VerdictFeed(3).page(after=0, before=None, accept=lambda verdict: True, limit=5).missed == 0


def test_only_what_is_accepted_counts_for_the_limit(feed: VerdictFeed) -> None:
    assert numbers(feed, accept=lambda verdict: verdict.similar, limit=2) == [10, 8]
    assert feed.values(lambda verdict: verdict.source) == ["of a", "of b"]
    assert feed.values(lambda verdict: verdict.title) == []


def test_of_many_matches_the_best_are_kept(pair: list[Verdict]) -> None:
    feed = VerdictFeed(2)
    feed.record_verdicts([replace(pair[1], matches=pair[1].matches * 50)], [0.0], 1.0)
    [entry] = feed.page(after=None, before=None, accept=lambda verdict: True, limit=5).entries
    assert len(entry.verdict.matches) == FEED_MATCHES
