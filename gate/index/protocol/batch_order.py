"""The order in which the documents of one batch are claimed: they are compared with each other before the index.

Claiming a whole batch at once would be sound, but copies inside it would all be appended before they are compared. So
the first of each family is claimed first, and the others when it holds its ticket: they are then registered as
duplicates and nothing of them is stored. Versions of one document are claimed one after another.

Within a family documents are claimed in the order of the batch, so that a verdict does not depend on how a stream was
cut into batches: it is what it would be had the documents come one by one. (But for the false candidates that a
document is compared with; where versions replace each other, for documents that come together with the version that
replaces what they are alike to; and for the group, where a document is alike to two entries of an earlier batch, of
which the first had to wait there.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import Probes
from gate.core.judge import alike
from gate.core.method import Repeated
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.shingles import representatives
from gate.index.protocol.claim import Index
from gate.index.protocol.comparison import PAIRS
from gate.index.protocol.outcome import Claim, Outcome
from gate.index.reading import SharedProbes

FLOOD = 64  # postings in the buckets of a document, on average, from which on a batch is taken for a flood
CROWDED = 16  # documents with an equal posting: fewer are looked up one by one
_MIX = np.uint64(0x9E3779B97F4A7C15)  # spreads keys, which differ in their lower bits, over all bits


def similar_within_batch(method: Method, profile: Profile, bodies: Sequence[bytes]) -> list[set[int]]:
    """For each body, the earlier ones of the batch that it is alike to."""
    earlier: list[set[int]] = [set() for _ in bodies]
    postings, probes = _in_shared_buckets(method.postings(bodies), method.probes(bodies))
    if not len(postings):
        return earlier
    order = np.argsort(postings.keys, kind="stable")
    keys, rows, tags = postings.keys[order], postings.rows[order], postings.tags[order]
    first = np.searchsorted(keys, probes.keys, side="left")
    counts = np.searchsorted(keys, probes.keys, side="right") - first
    flooded = np.empty(0, np.int64)
    if int(counts.sum()) > FLOOD * len(bodies) and not probes.least_ratio:
        flooded, rest = _in_crowded_groups(postings, probes, len(bodies))
        probes, first, counts = probes.only(rest), first[rest], counts[rest]
    probe_of = np.repeat(np.arange(len(probes)), counts)
    places = np.arange(len(probe_of)) - np.repeat(np.cumsum(counts) - counts, counts) + first[probe_of]
    left, right = probes.rows[probe_of], rows[places]
    before = right < left
    probe_of, places, left, right = probe_of[before], places[before], left[before], right[before]
    close = probes.answered_by(probe_of, tags[places])
    pairs = np.unique(np.append(left[close] * len(bodies) + right[close], flooded))
    for first_pair in range(0, pairs.size, PAIRS):
        lefts, rights = np.divmod(pairs[first_pair : first_pair + PAIRS], len(bodies))
        are_alike = np.flatnonzero(alike(method.compare(Repeated(bodies, lefts), Repeated(bodies, rights)), profile))
        for i, j in zip(lefts[are_alike].tolist(), rights[are_alike].tolist(), strict=True):
            earlier[i].add(j)
    return earlier


def _in_crowded_groups(postings: Probes, probes: Probes, documents: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of documents, the later one first, of which a probe and a posting are equal and so are those of many
    others; and the other probes. In a flood every two documents of a batch share many buckets: here each pair is found
    once, where a list of all that is shared would be twenty times as long."""
    both = SharedProbes.of(
        np.append(postings.keys, probes.keys),
        np.append(postings.tags, probes.tags),
        np.append(np.zeros(len(postings), np.uint8), probes.radii),
    )
    posted, probed = both.leader_of[: len(postings)], both.leader_of[len(postings) :]
    sizes = np.bincount(posted, minlength=len(both.leaders))
    crowded = np.flatnonzero(sizes >= CROWDED)
    column = np.full(len(both.leaders), -1)
    column[crowded] = np.arange(crowded.size)
    of_probes = (column[probed] >= 0) & (probes.radii == 0)
    of_postings = column[posted] >= 0
    asked = _bits(probes.rows[of_probes], column[probed[of_probes]], documents, crowded.size)
    there = _bits(postings.rows[of_postings], column[posted[of_postings]], documents, crowded.size)
    meet = np.zeros((documents, documents), np.bool_)
    for mine, theirs in zip(asked, there, strict=True):
        meet |= (mine[:, None] & theirs) != 0
    later, earlier = np.nonzero(np.tril(meet, -1))
    return later * documents + earlier, np.flatnonzero(~of_probes)


