"""The second stage: which candidates are alike, by the thresholds of the profile.

`alike` is symmetric: it sees only the two stored bodies, and answers the same from both sides. The claim
protocol is unsound without that.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gate.core.method import Measures, Method
from gate.core.method_parameters import Fingerprinted
from gate.core.profile import Profile
from gate.model import Relation

# Measures are kept to four places: what is stored and what is computed again then agree to the last digit.
PLACES = 4
# From here on "nearly all of it" names a relation. Below, an edited copy of equal length would often be called a part.
NAMES_A_PART = 0.95


class Likeness(msgspec.Struct, frozen=True, gc=False):
    """One pair that is alike, seen from its left side."""

    distance: int | None
    resemblance: float | None
    containment: float | None  # of the left in the right
    relation: Relation


def alike(measures: Measures, profile: Profile) -> NDArray[np.bool_]:
    """Which pairs count as alike: resemblance over its threshold, or containment over its own either way, or, where
    the profile has no threshold for what its method tells, the fingerprint within the radius."""
    decided: list[NDArray[np.bool_]] = []
    if profile.resemblance is not None and measures.resemblance is not None:
        decided.append(np.round(measures.resemblance, PLACES) >= profile.resemblance)
    if profile.containment is not None and measures.left_in_right is not None and measures.right_in_left is not None:
        larger = np.maximum(measures.left_in_right, measures.right_in_left)
        decided.append(np.round(larger, PLACES) >= profile.containment)
    if not decided and measures.distance is not None and isinstance(profile.method, Fingerprinted):
        decided.append(measures.distance <= profile.method.radius)
    verdicts: NDArray[np.bool_] = np.logical_or.reduce(decided)
    return verdicts


def verify(method: Method, profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes]) -> list[Likeness | None]:
    """The likeness of each pair, None where they are not alike."""
    if not lefts:
        return []
    measures = method.compare(lefts, rights)
    found: list[Likeness | None] = [None] * len(lefts)
    places = np.flatnonzero(alike(measures, profile))
    for i, how in zip(places.tolist(), likenesses(measures, places, profile), strict=True):
        found[i] = how
    return found


def likeness(measures: Measures, i: int, profile: Profile) -> Likeness:
    """Pair i of the measures, with the name of its relation."""
    return likenesses(measures, np.array([i]), profile)[0]


def likenesses(measures: Measures, places: NDArray[np.int64], profile: Profile) -> list[Likeness]:
    """Some pairs of the measures, each with the name of its relation."""
    distances = [None] * len(places) if measures.distance is None else measures.distance[places].tolist()
    columns = (measures.resemblance, measures.left_in_right, measures.right_in_left)
    # Rounded as in `alike`: Python rounds some halves the other way, and would show less than the threshold.
    rounded = ([None] * len(places) if c is None else np.round(c[places], PLACES).tolist() for c in columns)
    return [
        Likeness(distance, resemblance, inside, _relation(resemblance, inside, around, profile))
        for distance, resemblance, inside, around in zip(distances, *rounded, strict=True)
    ]


def _relation(resemblance: float | None, inside: float | None, around: float | None, profile: Profile) -> Relation:
    """Nearly all of the one is in the other, but not the other way round; or it was containment alone that decided."""
    if inside is None or around is None or inside == around:
        return Relation.NEAR
    nearly_all = (inside >= NAMES_A_PART) != (around >= NAMES_A_PART)
    if not nearly_all and not _only_contained(resemblance, max(inside, around), profile):
        return Relation.NEAR
    return Relation.CONTAINED if inside > around else Relation.CONTAINS


def _only_contained(resemblance: float | None, containment: float, profile: Profile) -> bool:
    if profile.containment is None or containment < profile.containment:
        return False
    return profile.resemblance is None or resemblance is None or resemblance < profile.resemblance
