"""Rabin fingerprints: rolling gives what dividing polynomials gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core import rabin
from tests.core import reference, reference_sampling

FIXED = rabin.polynomial_of(b"")


def rolled(data: bytes, window: int, polynomial: int = FIXED) -> list[int]:
    found: list[int] = rabin.fingerprints(np.frombuffer(data, np.uint8), window, polynomial).tolist()
    return found


@given(st.binary(max_size=300), st.integers(1, 40), st.sampled_from([b"", b"secret"]))
def test_rolling_gives_the_remainder_of_each_window(data: bytes, window: int, secret: bytes) -> None:
    divisor = reference_sampling.polynomial(secret)
    windows = [data[i : i + window] for i in range(len(data) - window + 1)]
    expected = [reference_sampling.remainder(int.from_bytes(one, "big") << 64, divisor) for one in windows]
    assert rolled(data, window, rabin.polynomial_of(secret)) == expected


@pytest.mark.parametrize("size", [5_000, 200_003])
def test_lanes_join_without_a_seam(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    found = rabin.fingerprints(data, 20, FIXED)
    parts = [rabin.fingerprints(data[at : at + 700 + 19], 20, FIXED) for at in range(0, size, 700)]
    assert found.size == size - 19
    assert (found == np.concatenate(parts)).all()


def test_equal_windows_have_equal_fingerprints_at_any_position() -> None:
    window = bytes(range(100, 120))
    found = rolled(b"abc" + window + b"-----" + window, 20)
    assert found[3] == found[28]
    assert len(set(found)) == len(found) - 1


@given(st.binary(min_size=12, max_size=12), st.binary(min_size=12, max_size=12))
def test_the_sum_of_windows_has_the_sum_of_their_fingerprints(left: bytes, right: bytes) -> None:
    """It is linear, as a remainder of polynomials is and a mixing hash is not."""
    both = bytes(a ^ b for a, b in zip(left, right))
    [f], [g], [h] = rolled(left, 12), rolled(right, 12), rolled(both, 12)
    assert h == f ^ g


def test_a_short_window_is_not_its_own_fingerprint() -> None:
    assert rolled(b"abcd", 4) != [int.from_bytes(b"abcd", "big")]


def test_the_polynomial_is_the_first_irreducible_one_and_another_with_each_secret() -> None:
    secrets = [b"", b"a", b"b", b"a" * 64]
    found = [rabin.polynomial_of(secret) for secret in secrets]
    assert found == [reference_sampling.polynomial(secret) & reference.ALL_ONES for secret in secrets]
    assert len(set(found)) == len(secrets)


def test_irreducible_is_what_has_no_factor() -> None:
    assert rabin.is_irreducible(0x1B)  # x^64 + x^4 + x^3 + x + 1 is in every table
    assert not rabin.is_irreducible(0)
    product = 0
    for bit in range(33):  # (x^32 + x^7 + x^3 + x^2 + 1) times (x^32 + x^22 + x^2 + x + 1), both irreducible
        product ^= (0x10000008D << bit) * (0x100400007 >> bit & 1)
    assert product.bit_length() == 65
    assert not rabin.is_irreducible(product & reference.ALL_ONES)
