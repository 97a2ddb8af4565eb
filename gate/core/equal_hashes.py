"""Group equal hashes within each document without sorting, which gives the same groups and takes ten times as long.

Hashes are spread over cells, four to eight times as many as the document has hashes, by their upper bits. The last hash
that is written to a cell represents all in the cell that are equal to it; those that are not are spread again, with
their bits mixed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Of random hashes one in a million is left after so many rounds. What is left is sorted: hashes that were crafted to
# share a cell in every round cost no more than that.
_ROUNDS = 6
_MIX = np.uint64(0x9E3779B97F4A7C15)


def representatives(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each hash the position of the one that represents its equals in the same document, itself included.

    The hashes of document i are `hashes[starts[i]:starts[i + 1]]`; a batch of 2^31 would need 16 GB.
    """
    sizes = np.diff(starts)
    bits = np.frexp(sizes)[1] + 2
    ends = np.cumsum(1 << bits)
    cell_owners = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.int32)  # only cells that were written are read
    first_cells, shifts = np.repeat(ends - (1 << bits), sizes), np.repeat((64 - bits).astype(np.uint64), sizes)
    representative = np.arange(hashes.size, dtype=np.int32)
    keys, positions = hashes, representative.copy()
    for _ in range(_ROUNDS):
        cells = (keys >> shifts).view(np.int64)
        cells += first_cells
        cell_owners[cells] = positions
        owners = cell_owners.take(cells)
        displaced = np.flatnonzero(owners != positions)
        own, others = positions[displaced], owners[displaced]
        equal = hashes[own] == hashes[others]
        representative[own[equal]] = others[equal]
        left = displaced[~equal]
        if not left.size:
            return representative
        positions, shifts, first_cells, keys = positions[left], shifts[left], first_cells[left], keys[left] * _MIX
    order = np.lexsort((hashes[positions], first_cells))
    positions, documents = positions[order], first_cells[order]
    new = np.ones(positions.size, dtype=np.bool_)
    new[1:] = (hashes[positions[1:]] != hashes[positions[:-1]]) | (documents[1:] != documents[:-1])
    representative[positions] = positions[new][np.cumsum(new) - 1]
    return representative
