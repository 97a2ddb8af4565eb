"""How much of each bucket is read for one document, and what the documents of a batch read only once.

A document reads a bucket for each of its probes. One crowded bucket is cut at a length of its own (`max_bucket`); what
all of them may cost together is bounded here, because whoever knows how documents are signed can crowd every bucket of
a document that is still to come. Each bucket then gives as much as any other, its oldest postings first, so that short
buckets are still read whole: it is in those that a copy is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import representatives

U64 = NDArray[np.uint64]
Numbers = NDArray[np.int64]

# A wide radius has thousands of probes a document: of every bucket at least so much is read, whatever their number; and
# so many of those that match are returned.
LEAST, LEAST_MATCHES = 64, 4
SLICE = 1 << 19  # postings compared at a time: some 20 MB
SHARED_FROM = 64  # postings of a bucket, on average: to see who reads the same costs more than reading fewer
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """Bounds for the documents that some buckets are read for: bucket i is read for `documents[i]`, which ascend."""

    documents: Numbers
    postings: int  # read for one document
    matches: int  # of those, the ones that are returned for it because their tags match

    def of_lengths(self, lengths: Numbers) -> Numbers:
        """How much to read of buckets of these lengths."""
        return fair_shares(lengths, self.documents, self.postings)

    def of_matches(self, counts: Numbers) -> Numbers:
        """How many matches to return of each bucket."""
        return fair_shares(counts, self.documents, self.matches, LEAST_MATCHES)

    def only(self, some: Numbers) -> ReadLimit:
        """The same for some of the buckets."""
        return ReadLimit(self.documents[some], self.postings, self.matches)


def fair_shares(lengths: Numbers, documents: Numbers, most: int, least: int = LEAST) -> Numbers:
    """Of each document's lengths as much as they have in common below one level, so that they sum up to `most` at most.
    The level is `least` at least."""
    if not lengths.size or int(np.bincount(documents, weights=lengths).max()) <= most:
        return lengths
    order = np.lexsort((lengths, documents))
    ordered, owners = lengths[order], documents[order]
    firsts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    sizes = np.diff(firsts, append=owners.size)
    remaining = np.repeat(sizes + firsts, sizes) - np.arange(owners.size)  # of the document, from this one on
    below = np.cumsum(ordered) - ordered
    below -= np.repeat(below[firsts], sizes)  # the sum of all that are shorter
    whole = np.add.reduceat(below + remaining * ordered <= most, firsts)  # these fit as they are: the shortest
    last = firsts + np.minimum(whole, sizes - 1)
    levels = np.where(whole == sizes, ordered[last], np.maximum((most - below[last]) // remaining[last], least))
    shares = lengths.copy()
    shares[order] = np.minimum(ordered, np.repeat(levels, sizes))
    return shares


@dataclass(frozen=True, slots=True)
class SharedProbes:
    """Probes of several documents that ask the same of the same bucket: `leaders` are asked, probe i has the answer of
    `leaders[leader_of[i]]`."""

    leaders: Numbers
    leader_of: Numbers

    @classmethod
    def of(cls, keys: U64, tags: U64, radii: NDArray[np.uint8]) -> SharedProbes:
        mixed = (keys * _MIX[0]) ^ ((tags + radii) * _MIX[1])
        mixed ^= mixed >> np.uint64(29)
        same_as = representatives(mixed * _MIX[2], np.array([0, mixed.size])).astype(np.int64)
        # Whoever makes two probes collide on purpose gains nothing: they are asked one by one.
        different = (keys[same_as] != keys) | (tags[same_as] != tags) | (radii[same_as] != radii)
        same_as[different] = np.flatnonzero(different)
        leaders = np.unique(same_as)
        return cls(leaders, np.searchsorted(leaders, same_as))

    @classmethod
    def none(cls, probes: int) -> SharedProbes:
        """Every probe is asked by itself."""
        return cls(np.arange(probes), np.arange(probes))

    def most(self, counts: Numbers) -> Numbers:
        """How much of its bucket each leader reads, for the one that reads the most of it."""
        most = np.zeros(len(self.leaders), np.int64)
        np.maximum.at(most, self.leader_of, counts)
        return most


@dataclass(frozen=True, slots=True)
class Bucketfuls:
    """Postings of the buckets of some probes: `counts[i]` of them from `begins[i]` on."""

    begins: Numbers
    counts: Numbers
    entries: U64
    tags: U64

    def matching(
        self, keys: U64, tags: U64, radii: NDArray[np.uint8], any_bits: int, limit: ReadLimit | None
    ) -> tuple[Numbers, U64, U64, NDArray[np.bool_]]:
        """The postings whose tags, without the lowest `any_bits`, differ from their probe's in at most `radii` bits:
        which probe each matches, its entry and tag, the probes ascending; and which probes have more than the limit."""
        total = int(self.counts.sum())
        crowded = total > SHARED_FROM * len(keys)
        shared = SharedProbes.of(keys, tags, radii) if crowded else SharedProbes.none(len(keys))
        leaders, most = shared.leaders, shared.most(self.counts) if crowded else self.counts
        asked, near = tags[leaders] >> np.uint64(any_bits), radii[leaders]
        found, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part in _slices(most):
            at = ranges(self.begins[leaders[part]], most[part])
            differing = self.tags[at] >> np.uint64(any_bits)
            differing ^= np.repeat(asked[part], most[part])
            alike = near[part].any()
            close = np.bitwise_count(differing) <= np.repeat(near[part], most[part]) if alike else differing == 0
            matched = np.flatnonzero(close)
            found.append(np.searchsorted(np.cumsum(most[part]), matched, side="right") + part.start)
            places.append(at[matched])
        leader, place = np.concatenate(found), np.concatenate(places)
        numbers = np.bincount(leader, minlength=len(leaders))
        starts = np.cumsum(numbers) - numbers
        if crowded:
            # Of what its leader found, a probe has what is within its own part of the bucket.
            nth = place - self.begins[leaders][leader]
            wide = np.int64(1) << 32
            ends = np.searchsorted(leader * wide + nth, shared.leader_of * wide + self.counts)
            starts = starts[shared.leader_of]
            numbers = ends - starts
        shares = numbers if limit is None else limit.of_matches(numbers)
        if crowded or shares is not numbers:
            place = place[ranges(starts, shares)]
        probes = np.repeat(np.arange(len(keys)), shares)
        return probes, self.entries[place], self.tags[place], shares < numbers


def _slices(counts: Numbers) -> Iterator[slice]:
    """Cut buckets so that a slice of them has about SLICE postings: one batch may read some millions."""
    ends = np.cumsum(counts)
    first, total = 0, int(ends[-1]) if counts.size else 0
    while first < counts.size:
        bound = (int(ends[first - 1]) if first else 0) + SLICE
        past = counts.size if bound >= total else max(int(np.searchsorted(ends, bound, side="right")), first + 1)
        yield slice(first, past)
        first = past


def ranges(begins: Numbers, counts: Numbers) -> Numbers:
    """begins[0], begins[0] + 1, ... counts[0] of them, then those of begins[1], and so on."""
    ends = np.cumsum(counts)
    places = np.repeat(begins - (ends - counts), counts)
    places += np.arange(places.size)
    return places
