"""The second stage: which candidates are alike, by the thresholds of the profile.

`alike` is symmetric: it sees only the two stored bodies, and answers the same from both sides. The claim
protocol is unsound without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core.methods import Measures, Method
from gate.core.profile import Profile
from gate.model import Relation

# Measures are kept to four places: what is stored and what is computed again then agree to the last digit.
PLACES = 4
# From here on "nearly all of it" names a relation. Below, an edited copy of equal length would often be called a part.
NAMES_A_PART = 0.95


@dataclass(frozen=True, slots=True)
class Likeness:
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
    if not decided and measures.distance is not None:
        decided.append(measures.distance <= profile.radius)
    verdicts: NDArray[np.bool_] = np.logical_or.reduce(decided)
    return verdicts


def verify(method: Method, profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes]) -> list[Likeness | None]:
    """The likeness of each pair, None where they are not alike."""
    if not lefts:
        return []
    measures = method.compare(lefts, rights)
    found: list[Likeness | None] = [None] * len(lefts)
    for i in np.flatnonzero(alike(measures, profile)).tolist():
        found[i] = likeness(measures, i)
    return found


def likeness(measures: Measures, i: int) -> Likeness:
    """Pair i of the measures, with the name of its relation."""
    inside = _at(measures.left_in_right, i)
    around = _at(measures.right_in_left, i)
    relation = Relation.NEAR
    if inside is not None and around is not None and (inside >= NAMES_A_PART) != (around >= NAMES_A_PART):
        relation = Relation.CONTAINED if inside > around else Relation.CONTAINS
    return Likeness(
        distance=None if measures.distance is None else int(measures.distance[i]),
        resemblance=_at(measures.resemblance, i),
        containment=inside,
        relation=relation,
    )


def _at(values: NDArray[np.float64] | None, i: int) -> float | None:
    # Rounded as in `alike`: Python rounds some halves the other way, and would show less than the threshold.
    return None if values is None else float(np.round(values[i], PLACES))
