"""Which of the entries that match a document are compared with it, where there are more than may be. Pure.

A copy shares more buckets with its original than any document that has a phrase in common with both: what is met in the
most buckets comes first. But whoever knows how documents are signed can write any number of decoys that share all
buckets of a copy that is still to come, and resemble neither it nor each other. The original was there before them, so
a quarter of the places is for those that come first in their buckets: in a bucket only one entry can be the first.

The order depends on nothing but the buckets, so that every process comes to the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import representatives
from gate.index.store import Keys

TRIED = 2  # times as many as may be compared: some turn out to be gone, or versions of the document itself
OLDEST = 4  # one place in so many is for the oldest
_MIX, _ROW_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST = 20  # bits of an age, and of how often an entry is met
_ROW = 2 * _FIRST + 1
_LATEST = (1 << _FIRST) - 1


@dataclass(frozen=True, slots=True)
class Ranking:
    """Distinct entries of each row, the best first; rows ascend. `crowded`: rows of which entries were left out."""

    rows: NDArray[np.int64]
    entries: Keys
    crowded: list[int]


def rank(rows: NDArray[np.int64], keys: Keys, entries: Keys, most: int) -> Ranking:
    """Rank what matches: posting i, in bucket `keys[i]`, matches document `rows[i]`. Rows ascend, and the postings of
    a bucket are together, the oldest first."""
    places = np.arange(entries.size)
    mixed = (entries + rows.view(np.uint64) * _ROW_MIX) * _MIX  # many rows have the same entries
    same_as = representatives(mixed, np.array([0, entries.size]))
    equal = (entries[same_as] == entries) & (rows[same_as] == rows)
    same_as = np.where(equal, same_as, places)
    distinct = np.flatnonzero(same_as == places)
    owners = rows[distinct]
    if int(np.bincount(owners).max()) <= most:
        return Ranking(owners, entries[distinct], [])
    times = np.bincount(same_as, minlength=entries.size)[distinct]
    opens = np.append(True, (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1]))
    nth = places - np.flatnonzero(opens)[np.cumsum(opens) - 1]
    earliest = np.full(entries.size, _LATEST)
    np.minimum.at(earliest, same_as, nth)
    age, seldom = np.minimum(earliest[distinct], _LATEST), _LATEST - np.minimum(times, _LATEST)
    # One number to sort by for each criterion: row, then age or how seldom it is met, then the other.
    place_in_row = nth_of_row(owners)
    by_age = np.argsort((owners << _ROW) | (age << _FIRST) | seldom, kind="stable")
    old = np.zeros(distinct.size, np.int64)
    old[by_age] = place_in_row < most // OLDEST
    best = np.argsort((owners << _ROW) | ((1 - old) << 2 * _FIRST) | (seldom << _FIRST) | age, kind="stable")
    tried = place_in_row < TRIED * most
    return Ranking(owners[tried], entries[distinct][best][tried], np.unique(owners[~tried]).tolist())


def nth_of_row(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each the number of those before it in the same row. Rows ascend."""
    if not rows.size:
        return rows
    opens = np.append(True, rows[1:] != rows[:-1])
    nth: NDArray[np.int64] = np.arange(rows.size) - np.flatnonzero(opens)[np.cumsum(opens) - 1]
    return nth
