"""The values that travel through the gate: what comes in, what is found, what goes out.

They are structs of msgspec, because each document has one of them or more and a frozen dataclass of that size takes six
times as long to make. None can be part of a cycle, so the garbage collector is told not to look at them.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Relation(StrEnum):
    """How a document stands to what is known already."""

    NEW = "new"
    EXACT = "exact"  # the same normalised text
    NEAR = "near"
    CONTAINED = "contained"  # nearly all of it is in the other
    CONTAINS = "contains"  # nearly all of the other is in it
    REVISION = "revision"  # another version of the same document
    TOO_SHORT = "too_short"  # too few features for anything but exact comparison
    EMPTY = "empty"


class Degraded(StrEnum):
    """Why a verdict may know less than it should; a limit that was hit."""

    BUCKET_CAPPED = "bucket_capped"
    CANDIDATES_CAPPED = "candidates_capped"
    MATCHES_CAPPED = "matches_capped"
    FEATURES_CAPPED = "features_capped"
    UNCHECKED = "unchecked"  # the index was away, and the document was let through without a look


class CheckIn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A document at the gate."""

    document_id: str
    text: str
    version: str | None = None
    source: str | None = None

    def __repr__(self) -> str:
        """Without the text: whatever logs a check-in must not log that."""
        return f"CheckIn(document_id={self.document_id!r}, version={self.version!r}, source={self.source!r})"


class Match(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A known document that is alike, and by how much. Measures that a method cannot tell are None."""

    document_id: str
    version: str | None
    relation: Relation
    distance: int | None
    resemblance: float | None
    containment: float | None


class Verdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to one check-in. A repeated check-in gets an equal one."""

    document_id: str
    version: str | None
    similar: bool
    relation: Relation
    group: str
    content_id: str
    fingerprint: str | None
    profile: str
    verdict_id: str
    features: int | None  # None: told again from the index, where only the signature is kept
    candidates: int
    matches: tuple[Match, ...] = ()
    degraded: tuple[Degraded, ...] = ()
