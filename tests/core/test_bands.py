"""Blocks, probes and bands: what is near is met, and nothing else is taken for near."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.core import bands
from gate.core.bands import (
    Probes,
    band_postings,
    band_recall,
    block_radii,
    fingerprint_postings,
    fingerprint_probes,
    flip_masks,
    merge_probes,
    probe_count,
)
from tests.core import reference

WORD = st.integers(0, 2**64 - 1)
RADII = range(17)


def met(mine: int, others: list[int], radius: int) -> list[bool]:
    """Which of the other fingerprints one meets: its probes against their postings, and the tags within the radius."""
    probes = fingerprint_probes(np.zeros(1, np.int64), np.array([mine], np.uint64), radius)
    stored = fingerprint_postings(np.arange(len(others)), np.array(others, np.uint64))
    order = np.argsort(probes.keys)
    place = order[np.minimum(np.searchsorted(probes.keys, stored.keys, sorter=order), len(probes) - 1)]
    found = probes.keys[place] == stored.keys
    found &= np.bitwise_count(probes.tags[place] ^ stored.tags) <= probes.radii[place]
    return [bool(one) for one in np.bincount(stored.rows[found], minlength=len(others)) > 0]


def some_bits(ones: tuple[int, ...], draw: np.random.Generator) -> int:
    """A mask with so many ones in each block."""
    chosen = [16 * block + draw.choice(16, size=count, replace=False) for block, count in enumerate(ones)]
    return sum(1 << int(bit) for bit in np.concatenate(chosen))


# The guarantee


@pytest.mark.parametrize("radius", RADII)
def test_every_fingerprint_within_k_bits_is_found_however_they_fall_on_the_blocks(radius: int) -> None:
    draw = np.random.default_rng(radius)
    mine = int(draw.integers(2**63)) * 2 + 1
    spreads = [
        ones for ones in product(range(min(radius, 16) + 2), repeat=4) if sum(ones) <= radius + 1 and max(ones) <= 16
    ]
    others = [mine ^ some_bits(ones, draw) for ones in spreads]
    assert met(mine, others, radius) == [sum(ones) <= radius for ones in spreads]


@pytest.mark.slow
@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_every_flip_of_up_to_four_bits_is_found_within_the_radius_and_never_beyond(radius: int) -> None:
    masks = flip_masks(64, radius + 1).tolist()
    mine = 0x0123456789ABCDEF
    assert met(mine, [mine ^ mask for mask in masks], radius) == [mask.bit_count() <= radius for mask in masks]


@pytest.mark.slow
@settings(max_examples=200)
@given(WORD, st.sampled_from(RADII), st.lists(st.permutations(range(64)), min_size=1, max_size=8))
def test_any_fingerprint_is_found_exactly_at_k_and_never_at_one_more(
    mine: int, radius: int, orders: list[list[int]]
) -> None:
    at = [mine ^ sum(1 << bit for bit in order[:radius]) for order in orders]
    beyond = [mine ^ sum(1 << bit for bit in order[: radius + 1]) for order in orders]
    assert all(met(mine, at, radius))
    assert not any(met(mine, beyond, radius))


@given(WORD, WORD, st.sampled_from(RADII))
def test_two_fingerprints_find_each_other_from_both_sides_or_from_neither(left: int, right: int, radius: int) -> None:
    near = left ^ (right & 0x8001_8001_8001_8001 | right & 0xFF)
    assert met(left, [near], radius) == met(near, [left], radius) == [(left ^ near).bit_count() <= radius]


@pytest.mark.parametrize(
    ("radius", "probes"),
    [(0, 1), (1, 2), (2, 3), (3, 4), (4, 20), (5, 36), (6, 52), (7, 68), (8, 188), (11, 548), (12, 1108), (16, 4608)],
)
def test_the_number_of_probes_is_known_for_each_radius(radius: int, probes: int) -> None:
    sent = fingerprint_probes(np.zeros(1, np.int64), np.array([2**63 + 12345], np.uint64), radius)
    assert probe_count(radius) == len(sent) == np.unique(sent.keys).size == probes


@pytest.mark.parametrize("bits", [1, 5, 16])
@pytest.mark.parametrize("radius", [-1, 0, 1, 2, 4])
def test_flips_are_all_masks_of_so_many_ones(bits: int, radius: int) -> None:
    found = flip_masks(bits, radius).tolist()
    assert len(set(found)) == len(found) == sum(comb(bits, ones) for ones in range(radius + 1))
    assert all(mask < 2**bits and mask.bit_count() <= radius for mask in found)


@pytest.mark.parametrize("radius", RADII)
def test_one_more_bit_than_the_radius_is_what_missing_every_block_would_take(radius: int) -> None:
    assert sum(around + 1 for around in block_radii(radius)) == radius + 1


# The layout of keys


@given(st.lists(WORD, max_size=8))
def test_a_fingerprint_is_stored_under_its_four_blocks(prints: list[int]) -> None:
    stored = fingerprint_postings(np.arange(len(prints)), np.array(prints, np.uint64))
    for row, one in enumerate(prints):
        mine = stored.rows == row
        assert sorted(stored.keys[mine].tolist()) == sorted(reference.block_keys(one))
        assert stored.tags[mine].tolist() == [one] * 4
    assert not stored.radii.any()


@st.composite
def sketches(draw: st.DrawFn) -> tuple[list[bytes], int, int]:
    rows, count = draw(st.integers(1, 8)), draw(st.integers(1, 12))
    width = rows * count + draw(st.integers(0, 5))
    return draw(st.lists(st.binary(min_size=width, max_size=width), max_size=5)), count, rows


def kept(signatures: list[bytes], count: int, rows: int) -> Probes:
    width = len(signatures[0]) if signatures else count * rows
    table = np.frombuffer(b"".join(signatures), np.uint8).reshape(-1, width)
    return band_postings(np.arange(len(signatures)), table, bands=count, band_rows=rows)


@given(sketches())
def test_a_signature_is_stored_under_each_of_its_bands(drawn: tuple[list[bytes], int, int]) -> None:
    signatures, count, rows = drawn
    found = kept(signatures, count, rows)
    expected = [pair for one in signatures for pair in reference.band_keys(one, bands=count, rows=rows)]
    assert list(zip(found.keys.tolist(), found.tags.tolist())) == expected
    assert found.rows.tolist() == [row for row in range(len(signatures)) for _ in range(count)]
    assert not found.radii.any()


@given(sketches())
def test_signatures_share_a_band_exactly_if_its_bytes_are_equal(drawn: tuple[list[bytes], int, int]) -> None:
    signatures, count, rows = drawn
    signatures = [*signatures, *(one[:rows] + one[::-1][rows:] for one in signatures)]
    found = kept(signatures, count, rows)
    met_in = list(zip(found.keys.tolist(), found.tags.tolist()))
    for i, left in enumerate(signatures):
        for j, right in enumerate(signatures):
            for band in range(count):
                same = left[band * rows : (band + 1) * rows] == right[band * rows : (band + 1) * rows]
                assert (met_in[i * count + band] == met_in[j * count + band]) == same


def unmixed(value: int, rows: int) -> int:
    """The way back, which only a bijection has."""
    bits = 8 * rows
    value = value * pow(0xD6E8FEB86659FD93, -1, 2**bits) % 2**bits
    value ^= value >> bits // 2
    original: int = value * pow(0x9E3779B97F4A7C15, -1, 2**bits) % 2**bits
    return original


@given(WORD, st.integers(1, 8))
def test_the_mixing_of_a_band_can_be_undone(value: int, rows: int) -> None:
    value %= 2 ** (8 * rows)
    mixed = int(bands._mixed(np.array([value], np.uint64), bits=8 * rows)[0])
    assert mixed == reference.mix_band(value, rows)
    assert unmixed(mixed, rows) == value


@pytest.mark.parametrize("rows", [1, 2])
def test_short_bands_use_every_bucket_once(rows: int) -> None:
    values = np.arange(2 ** (8 * rows), dtype=np.uint64)
    assert np.unique(bands._mixed(values, bits=8 * rows)).size == values.size


@pytest.mark.parametrize("rows", range(2, 9))
def test_bands_that_differ_in_one_byte_only_are_spread_over_the_buckets(rows: int) -> None:
    for byte in range(rows):
        table = np.full((256, rows), 7, np.uint8)
        table[:, byte] = np.arange(256)
        found = band_postings(np.arange(256), table, bands=1, band_rows=rows)
        assert np.unique(found.keys).size >= 250


@pytest.mark.parametrize("rows", range(2, 9))
def test_random_bands_fill_the_buckets_evenly(rows: int) -> None:
    table = np.random.default_rng(rows).integers(0, 256, (65536, rows), dtype=np.uint8)
    buckets = band_postings(np.arange(65536), table, bands=1, band_rows=rows).keys & np.uint64(0xFFFF)
    loads = np.bincount(buckets.astype(np.int64), minlength=65536)
    assert abs(float(loads.var()) - 1.0) < 0.05  # as many in a bucket as chance alone puts there
    assert loads.max() <= 12


def test_blocks_and_bands_never_share_a_key() -> None:
    blocks = fingerprint_probes(np.zeros(1, np.int64), np.zeros(1, np.uint64), 16)
    others = kept([bytes(128)], 128, 1)
    assert not set(blocks.keys.tolist()) & set(others.keys.tolist())
    assert int(others.keys.max()) >> 32 == 16 + 127


# Probes merged


@given(st.lists(WORD, min_size=1, max_size=6), st.sampled_from([0, 3, 4]))
def test_probes_put_together_are_in_the_order_of_documents(prints: list[int], radius: int) -> None:
    rows = np.arange(len(prints)) * 2
    values = np.array(prints, np.uint64)
    parts = fingerprint_probes(rows, values, radius), fingerprint_postings(rows, values)
    whole = merge_probes(*parts)
    assert whole.rows.tolist() == sorted(whole.rows.tolist())
    for row in rows.tolist():
        for column in ("keys", "tags", "radii"):
            mine = [getattr(part, column)[part.rows == row].tolist() for part in parts]
            assert getattr(whole, column)[whole.rows == row].tolist() == mine[0] + mine[1]


def test_nothing_is_no_probe() -> None:
    none = np.empty(0, np.int64), np.empty(0, np.uint64)
    assert len(bands.no_probes()) == len(fingerprint_probes(*none, 8)) == len(fingerprint_postings(*none)) == 0
    assert len(merge_probes(bands.no_probes(), bands.no_probes())) == 0


def test_recall_of_bands_is_sure_of_equals_and_nothing_of_strangers() -> None:
    assert band_recall(1.0, bands=16, band_rows=4) == 1.0
    assert band_recall(0.0, bands=16, band_rows=4) == 0.0
    assert band_recall(0.5, bands=1, band_rows=3) == pytest.approx(0.125)
    assert band_recall(0.5, bands=2, band_rows=1) == pytest.approx(0.75)
