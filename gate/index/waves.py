"""Documents of one batch meet each other before they meet the index.

Claiming a whole batch at once would be sound, but copies inside it would all be appended before they see each
other. So the first of each family goes ahead, and the others follow when it holds its ticket: they are then
registered as duplicates and nothing of them is stored. Versions of one document go one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from gate.core.bands import Probes
from gate.core.distinct import standing_for
from gate.core.methods import Method
from gate.core.profile import Profile
from gate.core.verify import alike
from gate.index.claim import Claim, Index, Outcome

_MIX = np.uint64(0x9E3779B97F4A7C15)  # spreads keys, which differ in their lower bits, over all bits


def alike_within(method: Method, profile: Profile, bodies: Sequence[bytes]) -> list[set[int]]:
    """For each body, the earlier ones of the batch that it is alike to."""
    earlier: list[set[int]] = [set() for _ in bodies]
    kept, probes = _crowded(method.postings(bodies), method.probes(bodies))
    if not len(kept):
        return earlier
    order = np.argsort(kept.keys, kind="stable")
    keys, rows, tags = kept.keys[order], kept.rows[order], kept.tags[order]
    first = np.searchsorted(keys, probes.keys, side="left")
    counts = np.searchsorted(keys, probes.keys, side="right") - first
    probe_of = np.repeat(np.arange(len(probes)), counts)
    there = np.arange(len(probe_of)) - np.repeat(np.cumsum(counts) - counts, counts) + first[probe_of]
    left, right = probes.rows[probe_of], rows[there]
    met = right < left
    probe_of, there, left, right = probe_of[met], there[met], left[met], right[met]
    close = np.bitwise_count(tags[there] ^ probes.tags[probe_of]) <= probes.radii[probe_of]
    pairs = np.unique(left[close] * len(bodies) + right[close])
    lefts, rights = (side.tolist() for side in np.divmod(pairs, len(bodies)))
    if lefts:
        found = alike(method.compare([bodies[i] for i in lefts], [bodies[i] for i in rights]), profile)
        for i, j in compress(zip(lefts, rights, strict=True), found.tolist()):
            earlier[i].add(j)
    return earlier


def _crowded(kept: Probes, probes: Probes) -> tuple[Probes, Probes]:
    """Of the postings and probes of a batch those of buckets where a probe meets another document. Few do, and to find
    which is several times faster than to look all of them up."""
    mixed = np.concatenate([kept.keys, probes.keys]) * _MIX
    buckets = standing_for(mixed, np.array([0, mixed.size]))
    holding, asking = buckets[: len(kept)], buckets[len(kept) :]
    size = np.bincount(holding, minlength=mixed.size)
    owner = np.bincount(holding, weights=kept.rows, minlength=mixed.size)  # of a bucket of one posting
    asked = np.flatnonzero((size[asking] > 1) | ((size[asking] == 1) & (owner[asking] != probes.rows)))
    crowded = np.zeros(mixed.size, np.bool_)
    crowded[asking[asked]] = True
    return kept.only(np.flatnonzero(crowded[holding])), probes.only(asked)


async def claim_batch(index: Index, method: Method, profile: Profile, claims: Sequence[Claim]) -> list[Outcome]:
    """Claim a batch in waves; the outcomes in the order of the claims."""
    earlier = alike_within(method, profile, [claim.body for claim in claims])
    outcomes: dict[int, Outcome] = {}
    remaining = list(range(len(claims)))
    while remaining:
        leaders: list[int] = []
        followers: list[int] = []
        waiting: set[int] = set()
        documents: set[str] = set()
        contents: set[bytes] = set()  # of those that wait
        leader_of: dict[bytes, int] = {}
        ahead: set[int] = set()
        behind: set[int] = set()  # the followers
        for i in remaining:
            claim, mates = claims[i], earlier[i]
            follows = claim.content in leader_of or bool(profile.index == "principals" and mates and mates & ahead)
            # Nobody overtakes whom it is alike to: a verdict does not depend on how the stream was cut into batches.
            waits = claim.content in contents or bool(mates and mates & waiting)
            if claim.document_id in documents or waits or (not follows and mates and mates & behind):
                waiting.add(i)
                contents.add(claim.content)
            elif follows:
                followers.append(i)
                behind.add(i)
            else:
                leaders.append(i)
                ahead.add(i)
                leader_of[claim.content] = i
            documents.add(claim.document_id)
        outcomes.update(zip(leaders, await index.claim([claims[i] for i in leaders]), strict=True))
        # A leader that was itself a copy of something older is not in the index: its followers line up again, but for
        # those that are copies of something older too. A batch full of copies would else go one by one.
        led = {
            i
            for i in followers
            if claims[i].content in leader_of or any(outcomes[j].entered for j in earlier[i] & ahead)
        }
        astray = [i for i in followers if i not in led]
        if astray:
            looks = await index.look([claims[i] for i in astray])
            led |= {i for i, outcome in zip(astray, looks, strict=True) if outcome.answer.similar}
        ready = []
        for i in followers:
            if i in led and not earlier[i] & waiting:
                ready.append(i)
            else:
                waiting.add(i)
        if ready:
            outcomes.update(zip(ready, await index.claim([claims[i] for i in ready]), strict=True))
        remaining = sorted(waiting)
    return [outcomes[i] for i in range(len(claims))]
