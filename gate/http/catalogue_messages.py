"""Answers about many documents: a page of them, a family, and pairs that are alike."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gate.http.activity_messages import PageLimit
from gate.http.document_messages import DocumentFields, Fingerprint, Group
from gate.http.messages import Threshold
from gate.model import BitAgreement, Containment, Distance, Relation, Resemblance

MAX_SAMPLE = 500  # documents that one request looks up

Complete = Annotated[
    bool,
    Meta(
        description="Whether the catalogue holds every document; it holds at most api_catalogue_documents, and none "
        "that another process has checked in since it was read."
    ),
]
Age = Annotated[float | None, Meta(description="How long ago the catalogue was read; null: it is being read.")]
HasText = Annotated[bool, Meta(description="Whether its text is kept, to be shown.")]


class DocumentsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which documents; all that is given has to fit."""

    q: Annotated[str, Meta(description="The id begins with this, or the title has it.", examples=["reports"])] = ""
    prefix: Annotated[str, Meta(description="The id begins with this.")] = ""
    title: Annotated[str, Meta(description="The title has this, in capitals or not.")] = ""
    relation: Relation | UnsetType = UNSET
    group: Annotated[str, Meta(description="In the family of this document, an original.")] | UnsetType = UNSET
    after: Annotated[str, Meta(description="Behind this id: the `next` of the page before.")] | UnsetType = UNSET
    limit: PageLimit = 50


class DocumentRow(DocumentFields, frozen=True, kw_only=True):
    """A known document, by its latest content."""

    relation: Annotated[Relation | None, Meta(description="Of its verdict; null: it has not been answered yet.")]
    similar: Annotated[bool, Meta(description="Whether a document like it was there first.")]
    group: Group
    fingerprint: Fingerprint
    has_text: HasText


class DocumentList(msgspec.Struct, frozen=True, kw_only=True):
    """Known documents, in the order of their ids."""

    documents: list[DocumentRow]
    next: Annotated[str | None, Meta(description="Ask with this as `after` for the next page; null: there is none.")]
    matching: Annotated[int, Meta(description="How many documents fit, on all pages.")]
    known: Annotated[int, Meta(description="How many documents the catalogue holds.")]
    complete: Complete
    age_seconds: Age


class GroupQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which members."""

    offset: Annotated[int, Meta(ge=0, description="Without the first so many.")] = 0
    limit: PageLimit = 100


class FamilyMember(DocumentRow, frozen=True, kw_only=True):
    """A member of a family, and how it relates to the original."""

    distance: Distance
    bit_agreement: BitAgreement
    resemblance: Resemblance
    containment: Containment
    verdict_id: Annotated[str | None, Meta(description="Of its verdict; null: it has not been answered yet.")]
    reasons: Annotated[list[str], Meta(description="Why its verdict is what it is, in sentences.")]


class FamilyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A family: the original first, then the others in the order in which they were checked in.

    The measures compare a member with the original, by their signatures."""

    group: Group
    members: list[FamilyMember]
    total: Annotated[int, Meta(description="How many members there are, the original counted.")]
    complete: Complete


class PairsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much alike, and of how many documents."""

    threshold: Threshold | UnsetType = UNSET
    sample: Annotated[int, Meta(ge=1, le=MAX_SAMPLE, description="How many documents are looked up.")] = 100


class StoredPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two known documents that are alike."""

    left: Annotated[str, Meta(description="Id of the document that was looked up.")]
    right: Annotated[str, Meta(description="Id of the one that was found.")]
    left_title: str | None
    right_title: str | None
    relation: Annotated[Relation, Meta(description="How the left one relates to the right one.")]
    distance: Distance
    bit_agreement: BitAgreement
    resemblance: Resemblance
    containment: Containment


class PairSample(msgspec.Struct, frozen=True, kw_only=True):
    """What a threshold finds among documents that lie evenly among all, in the order of their ids."""

    threshold: Annotated[float | None, Meta(description="That was in force; null: the profile has none.")]
    profile_threshold: Annotated[float | None, Meta(description="That of the profile; null: it has none.")]
    sampled: Annotated[int, Meta(description="Documents that were looked up.")]
    known: Annotated[int, Meta(description="Documents that the catalogue holds.")]
    pairs: Annotated[list[StoredPair], Meta(description="Each once.")]
    truncated: Annotated[bool, Meta(description="Whether a limit of time or pairs ended it early.")]
