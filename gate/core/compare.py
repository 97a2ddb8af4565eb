"""Compare two texts: the measures of a profile, the relation, and the passages that both share. Pure; no index."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from gate.core.exact_measures import are_multisets, exact_measures, features_of
from gate.core.judge import DECIMALS, Likeness, alike, bit_agreement, likeness_of_pair
from gate.core.method import Floats
from gate.core.method_registry import method_of
from gate.core.passages import Passage, passages
from gate.core.profile import Profile
from gate.core.text import content_ids, normalise
from gate.model import JsonStruct, Relation


class Comparison(JsonStruct, frozen=True, kw_only=True):
    """Two texts side by side. `relation` is what the gate would call the first if the second were known already.

    Resemblance and containment are exact, of all features, because both texts are here. The gate decides by what it
    keeps of a text, its signature: `alike` and `relation` follow the estimates."""

    alike: bool
    relation: Relation
    distance: int | None  # bits of 64 in which the fingerprints differ
    resemblance: float | None
    containment: tuple[float | None, float | None]  # of the first in the second, and of the second in the first
    estimated_resemblance: float | None  # by the signatures
    estimated_containment: tuple[float | None, float | None]
    length_ratio: float | None  # under a length filter: the smaller of the two lengths that it goes by, of the larger
    fingerprints: tuple[str | None, str | None]
    passages: tuple[tuple[Passage, ...], tuple[Passage, ...]]  # each text, cut where what both share begins and ends
    bit_agreement: float | None = (
        None  # share of the 64 bits that are equal: of unrelated texts half, so no resemblance
    )


def compare(
    pairs: Sequence[tuple[str, str]], profile: Profile, *, secret: bytes, max_features: int, show_passages: bool
) -> list[Comparison]:
    """Compare each pair. Texts too short for the gate are measured too, but only equal ones are called alike."""
    method = method_of(structs.replace(profile, min_features=1), secret, max_features=max_features)
    texts = normalise([text for pair in pairs for text in pair])
    signatures, contents = method.sign(texts), content_ids(texts, secret)
    bodies, features = signatures.bodies, signatures.features
    whole = features_of(texts, profile, secret)
    lengths = (texts.starts[1:] - texts.starts[:-1]).tolist()
    comparisons = []
    for n, (first, second) in enumerate(pairs):
        left, right = 2 * n, 2 * n + 1
        likeness, is_alike = Likeness(None, None, None, Relation.NEW), False
        second_in_first, length_ratio = None, None
        if bodies[left] and bodies[right]:
            measures = method.compare([bodies[left]], [bodies[right]])
            likeness, is_alike = likeness_of_pair(measures, 0, profile), bool(alike(measures, profile)[0])
            second_in_first, length_ratio = _of_pair(measures.right_in_left), _of_pair(measures.length_ratio)
        if min(features[left], features[right]) < profile.min_features:
            relation = Relation.TOO_SHORT if lengths[left] else Relation.EMPTY
            is_alike = False
        else:
            relation = likeness.relation if is_alike else Relation.NEW
        if contents[left] == contents[right]:
            is_alike, relation = True, Relation.EXACT
        exact = exact_measures(whole[left], whole[right], multisets=are_multisets(profile))
        prints = [None if (p := method.fingerprint(bodies[i])) is None else f"{p:016x}" for i in (left, right)]
        comparisons.append(
            Comparison(
                alike=is_alike,
                relation=relation,
                distance=likeness.distance,
                bit_agreement=bit_agreement(likeness.distance),
                resemblance=_rounded(exact.resemblance),
                containment=(_rounded(exact.left_in_right), _rounded(exact.right_in_left)),
                estimated_resemblance=likeness.resemblance,
                estimated_containment=(likeness.containment, second_in_first),
                length_ratio=length_ratio,
                fingerprints=(prints[0], prints[1]),
                passages=passages(first, second) if show_passages else ((), ()),
            )
        )
    return comparisons


def _of_pair(measure: Floats | None) -> float | None:
    return None if measure is None else _rounded(float(measure[0]))


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, DECIMALS)


def compare_signatures(
    bodies: tuple[bytes, bytes], profile: Profile, *, secret: bytes, same_content: bool = False
) -> Comparison:
    """Compare two documents by their stored signatures alone, where a text of theirs is not there: no exact measures
    and no passages. An empty body is that of a text too short for the gate."""
    method = method_of(profile, secret)
    likeness, is_alike = Likeness(None, None, None, Relation.NEW), False
    second_in_first, length_ratio = None, None
    if all(bodies):
        measures = method.compare([bodies[0]], [bodies[1]])
        likeness, is_alike = likeness_of_pair(measures, 0, profile), bool(alike(measures, profile)[0])
        second_in_first, length_ratio = _of_pair(measures.right_in_left), _of_pair(measures.length_ratio)
    relation = likeness.relation if is_alike else Relation.NEW if all(bodies) else Relation.TOO_SHORT
    if same_content:
        is_alike, relation = True, Relation.EXACT
    prints = [None if (p := method.fingerprint(body)) is None else f"{p:016x}" for body in bodies]
    return Comparison(
        alike=is_alike,
        relation=relation,
        distance=likeness.distance,
        bit_agreement=bit_agreement(likeness.distance),
        resemblance=None,
        containment=(None, None),
        estimated_resemblance=likeness.resemblance,
        estimated_containment=(likeness.containment, second_in_first),
        length_ratio=length_ratio,
        fingerprints=(prints[0], prints[1]),
        passages=((), ()),
    )
