"""Answers about known documents: rows of lists, and all that is known of one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, structs

from gate.model import (
    BitAgreement,
    Complete,
    Containment,
    Degraded,
    Distance,
    DocumentDetails,
    Match,
    Relation,
    Resemblance,
    Scanned,
    Verdict,
    Version,
)

Fingerprint = Annotated[
    str | None, Meta(description="SimHash in hexadecimal; null: it is too short, or the method has none.")
]
Group = Annotated[
    str,
    Meta(description="Id of the first document of its family; its own where it is that.", examples=["reports/2025"]),
]


class DocumentFields(msgspec.Struct, frozen=True, kw_only=True):
    """A document and what people recognise it by, as far as it is kept."""

    document_id: Annotated[str, Meta(description="Id of the document.", examples=["reports/2025"])]
    version: Version
    title: str | None = None
    source: Annotated[str | None, Meta(description="System or person that sent it.")] = None
    uri: Annotated[str | None, Meta(description="Path or URI of the document.")] = None
    size_bytes: int | None = None
    mime_type: str | None = None
    checked_in_at: datetime | None = None


_DETAILS = DocumentFields.__struct_fields__[2:]


class SimilarDocument(DocumentFields, frozen=True, kw_only=True):
    """A known document that is alike, and by how much."""

    relation: Annotated[Relation, Meta(description="How what was asked for relates to this one.")]
    distance: Distance
    bit_agreement: BitAgreement
    resemblance: Resemblance
    containment: Containment
    fingerprint: Fingerprint
    group: Group
    has_text: Annotated[bool, Meta(description="Whether its text is kept, to be shown.")]


class SimilarDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """Known documents that are alike, best first."""

    matches: list[SimilarDocument]
    fingerprint: Annotated[str | None, Meta(description="Of what was asked for.")]
    threshold: Annotated[float | None, Meta(description="That was in force; null: the profile has none.")]
    scanned: Scanned = 0
    complete: Complete = True
    degraded: Annotated[tuple[Degraded, ...], Meta(description="Limits that were hit, so that there may be more.")]


class DocumentVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts that a document was given, one for each of its contents, oldest first."""

    document_id: str
    verdicts: list[Verdict]
    reasons: Annotated[list[list[str]], Meta(description="For each verdict, why it is what it is, in sentences.")]


class DocumentContent(msgspec.Struct, frozen=True, kw_only=True):
    """One content that a document was checked in with."""

    version: Version
    content_id: Annotated[str, Meta(description="Hash of its normalised text, in hexadecimal.")]
    details: DocumentDetails | None
    has_text: Annotated[bool, Meta(description="Whether its text is kept, to be shown.")]
    verdict: Annotated[Verdict | None, Meta(description="Null: it has not been answered yet.")]
    reasons: Annotated[list[str], Meta(description="Why its verdict is what it is, in sentences.")]


class DocumentReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a document: its contents, oldest first."""

    document_id: str
    group: Group
    contents: list[DocumentContent]


def detail_values(details: DocumentDetails | None) -> dict[str, Any]:
    """The details of a document, as fields of a row; the metadata is left to the report of one document."""
    return {name: getattr(details, name) for name in _DETAILS} if details else {}


def match_values(match: Match) -> dict[str, Any]:
    """What a match says, as fields of a `SimilarDocument`."""
    return structs.asdict(match)
