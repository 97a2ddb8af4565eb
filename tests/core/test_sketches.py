"""Mod_n, Min_n and Sketch_n: which fingerprints represent a text, and how two sets of them compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core import sketches
from tests.core import reference, reference_sampling
from tests.core.window_samples import WIDTH, prints_of, sets, texts, windows_of

SECRETS = st.sampled_from([b"", b"secret"])


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 400), max_size=30), st.integers(1, 200))
def test_what_n_divides_is_found_by_a_product(values: list[int], n: int) -> None:
    places = sketches.divisible(np.array(values, np.uint64), n)
    assert places.tolist() == [i for i, value in enumerate(values) if value % n == 0]


@given(texts, st.integers(1, 9), SECRETS)
def test_mod_n_keeps_the_fingerprints_that_n_divides(batch: list[str], n: int, secret: bytes) -> None:
    expected = [sorted({value for value in prints_of(text, secret) if value % n == 0}) for text in batch]
    assert sets(sketches.mod_n(windows_of(batch, secret), n)) == expected


@given(texts, st.integers(1, 40))
def test_min_n_keeps_the_n_smallest(batch: list[str], n: int) -> None:
    expected = [sorted(set(prints_of(text)))[:n] for text in batch]
    assert sets(sketches.min_n(windows_of(batch), n)) == expected


def test_min_n_finds_the_smallest_of_texts_that_repeat_themselves() -> None:
    long = " ".join(f"word{i % 50}" for i in range(3000))
    for n in (1, 100, 280):
        assert sets(sketches.min_n(windows_of(["", long, "short"]), n))[1] == sorted(set(prints_of(long)))[:n]


@given(texts, st.integers(1, 6))
def test_sketch_n_keeps_the_smallest_of_each_hash_function(batch: list[str], n: int) -> None:
    kept = sketches.sketch_n(windows_of(batch), n)
    for text, row in zip(batch, kept, strict=True):
        prints = prints_of(text)
        assert row.astype("<u4").tobytes() == (reference_sampling.sketch(prints, n) if prints else bytes(4 * n))


def test_a_sketch_of_many_blocks_is_that_of_the_whole() -> None:
    draw = np.random.default_rng(3)
    batch = ["".join(map(chr, draw.integers(97, 123, size))) for size in (40_000, 3, 17_000, 0, 90)]
    together = sketches.sketch_n(windows_of(batch), 8)
    for text, row in zip(batch, together, strict=True):
        alone = windows_of([text])
        assert row.tolist() == sketches.sketch_n(alone, 8)[0].tolist()
    first = windows_of(batch).prints[: 40_000 - WIDTH + 1]
    hashed = (first + np.uint64(reference.fmix64(1))) * np.uint64(reference.fmix64(2) | 1)
    assert int(together[0, 0]) == reference.fmix64(int(hashed.min())) & 0xFFFFFFFF


# Comparing

values = st.sets(st.integers(0, 60), max_size=30)


# Values that agree in some of their bits, as the table sees them, or in all.
spread = st.sets(st.integers(0, 60).map(lambda n: n % 8 << 56 | n % 5 << 24 | n % 3), max_size=30)


@given(spread.filter(bool), st.lists(spread.filter(bool), min_size=1, max_size=5))
def test_whole_sets_share_what_is_in_both(one: set[int], others: list[set[int]]) -> None:
    sets = [np.array(sorted(side), np.uint64) for side in (one, *others)]
    assert sketches.shared_by_each(sets[0], sets[1:]).tolist() == [len(one & other) for other in others]


@given(values.filter(bool), values.filter(bool), st.integers(1, 20))
def test_of_cut_sets_the_smallest_of_the_union_are_looked_at(left: set[int], right: set[int], most: int) -> None:
    seen = set(sorted(left | right)[:most])
    sides = [np.array(sorted(side)[:most], np.uint64) for side in (left, right)]
    expected = (len(left & right & seen), len(left & seen), len(right & seen))
    assert sketches.shared_of_cut(sides[0], sides[1], most) == expected


@pytest.mark.parametrize("overlap", [0.2, 0.5, 0.9])
def test_a_cut_set_still_estimates_resemblance_and_containment(overlap: float) -> None:
    draw = np.random.default_rng(7)
    book = np.unique(draw.integers(0, 2**63, 40_000, dtype=np.uint64))
    other = np.unique(draw.integers(0, 2**63, 4_000, dtype=np.uint64))
    inside = int(overlap * 4_000)
    chapter = np.unique(np.concatenate([draw.permutation(book)[:inside], draw.permutation(other)[: 4_000 - inside]]))
    both, left, _ = sketches.shared_of_cut(chapter[:2048], book[:2048], 2048)
    assert abs(both / left - overlap) < 0.12
