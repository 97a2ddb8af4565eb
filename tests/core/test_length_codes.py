"""Lengths in 16 bits: what they rule out, the lengths themselves rule out."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core.length_codes import encode_lengths, too_unequal

LENGTHS = st.integers(1, 2**50)


def code(length: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return encode_lengths(np.array([length], np.int64))


def test_codes_are_stored_and_never_change() -> None:
    lengths = np.array([0, 1, 2, 3, 1000, 1001, 2047, 2048, 10**6, 10**15], np.int64)
    expected = [1024, 1024, 2048, 2560, 11216, 11218, 12287, 12288, 21409, 51994]
    assert encode_lengths(lengths).tolist() == expected


@given(LENGTHS)
def test_a_code_is_the_number_of_bits_and_the_ten_behind_the_first(length: int) -> None:
    bits = length.bit_length()
    assert code(length)[0] == bits << 10 | ((length << 10 >> bits - 1) & 1023)


@given(LENGTHS, LENGTHS)
@example(2**40 - 1, 2**40)
def test_codes_rise_with_lengths_and_fit_in_sixteen_bits(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert code(low)[0] <= code(high)[0] < 1 << 16


@given(LENGTHS, st.floats(0.01, 1.0), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
@example(900, 1.0, 0.9)
def test_no_lengths_within_the_ratio_are_ruled_out(larger: int, share: float, least: float) -> None:
    smaller = max(int(larger * share), 1)
    if round(smaller / larger, 4) >= least:
        assert not too_unequal(code(smaller), code(larger), least).any()
        assert not too_unequal(code(larger), code(smaller), least).any()


@given(st.integers(2, 2**50), st.sampled_from([0.1, 0.5, 0.9]))
def test_what_is_a_few_thousandths_beyond_the_ratio_is_ruled_out(larger: int, least: float) -> None:
    smaller = int(larger * (least - 0.003))
    if smaller:
        assert too_unequal(code(smaller), code(larger), least).all()
