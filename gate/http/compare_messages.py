"""The body of a comparison and its answer."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gate.core.passages import Passage
from gate.core.shared_buckets import Bucket
from gate.model import Relation

FingerprintDigits = Annotated[
    str,
    Meta(
        pattern="^[0-9a-fA-F]{16}$",
        description="16 hexadecimal digits, as a verdict shows them.",
        examples=["0123456789abcdef"],
    ),
]


class SideRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of two things to compare: give exactly one of these."""

    text: Annotated[str | None, Meta(description="A text.")] = None
    document_id: Annotated[str | None, Meta(description="A known document, by its latest content.")] = None
    fingerprint: FingerprintDigits | None = None


# The same for readers of the schema; a null counts as a field that is not there.
ONE_SIDE: dict[str, Any] = {
    "oneOf": [
        {
            "required": [name],
            "properties": {
                name: {"type": "string"},
                **{other: {"type": "null"} for other in SideRequest.__struct_fields__ if other != name},
            },
        }
        for name in SideRequest.__struct_fields__
    ]
}


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Two things to compare; a string is a text. The index is not changed."""

    left: str | SideRequest
    right: str | SideRequest
    passages: Annotated[bool, Meta(description="Cut both texts where what they share begins and ends.")] = True


class ComparedSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of two things that were compared."""

    document_id: str | None = None
    title: str | None = None
    fingerprint: str | None = None
    chars: Annotated[int | None, Meta(description="Characters of its text; null: the text is not there.")] = None
    features: Annotated[int | None, Meta(description="Features of its text; null: the text is not there.")] = None
    has_text: bool = False


class ComparedMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of how alike the two are."""

    name: Annotated[str, Meta(examples=["resemblance"])]
    label: Annotated[str, Meta(examples=["Resemblance"])]
    value: Annotated[float | None, Meta(description="Exact, of all features; null: a text is not there.")]
    estimate: Annotated[float | None, Meta(description="By the signatures, as the gate decides; null: not estimated.")]
    threshold: Annotated[float | None, Meta(description="The profile's; null: this measure does not decide.")]
    meaning: Annotated[str, Meta(description="One sentence.")]


class ComparisonReport(msgspec.Struct, frozen=True, kw_only=True):
    """Two documents side by side. `relation` is what the gate would call the left if the right were known already.

    Exact measures and passages need both texts; what the gate decides by are the estimates."""

    alike: bool
    relation: Relation
    left: ComparedSide
    right: ComparedSide
    measures: list[ComparedMeasure]
    differing_bits: Annotated[
        list[int] | None, Meta(description="Of the fingerprints, bit 63 is the leftmost; null: a side has none.")
    ]
    buckets: Annotated[
        list[Bucket], Meta(description="Where the left one is stored; the right one looks in those met.")
    ]
    buckets_met: int
    would_meet: Annotated[bool, Meta(description="Whether a look-up of the right one finds the left one.")]
    passages: tuple[tuple[Passage, ...], tuple[Passage, ...]] | None
    passages_missing: Annotated[str | None, Meta(description="Why there are no passages.")]
    reasons: Annotated[list[str], Meta(description="Why it is called so, in sentences.")]
    distance: int | None
    resemblance: float | None
    containment: Annotated[
        tuple[float | None, float | None], Meta(description="Of the left in the right, and of the right in the left.")
    ]
    estimated_resemblance: float | None
    estimated_containment: tuple[float | None, float | None]
    fingerprints: tuple[str | None, str | None]
