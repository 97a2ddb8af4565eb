"""Equal hashes within a document, found without sorting.

Hashes are spread over cells, four to eight times as many as the document has hashes, by their upper bits. Whoever comes
last into a cell keeps it, and stands for all that are equal to it; those that are not try again with their bits mixed.
Sorting finds the same and takes ten times as long.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Of random hashes one in a million is left after so many rounds. What is left is sorted: hashes that somebody made
# to share a cell in every round cost no more than that.
_ROUNDS = 6
_MIX = np.uint64(0x9E3779B97F4A7C15)


def standing_for(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each hash the place of the one that stands for it and all its equals in the same document.

    The hashes of document i are `hashes[starts[i]:starts[i + 1]]`; a batch of 2^31 would need 16 GB.
    """
    sizes = np.diff(starts)
    bits = np.frexp(sizes)[1] + 2
    ends = np.cumsum(1 << bits)
    keeper = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.int32)  # only cells that were written are ever read
    first_cells, shifts = np.repeat(ends - (1 << bits), sizes), np.repeat((64 - bits).astype(np.uint64), sizes)
    standing = np.arange(hashes.size, dtype=np.int32)
    keys, places = hashes, standing.copy()
    for _ in range(_ROUNDS):
        cells = (keys >> shifts).view(np.int64)
        cells += first_cells
        keeper[cells] = places
        kept_by = keeper.take(cells)
        lost = np.flatnonzero(kept_by != places)
        mine, theirs = places[lost], kept_by[lost]
        equal = hashes[mine] == hashes[theirs]
        standing[mine[equal]] = theirs[equal]
        left = lost[~equal]
        if not left.size:
            return standing
        places, shifts, first_cells, keys = places[left], shifts[left], first_cells[left], keys[left] * _MIX
    order = np.lexsort((hashes[places], first_cells))
    places, documents = places[order], first_cells[order]
    new = np.ones(places.size, dtype=np.bool_)
    new[1:] = (hashes[places[1:]] != hashes[places[:-1]]) | (documents[1:] != documents[:-1])
    standing[places] = places[new][np.cumsum(new) - 1]
    return standing
