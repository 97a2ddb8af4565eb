"""Loads of up to eight bytes as little-endian numbers, for a whole batch of stretches of bytes at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
Places = NDArray[np.int64]

_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def aligned(data: NDArray[np.uint8]) -> U64:
    """The bytes as aligned numbers, with room behind them."""
    lanes = np.zeros(data.size // 8 + 2, dtype="<u8")
    lanes.view(np.uint8)[: data.size] = data
    return lanes


def load_chunks(lanes: U64, begins: Places, lengths: Places) -> U64:
    """The eight bytes that begin at each place, zeros from `lengths` on; `lanes` come from `aligned`.

    Put together out of the two aligned numbers that it lies in: numpy loads those several times faster than one that is
    not aligned.
    """
    places, shifts = begins >> 3, ((begins & 7) << 3).view(np.uint64)
    chunks = lanes.take(places)
    chunks >>= shifts
    places += 1
    rest = lanes.take(places)
    rest <<= np.uint64(64) - shifts  # a shift by 64 leaves nothing, in numpy
    chunks |= rest
    chunks &= np.take(_MASKS, lengths, mode="clip")
    return chunks
