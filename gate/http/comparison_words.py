"""A comparison in measures and sentences that people can read."""

from __future__ import annotations

from gate.core.compare import Comparison
from gate.core.exact_measures import are_multisets
from gate.core.judge import bit_agreement
from gate.core.method_parameters import Fingerprinted, SimilarityIndex
from gate.core.profile import Profile, decides_by_bits
from gate.http.compare_messages import ComparedMeasure
from gate.model import Relation
from gate.numbers import counted, number


def measures_of(compared: Comparison, profile: Profile) -> list[ComparedMeasure]:
    """Every measure, with its threshold where it decides."""
    repeated = ", each as often as it occurs" if are_multisets(profile) else ""
    unused = profile.method.unused
    resemblance = None if "resemblance" in unused else profile.resemblance
    containment = None if "containment" in unused else profile.containment
    by_numbers = isinstance(profile.method, SimilarityIndex)  # of which no share of features is estimated
    left, right = (
        ComparedMeasure(
            name=f"containment_{one}",
            label=f"{one.capitalize()} in {other}",
            value=value,
            estimate=estimate,
            threshold=containment,
            meaning=f"Features of the {one} that the {other} has too.",
        )
        for one, other, value, estimate in zip(
            ("left", "right"), ("right", "left"), compared.containment, compared.estimated_containment, strict=True
        )
    )
    first = ComparedMeasure(
        name="resemblance",
        label="Resemblance",
        value=compared.resemblance,
        estimate=None if by_numbers else compared.estimated_resemblance,
        threshold=None if by_numbers else resemblance,
        meaning=f"Features that both have, of all that either has{repeated}.",
    )
    shown = [first, left, right]
    if by_numbers:
        quotient = compared.estimated_resemblance
        meaning = "The smaller of the two similarity indexes, of the larger."
        shown.append(
            ComparedMeasure(
                name="quotient",
                label="Quotient",
                value=quotient,
                estimate=quotient,
                threshold=resemblance,
                meaning=meaning,
            )
        )
    return shown if compared.distance is None else [*shown, *_of_bits(compared.distance, profile)]


def _of_bits(distance: int, profile: Profile) -> list[ComparedMeasure]:
    method = profile.method
    radius = method.radius if isinstance(method, Fingerprinted) and decides_by_bits(profile) else None
    agreement = bit_agreement(distance)
    return [
        ComparedMeasure(
            name="distance",
            label="Distance",
            value=distance,
            estimate=distance,
            threshold=radius,
            meaning="Bits of 64 in which the fingerprints differ.",
        ),
        ComparedMeasure(
            name="bit_agreement",
            label="Bit agreement",
            value=agreement,
            estimate=agreement,
            threshold=bit_agreement(radius),
            meaning="Share of the 64 bits in which they agree: of unrelated texts half do, so it is no resemblance.",
        ),
    ]


def reasons_of(compared: Comparison, profile: Profile, *, met: int, buckets: int) -> list[str]:
    """Why the two are called what they are, and whether a look-up would find them."""
    sentences = [_verdict(compared), *_deciding(compared, profile)]
    if not buckets:
        return sentences
    if met:
        return [*sentences, f"They meet in {number(met)} of {counted(buckets, 'bucket')}, so a look-up finds them."]
    missed = "Alike as they are, a look-up would miss them" if compared.alike else "A look-up would not compare them"
    return [*sentences, f"{missed}: they meet in none of {counted(buckets, 'bucket')}."]


_ALIKE = {
    Relation.EXACT: "Both have the same content.",
    Relation.NEAR: "They are alike, as an edited copy is.",
    Relation.CONTAINED: "Nearly all of the left is in the right.",
    Relation.CONTAINS: "Nearly all of the right is in the left.",
}
_NOT_ALIKE = {
    Relation.TOO_SHORT: "One is too short for anything but an exact comparison, and they are not equal.",
    Relation.EMPTY: "The left has no text to compare.",
}


def _verdict(compared: Comparison) -> str:
    named = _ALIKE if compared.alike else _NOT_ALIKE
    return named.get(compared.relation, "They are not alike.")


def _deciding(compared: Comparison, profile: Profile) -> list[str]:
    """The measures that decide, beside their thresholds."""
    if compared.relation in (Relation.EXACT, Relation.TOO_SHORT, Relation.EMPTY):
        return []
    decided = []
    for measure in measures_of(compared, profile):
        if measure.threshold is None or measure.estimate is None or measure.name == "bit_agreement":
            continue
        if measure.name == "distance":
            decided.append(f"they differ in {measure.estimate:.0f} bits, of {measure.threshold:.0f} that may differ")
        else:
            estimate, least = number(measure.estimate, "%"), number(measure.threshold, "%")
            decided.append(f"{measure.label.lower()} is estimated at {estimate}, and {least} are asked for")
    return [f"Under profile {profile.ref}, {'; '.join(decided)}."] if decided else []
