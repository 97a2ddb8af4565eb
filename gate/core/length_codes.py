"""Lengths in 16 bits, beside the keys of the index: enough to rule out a document before anything of it is fetched.

    15.....10 9..............0
    exponent  ten bits of the mantissa, without its leading one

A code rises with its length, and stands for all lengths from `_floor(code)` to below `_floor(code + 1)`, which is at
most a thousandth more. Two codes are too unequal if no two lengths that they stand for are within the ratio, so what
is ruled out by codes is ruled out by the lengths themselves. The arithmetic is exact: every machine makes the same
code of a length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CODE_BITS = 16
CODE_MASK = np.uint64((1 << CODE_BITS) - 1)
_MANTISSA_BITS = 10
_STEPS = 1 << _MANTISSA_BITS
_LARGEST = 1 << 53  # above, doubles skip whole numbers; no sum of a document's features comes near

# Measures are rounded to four decimal places before they are compared with a threshold, lengths are not.
_ROUNDING = 1e-4


def encode_lengths(lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A code for each length; 0 counts as 1."""
    mantissas, exponents = np.frexp(np.clip(lengths, 1, _LARGEST).astype(np.float64))
    steps = ((mantissas - 0.5) * (2 * _STEPS)).astype(np.uint64)
    codes: NDArray[np.uint64] = (exponents.astype(np.uint64) << np.uint64(_MANTISSA_BITS)) | steps
    return codes


def too_unequal(left: NDArray[np.uint64], right: NDArray[np.uint64], least_ratio: float) -> NDArray[np.bool_]:
    """Which pairs of codes stand for lengths of which the smaller is surely less than that share of the larger."""
    smaller, larger = np.minimum(left, right), np.maximum(left, right)
    result: NDArray[np.bool_] = _floor(smaller + np.uint64(1)) < _floor(larger) * (least_ratio - _ROUNDING)
    return result


def _floor(codes: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The smallest length with that code."""
    steps = (codes & np.uint64(_STEPS - 1)).astype(np.float64)
    floors: NDArray[np.float64] = np.ldexp(0.5 + steps / (2 * _STEPS), (codes >> np.uint64(_MANTISSA_BITS)).astype(int))
    return floors