def _bits(rows: NDArray[np.int64], columns: NDArray[np.int64], documents: int, count: int) -> NDArray[np.uint64]:
    """A bit for each row in each of its columns: 64 columns are a number a row."""
    words = np.zeros((-(-count // 64), documents), np.uint64)
    np.bitwise_or.at(words, (columns >> 6, rows), np.uint64(1) << (columns & 63).astype(np.uint64))
    return words


def _in_shared_buckets(postings: Probes, probes: Probes) -> tuple[Probes, Probes]:
    """Of the postings and probes of a batch those of buckets where a probe finds another document. Few do, and to see
    which is several times faster than to look all of them up."""
    mixed = np.concatenate([postings.keys, probes.keys]) * _MIX
    buckets = representatives(mixed, np.array([0, mixed.size]))
    posted, probed = buckets[: len(postings)], buckets[len(postings) :]
    size = np.bincount(posted, minlength=mixed.size)
    owner = np.bincount(posted, weights=postings.rows, minlength=mixed.size)  # of a bucket of one posting
    finding = np.flatnonzero((size[probed] > 1) | ((size[probed] == 1) & (owner[probed] != probes.rows)))
    shared = np.zeros(mixed.size, np.bool_)
    shared[probed[finding]] = True
    return postings.only(np.flatnonzero(shared[posted])), probes.only(finding)


async def claim_in_order(index: Index, method: Method, profile: Profile, claims: Sequence[Claim]) -> list[Outcome]:
    """Claim a batch in waves: all that need not wait for one another, then those that waited. The outcomes are in the
    order of the claims."""
    deliveries, contents = _firsts((c.document_id, c.content) for c in claims), _firsts(c.content for c in claims)
    earlier = similar_within_batch(method, profile, [claim.body for claim in claims])
    family = _families(earlier, contents)
    originals = profile.index == "originals"
    outcomes: dict[int, Outcome] = {}
    # Copies of something that is in the index: nothing of them enters, so no other document waits for them.
    copies = {i for i, claim in enumerate(claims) if claim.empty}
    remaining = sorted(set(deliveries))
    while remaining:
        wave: list[int] = []
        waiting: list[int] = []
        leaders: set[int] = set()
        taken: set[str | bytes] = set()  # the documents of this wave, and the contents that are first in it
        stopped: set[int] = set()  # the families in which a document waits
        halted = False  # a version waits for an earlier one: a document alike to both has to come after both
        for i in remaining:
            document_id, content = claims[i].document_id, claims[i].content
            follows = bool(originals and earlier[i] and earlier[i] & leaders)
            halted = halted or document_id in taken
            if halted or follows or content in taken or family[i] in stopped:
                waiting.append(i)
                stopped.add(family[i])
            else:
                wave.append(i)
                if i not in copies:
                    leaders.add(i)
                if i not in copies or contents[i] == i:
                    taken.add(content)
            taken.add(document_id)
        unlike = not any(earlier[i] and not earlier[i].isdisjoint(wave) for i in wave)
        outcomes.update(zip(wave, await index.claim([claims[i] for i in wave], unlike=unlike), strict=True))
        if waiting and originals:
            entered = {i: claims[i].document_id for i in leaders if outcomes[i].entered}
            copies.update(
                i
                for i in waiting
                if any(
                    entered.get(j, claims[i].document_id) != claims[i].document_id for j in (*earlier[i], contents[i])
                )
            )
            # A leader that is itself a copy of something older does not enter. Those that wait for it are often copies
            # of the same: without a preview of them they would be claimed one by one.
            families_of_refused = {family[i] for i in leaders if i not in entered}
            followers = [i for i in waiting if family[i] in families_of_refused and i not in copies]
            previews = await index.preview([claims[i] for i in followers]) if followers else []
            copies.update(i for i, outcome in zip(followers, previews, strict=True) if outcome.answer.similar)
        remaining = waiting
    return [outcomes[i] for i in deliveries]


def _firsts(keys: Iterable[Hashable]) -> list[int]:
    """For each key, the place of the first one that is equal."""
    first: dict[Hashable, int] = {}
    return [first.setdefault(key, i) for i, key in enumerate(keys)]


def _families(earlier: Sequence[set[int]], contents: Sequence[int]) -> list[int]:
    """A number for each, the same for those that are linked by likeness or content, over however many others."""
    family = list(range(len(earlier)))
    members: dict[int, list[int]] = {}
    for i, (mates, first) in enumerate(zip(earlier, contents, strict=True)):
        if mates or first != i:
            joined = {family[j] for j in mates} | {family[first]}
            members[i] = [m for number in joined for m in members.pop(number, [number])]
            if i not in joined:
                members[i].append(i)
            for member in members[i]:
                family[member] = i
    return family
