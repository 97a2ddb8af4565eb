"""The values that travel through the gate: what comes in, what is found, what goes out.

They are structs of msgspec, because each document has one of them or more and a frozen dataclass of that size takes six
times as long to make. None can be part of a cycle, so the garbage collector need not track them (`gc=False`).

What goes out (`Verdict`, `Match`) converts to JSON; the descriptions of its fields are those of the JSON Schemas.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gate.errors import UnreadableReason


class Relation(StrEnum):
    """How a document relates to what is known already."""

    NEW = "new"
    EXACT = "exact"  # the same normalised text; of files without text, the same bytes
    NEAR = "near"
    CONTAINED = "contained"  # nearly all of it is in the other
    CONTAINS = "contains"  # nearly all of the other is in it
    REVISION = "revision"  # another version of the same document
    TOO_SHORT = "too_short"  # too few features for anything but exact comparison
    EMPTY = "empty"
    UNREADABLE = "unreadable"  # a file without text, and no file with the same bytes is known
    UNDECIDED = "undecided"  # a limit ended the search for it, and limits.on_capped holds it up


class Degraded(StrEnum):
    """Why a verdict may know less than it should; a limit that was hit."""

    BUCKET_CAPPED = "bucket_capped"
    CANDIDATES_CAPPED = "candidates_capped"
    MATCHES_CAPPED = "matches_capped"
    FEATURES_CAPPED = "features_capped"
    DETAILS_CUT = "details_cut"  # a title, source, URI or metadata over its limit was cut or left out
    UNCHECKED = "unchecked"  # the index was unavailable, and the document passed without a look-up


class JsonStruct(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A value that converts to JSON in one call, under the names of its fields."""

    def to_json(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self).decode()

    def to_dict(self) -> dict[str, Any]:
        """What `to_json` writes, as dicts, lists, strings and numbers."""
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return fields


class CheckIn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A document that is checked in: a text; or a file without one, which is compared by the hash of its bytes."""

    document_id: str
    text: str  # empty where there is a content_sha256
    version: str | None = None
    source: str | None = None
    title: str | None = None
    # Kept in the index with source and title, to recognise the document by (see `DocumentDetails`).
    uri: str | None = None
    size_bytes: int | None = None  # None: that of the text in UTF-8
    mime_type: str | None = None
    checked_in_at: datetime | None = None  # without a zone: UTC; None: now
    metadata: dict[str, Any] | msgspec.Raw | None = None  # or the JSON of an object
    content_sha256: str | None = None  # of the bytes of a file without text, in lower-case hexadecimal
    unreadable_reason: UnreadableReason | None = None  # why it has none; None: "no_text"

    def __repr__(self) -> str:
        """Without the text and the title: whatever logs a check-in must not log those."""
        return f"CheckIn(document_id={self.document_id!r}, version={self.version!r}, source={self.source!r})"


class Subject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of two things to measure: exactly one of these."""

    text: str | None = None
    document_id: str | None = None  # a known document, by its latest content
    fingerprint: str | int | None = None  # 16 hexadecimal digits, or the number

    def __repr__(self) -> str:
        """Without the text: whatever logs a subject must not log that."""
        return f"Subject(document_id={self.document_id!r}, fingerprint={self.fingerprint!r})"


class DocumentDetails(JsonStruct, frozen=True, kw_only=True, gc=False):
    """What people recognise a document by, as its first check-in with that content said it. Null: it said nothing."""

    title: Annotated[
        str | None, Meta(description="At most limits.max_title_chars characters.", examples=["Report for 2025"])
    ] = None
    source: Annotated[
        str | None, Meta(description="At most limits.max_source_chars characters.", examples=["archive"])
    ] = None
    uri: Annotated[str | None, Meta(description="Path or URI of the document.", examples=["file:reports/2025.txt"])] = (
        None
    )
    size_bytes: Annotated[
        int | None, Meta(description="Size that the check-in names, or else that of its text in UTF-8.")
    ] = None
    mime_type: Annotated[str | None, Meta(description="MIME type.", examples=["text/plain"])] = None
    checked_in_at: Annotated[
        datetime | None,
        Meta(
            description="When it was checked in: by its own word, or else by the clock of the gate.",
            examples=["2026-05-06T07:08:09Z"],
        ),
    ] = None
    metadata: Annotated[
        dict[str, Any] | None, Meta(description="An object of at most limits.max_metadata_bytes of JSON.")
    ] = None


