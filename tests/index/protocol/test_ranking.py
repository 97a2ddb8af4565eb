"""Where more matches than is compared: what shares most buckets, and what was in its buckets first."""

from __future__ import annotations

import numpy as np

from gate.index.protocol.ranking import Ranking, nth_of_row, rank
from tests.index.bucket_contract import u64


def ranked(buckets: list[list[int]], most: int) -> Ranking:
    """Of one document, by the entries in each of its buckets."""
    keys = [key for key, entries in enumerate(buckets) for _ in entries]
    entries = [entry for some in buckets for entry in some]
    return rank(np.zeros(len(keys), np.int64), u64(*keys), u64(*entries), most)


def test_an_entry_that_is_met_in_several_buckets_comes_once() -> None:
    assert sorted(ranked([[1, 2], [2, 3], [2]], 5).entries.tolist()) == [1, 2, 3]


def test_those_that_share_most_buckets_come_first() -> None:
    assert ranked([[1, 2, 9], [3, 9], [4, 5, 9]], 3).entries.tolist()[0] == 9


def test_of_those_that_share_as_many_the_oldest_comes_first() -> None:
    assert ranked([[5, 1, 2, 3, 4]], 3).entries.tolist()[:3] == [5, 1, 2]


def test_decoys_in_all_buckets_do_not_hide_what_was_there_before_them() -> None:
    """The original is in four of sixteen buckets, before three hundred that are in all of them."""
    decoys = list(range(100, 400))
    buckets = [[7, *decoys] if n in (3, 5, 8, 13) else decoys for n in range(16)]
    ranking = ranked(buckets, 64)
    assert 7 in ranking.entries.tolist()[:16]
    assert ranking.crowded == [0]


def test_twice_as_many_are_tried_as_may_be_compared() -> None:
    ranking = ranked([list(range(1, 50))], 8)
    assert ranking.entries.tolist() == list(range(1, 17))


def test_documents_are_ranked_each_for_itself() -> None:
    rows = np.array([0, 0, 0, 1, 1, 1])
    ranking = rank(rows, u64(1, 1, 2, 1, 2, 2), u64(5, 6, 6, 5, 6, 5), 1)
    assert (ranking.rows.tolist(), ranking.entries.tolist()) == ([0, 0, 1, 1], [6, 5, 5, 6])


def test_places_in_a_row_are_counted_from_its_first() -> None:
    assert nth_of_row(np.array([0, 0, 2, 2, 2, 3])).tolist() == [0, 1, 0, 1, 2, 0]
