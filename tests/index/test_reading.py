"""Reading for a document is bounded over all of its buckets, and evenly; what documents read in common is read once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gate.index import reading
from gate.index.reading import LEAST, Bucketfuls, ReadLimit, SharedProbes, fair_shares
from tests.index.bucket_contract import u64


def shares(lengths: list[int], documents: list[int], most: int) -> list[int]:
    found: list[int] = fair_shares(np.array(lengths, np.int64), np.array(documents, np.int64), most).tolist()
    return found


def test_what_is_within_the_limit_is_read_whole() -> None:
    assert shares([300, 5, 0, 900], [0, 0, 1, 1], 1000) == [300, 5, 0, 900]


def test_crowded_buckets_give_alike_and_short_ones_whole() -> None:
    assert shares([5000, 10, 4000, 80, 3000], [0, 0, 0, 0, 0], 1000) == [303, 10, 303, 80, 303]


def test_the_limit_of_one_document_is_none_of_another() -> None:
    assert shares([5000, 5000, 700], [0, 0, 1], 1000) == [500, 500, 700]


def test_of_many_buckets_some_is_read_of_each() -> None:
    assert shares([500] * 100, [0] * 100, 1000) == [LEAST] * 100


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3000)), max_size=30), st.integers(2000, 5000))
def test_shares_are_the_highest_level_that_fits(buckets: list[tuple[int, int]], most: int) -> None:
    buckets.sort(key=lambda bucket: bucket[0])
    lengths, documents = [length for _, length in buckets], [document for document, _ in buckets]
    found = shares(lengths, documents, most)
    for document in set(documents):
        own = [(length, share) for of, length, share in zip(documents, lengths, found, strict=True) if of == document]
        level = max(share for _, share in own)
        assert all(share == min(length, level) for length, share in own)
        assert sum(share for _, share in own) <= most
        if any(share < length for length, share in own):
            assert sum(min(length, level + 1) for length, _ in own) > most


@given(
    probes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 1)), min_size=1, max_size=8),
    stored=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7)), max_size=30),
    any_bits=st.integers(0, 1),
)
def test_crowded_or_not_the_same_postings_match(
    probes: list[tuple[int, int, int]], stored: list[tuple[int, int]], any_bits: int
) -> None:
    pools = [[(n, tag) for n, (key, tag) in enumerate(stored) if key == wanted] for wanted in range(3)]
    flat = [posting for pool in pools for posting in pool]
    sizes = [len(pool) for pool in pools]
    begins = np.cumsum([0, *sizes])[:-1]
    keys, tags = u64(*(key for key, _, _ in probes)), u64(*(tag for _, tag, _ in probes))
    radii = np.array([radius for *_, radius in probes], np.uint8)
    place = keys.astype(np.int64)
    counts = np.array(sizes, np.int64)[place]
    read = Bucketfuls(begins[place], counts, u64(*(n for n, _ in flat)), u64(*(tag for _, tag in flat)))
    expected = [
        (i, n, stored_tag)
        for i, (key, tag, radius) in enumerate(probes)
        for n, stored_tag in pools[key]
        if ((stored_tag ^ tag) >> any_bits).bit_count() <= radius
    ]
    usual = reading.SHARED_FROM
    try:
        for shared_from in (-1, 1000):
            reading.SHARED_FROM = shared_from
            of, entries, found, cut = read.matching(keys, tags, radii, any_bits, None)
            assert list(zip(of.tolist(), entries.tolist(), found.tolist(), strict=True)) == expected
            assert not cut.any()
    finally:
        reading.SHARED_FROM = usual


def test_matches_are_limited_over_all_buckets_of_a_document() -> None:
    read = Bucketfuls(
        np.array([0, 500]), np.array([500, 500]), np.arange(1000, dtype=np.uint64), np.zeros(1000, np.uint64)
    )
    limit = ReadLimit(np.zeros(2, np.int64), postings=10_000, matches=300)
    of, entries, _, cut = read.matching(u64(1, 2), u64(0, 0), np.zeros(2, np.uint8), 0, limit)
    assert np.bincount(of).tolist() == [150, 150]
    assert entries.tolist() == [*range(150), *range(500, 650)]  # the oldest
    assert cut.tolist() == [True, True]


def test_probes_that_ask_the_same_share_a_leader() -> None:
    shared = SharedProbes.of(u64(1, 1, 2, 1), u64(7, 7, 7, 8), np.zeros(4, np.uint8))
    assert len(shared.leaders) == 3
    assert shared.leader_of[0] == shared.leader_of[1]
    assert len(set(shared.leader_of[1:].tolist())) == 3
