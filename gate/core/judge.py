"""From the measures of the candidates to a verdict: which are alike, how, and which document was first.

`alike` is symmetric: it sees only two stored bodies, and decides the same from both sides. The claim protocol is
unsound without that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from gate.core.method import Measures, Method
from gate.core.method_parameters import Fingerprinted
from gate.core.profile import FINGERPRINT_BITS, Profile, decides_by_bits
from gate.core.stored_verdict import Answer, Hit
from gate.errors import UnreadableReason
from gate.limits import OnCapped
from gate.model import Degraded, Match, Relation

# Measures are stored to four decimal places: what is stored and what is computed again then agree to the last digit.
DECIMALS = 4
# From here on "nearly all of it" names a relation. Below, an edited copy of equal length would often be called a part.
NEARLY_ALL = 0.95


class Likeness(msgspec.Struct, frozen=True, gc=False):
    """How one document is alike to another, seen from the one."""

    distance: int | None
    resemblance: float | None
    containment: float | None  # of the one in the other
    relation: Relation


EXACT = Likeness(distance=0, resemblance=1.0, containment=1.0, relation=Relation.EXACT)
# Of files without text, nothing is measured.
SAME_BYTES = Likeness(distance=None, resemblance=None, containment=None, relation=Relation.EXACT)


@dataclass(frozen=True, slots=True)
class EarlierDocument:
    """A document in the index that is alike and was first."""

    entry: int
    document_id: str
    ticket: int
    likeness: Likeness


def verify(method: Method, profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes]) -> list[Likeness | None]:
    """The likeness of each pair of bodies, None where they are not alike."""
    result: list[Likeness | None] = [None] * len(lefts)
    for i, likeness in find_alike(method, profile, lefts, rights):
        result[i] = likeness
    return result


def find_alike(
    method: Method, profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes]
) -> list[tuple[int, Likeness]]:
    """The pairs of bodies that are alike, by their places, and how."""
    if not len(lefts):
        return []
    measures = method.compare(lefts, rights)
    pairs = np.flatnonzero(alike(measures, profile))
    return list(zip(pairs.tolist(), likenesses(measures, pairs, profile), strict=True))


def alike(measures: Measures, profile: Profile) -> NDArray[np.bool_]:
    """Which pairs count as alike: resemblance over its threshold, or containment over its own either way, or, where
    the profile has no threshold for what its method measures, the fingerprint within the radius. But not where their
    lengths rule it out."""
    decisions: list[NDArray[np.bool_]] = []
    if profile.resemblance is not None and measures.resemblance is not None:
        decisions.append(np.round(measures.resemblance, DECIMALS) >= profile.resemblance)
    if profile.containment is not None and measures.left_in_right is not None and measures.right_in_left is not None:
        larger = np.maximum(measures.left_in_right, measures.right_in_left)
        decisions.append(np.round(larger, DECIMALS) >= profile.containment)
    if measures.distance is not None and isinstance(profile.method, Fingerprinted) and decides_by_bits(profile):
        decisions.append(measures.distance <= profile.method.radius)
    pairs: NDArray[np.bool_] = np.logical_or.reduce(decisions)
    if measures.length_ratio is not None and profile.resemblance is not None:
        pairs &= np.round(measures.length_ratio, DECIMALS) >= profile.resemblance
    return pairs


def likeness_of_pair(measures: Measures, i: int, profile: Profile) -> Likeness:
    """Pair i of the measures, with the name of its relation."""
    return likenesses(measures, np.array([i]), profile)[0]


def likenesses(measures: Measures, pairs: NDArray[np.int64], profile: Profile) -> list[Likeness]:
    """Some pairs of the measures, each with the name of its relation."""
    distances = [None] * len(pairs) if measures.distance is None else measures.distance[pairs].tolist()
    columns = (measures.resemblance, measures.left_in_right, measures.right_in_left)
    # Rounded as in `alike`: Python rounds some halves the other way, and would show less than the threshold.
    rounded = ([None] * len(pairs) if c is None else np.round(c[pairs], DECIMALS).tolist() for c in columns)
    return [
        Likeness(distance, resemblance, left_in_right, _relation(resemblance, left_in_right, right_in_left, profile))
        for distance, resemblance, left_in_right, right_in_left in zip(distances, *rounded, strict=True)
    ]


def _relation(
    resemblance: float | None, left_in_right: float | None, right_in_left: float | None, profile: Profile
) -> Relation:
    """Contained if nearly all of one is in the other but not the reverse, or if containment alone decided."""
    if left_in_right is None or right_in_left is None or left_in_right == right_in_left:
        return Relation.NEAR
    one_is_part = (left_in_right >= NEARLY_ALL) != (right_in_left >= NEARLY_ALL)
    if not one_is_part and not _only_contained(resemblance, max(left_in_right, right_in_left), profile):
        return Relation.NEAR
    return Relation.CONTAINED if left_in_right > right_in_left else Relation.CONTAINS


def _only_contained(resemblance: float | None, containment: float, profile: Profile) -> bool:
    if profile.containment is None or containment < profile.containment:
        return False
    return profile.resemblance is None or resemblance is None or resemblance < profile.resemblance


def judge(
    document_id: str,
    earlier: Sequence[EarlierDocument],
    *,
    empty: bool,
    short: bool,
    unreadable: UnreadableReason | None = None,
    earlier_versions: bool,
    candidates: int,
    degraded: Collection[Degraded],
    max_matches: int,
    ruled_out: int = 0,
    undecided: OnCapped | None = None,
) -> Answer:
    """Decide. A document's own other versions never count against it, and nothing counts against an empty text.

    A file without text is as short as a document can be: only what is exactly equal counts. `undecided` is how to hold
    a document up to which nothing alike was found because a limit ended the search."""
    if empty:
        return Answer(Relation.EMPTY, similar=False, candidates=0)
    others = [document for document in earlier if document.document_id != document_id]
    if not others:
        of_short = Relation.UNREADABLE if unreadable else Relation.TOO_SHORT
        relation = Relation.REVISION if earlier_versions else of_short if short else Relation.NEW
        return Answer(
            Relation.UNDECIDED if undecided else relation,
            similar=undecided == "refuse",
            candidates=candidates,
            degraded=tuple(sorted(degraded)),
            unreadable=unreadable,
            ruled_out=ruled_out,
        )
    others.sort(key=lambda document: (*best_first(document.likeness), document.ticket))
    if len(others) > max_matches:
        degraded = {*degraded, Degraded.MATCHES_CAPPED}
    return Answer(
        others[0].likeness.relation,
        similar=True,
        candidates=candidates,
        group=min(others, key=lambda document: document.ticket).entry,
        hits=tuple(map(_hit, others[:max_matches])),
        degraded=tuple(sorted(degraded)),
        unreadable=unreadable,
        ruled_out=ruled_out,
    )


def best_first(match: Likeness | Match) -> tuple[bool, float, int]:
    """The key that sorts matches: equal content, then the highest resemblance, then the least distance. What is equal
    in all three is left to the caller to put in order."""
    return (match.relation is not Relation.EXACT, -(match.resemblance or 0.0), match.distance or 0)


def bit_agreement(distance: int | None) -> float | None:
    """The share of equal bits of two fingerprints. Of unrelated texts half are equal: it is no resemblance."""
    return None if distance is None else round(1.0 - distance / FINGERPRINT_BITS, DECIMALS)


def _hit(document: EarlierDocument) -> Hit:
    likeness = document.likeness
    return Hit(document.entry, likeness.relation, likeness.distance, likeness.resemblance, likeness.containment)