Version = Annotated[str | None, Meta(description="The version that was sent, as a string; null: none was.")]
Distance = Annotated[
    int | None,
    Meta(description="Bits of 64 in which the fingerprints differ; null: the method has none.", examples=[2]),
]
BitAgreement = Annotated[
    float | None,
    Meta(
        description="Share of the 64 bits in which the fingerprints agree: of unrelated texts half do, so it is no "
        "resemblance; null: the method has none.",
        examples=[0.9688],
    ),
]
Resemblance = Annotated[
    float | None,
    Meta(description="Share of the features of both that both have, 0 to 1; null: not measured.", examples=[0.9141]),
]
Containment = Annotated[
    float | None,
    Meta(description="Share of the document's features that the other has, 0 to 1; null: not measured."),
]


class Match(JsonStruct, frozen=True, kw_only=True, gc=False):
    """A known document that is alike, and by how much. A measure that the method does not have is null."""

    document_id: Annotated[str, Meta(description="Id of the known document.", examples=["reports/2025"])]
    version: Version
    relation: Annotated[Relation, Meta(description="How the document relates to this one.")]
    distance: Distance = None
    resemblance: Resemblance = None
    containment: Containment = None
    bit_agreement: BitAgreement = None


Scanned = Annotated[
    int, Meta(description="Fingerprints that were gone through, one by one; 0: the buckets of the index answered.")
]
Complete = Annotated[
    bool, Meta(description="Whether all fingerprints were scanned; false: limits.max_scanned was hit.")
]


class LookUpResult(JsonStruct, frozen=True, kw_only=True, gc=False):
    """What a look-up found, and whether that is all."""

    matches: Annotated[tuple[Match, ...], Meta(description="Known documents that are alike, best first.")]
    candidates: Annotated[int, Meta(description="Known documents that it was compared with.")]
    degraded: Annotated[tuple[Degraded, ...], Meta(description="Limits that were hit, so that there may be more.")]
    scanned: Scanned = 0
    complete: Complete = True


class Verdict(JsonStruct, frozen=True, kw_only=True, gc=False):
    """The answer to one check-in. A repeated check-in gets an equal one."""

    document_id: Annotated[str, Meta(description="Id of the document that was checked in.", examples=["reports/2026"])]
    version: Version
    similar: Annotated[bool, Meta(description="Whether a document like it was there first: it does not pass.")]
    relation: Annotated[Relation, Meta(description="How it relates to the best match, or why it has none.")]
    matches: Annotated[
        tuple[Match, ...],
        Meta(description="Known documents that are alike, best first; at most limits.max_matches of them."),
    ]
    group: Annotated[
        str, Meta(description="Id of the first document of its family; its own where it is the first.", examples=["a"])
    ]
    fingerprint: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{16}$")] | None,
        Meta(
            description="SimHash of the document, 64 bits in hexadecimal; null: it is too short, or the method has "
            "none.",
            examples=["0123456789abcdef"],
        ),
    ]
    content_id: Annotated[
        str,
        Meta(
            description="Hash of the normalised text, in hexadecimal: equal for equal contents. Of a file without "
            "text, a hash of its bytes, which no text has.",
            examples=["00112233445566778899aabbccddeeff"],
        ),
    ]
    profile: Annotated[str, Meta(description="Name and version of the profile.", examples=["standard@1"])]
    features: Annotated[
        int | None,
        Meta(description="Features of the document; null: read back from the index, which keeps the signature only."),
    ]
    candidates: Annotated[int, Meta(description="Known documents that it was compared with.")]
    degraded: Annotated[
        tuple[Degraded, ...],
        Meta(description="Limits that were hit, so that the verdict may know less than it should; mostly empty."),
    ]
    verdict_id: Annotated[
        str,
        Meta(
            description="A hash of the profile, the document and its content, what was decided, and the documents that "
            "it names: a repeated verdict has the same id, one that replaces it has another.",
            examples=["5d41402abc4b2a76b9719d911017c592"],
        ),
    ]
    source: Annotated[
        str | None,
        Meta(
            description="The sender that the check-in names, its first limits.max_source_chars characters; null: none.",
            examples=["archive"],
        ),
    ] = None
    title: Annotated[
        str | None,
        Meta(
            description="The title of the check-in, its first limits.max_title_chars characters; null: none.",
            examples=["Report for 2026"],
        ),
    ] = None
    unreadable_reason: Annotated[
        UnreadableReason | None,
        Meta(description="Why it has no text, and was compared by its bytes alone; null: its text was compared."),
    ] = None
    ruled_out: Annotated[
        int, Meta(description="Known documents that it was not compared with, because the lengths of the two differ.")
    ] = 0
