"""Which buckets bring two signatures together, for every method."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import SimHash
from gate.core.method_registry import Method, method_of
from gate.core.shared_buckets import shared_buckets
from gate.core.text import normalise
from gate.demo import BREAD, BRIDGE, EDITS, LIGHTHOUSE


def edited() -> str:
    text = LIGHTHOUSE
    for old, new in EDITS:
        text = text.replace(old, new)
    return text


def bodies(method: Method, *texts: str) -> list[bytes]:
    return method.sign(normalise(list(texts))).bodies


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_text_meets_itself_in_every_bucket_that_it_is_stored_in(name: str) -> None:
    method = method_of(BUILT_IN[name])
    [body] = bodies(method, LIGHTHOUSE + BREAD + BRIDGE)
    buckets = shared_buckets(method, body, body)
    assert len(buckets) == len(method.postings([body]).keys) > 0
    assert all(bucket.met and bucket.label for bucket in buckets)


def test_an_edited_copy_meets_in_bands_and_an_unrelated_text_in_none() -> None:
    method = method_of(BUILT_IN["standard"])
    first, copy, other = bodies(method, LIGHTHOUSE, edited(), BREAD)
    met = [bucket for bucket in shared_buckets(method, first, copy) if bucket.met]
    assert {bucket.kind for bucket in met} == {"band"}
    assert not any(bucket.met for bucket in shared_buckets(method, first, other))


@pytest.mark.parametrize(("flipped", "met"), [((0,), [1, 2, 3]), ((0, 16, 32), [3]), ((0, 16, 32, 48), [])])
def test_a_block_is_met_where_none_of_its_bits_differ_and_few_of_the_others(
    flipped: tuple[int, ...], met: list[int]
) -> None:
    method = method_of(BUILT_IN["simhash"])
    fingerprint = 0x0123456789ABCDEF
    other = fingerprint
    for bit in flipped:
        other ^= 1 << bit
    stored, looked_up = (value.to_bytes(8, "little") for value in (fingerprint, other))
    buckets = shared_buckets(method, stored, looked_up)
    assert [bucket.bits for bucket in buckets] == [(0, 15), (16, 31), (32, 47), (48, 63)]
    assert [bucket.table for bucket in buckets if bucket.met] == met


def test_a_wider_radius_meets_in_blocks_that_differ() -> None:
    method = method_of(replace(BUILT_IN["simhash"], method=SimHash(radius=8)))
    stored, other = (0).to_bytes(8, "little"), (0x0001_0001_0001_0001).to_bytes(8, "little")
    assert any(bucket.met for bucket in shared_buckets(method, stored, other))
