"""The bodies of requests to the service and of its answers, and the parameters of queries.

The OpenAPI document is made from these structs. Fields are only ever added, with defaults.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gate.core.plan import RESEMBLANCES
from gate.errors import UnreadableReason
from gate.model import CheckIn
from gate.wire import DocumentId, EventVersion, Timestamp, VerdictEvent, is_object_or_null

_NULL = msgspec.Raw(b"null")
MAX_MATCHES = 1000  # of one answer

Threshold = Annotated[
    float,
    Meta(
        gt=0.0,
        le=1.0,
        description="Another resemblance than the profile's, or share of equal bits where those decide.",
        examples=[0.8],
    ),
]
MatchLimit = Annotated[int, Meta(ge=1, le=MAX_MATCHES, description="The most matches to return.")]


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why there is no other answer (RFC 9457)."""

    type: Annotated[str, Meta(description="The code as a URN.", examples=["urn:checkin-gate:problem:bad_field"])]
    title: Annotated[str, Meta(description="The code in words.", examples=["A field is wrong"])]
    status: Annotated[int, Meta(description="The status of the answer.", examples=[422])]
    detail: Annotated[
        str,
        Meta(
            description="What is wrong, with which field, and the remedy; nothing of the text.",
            examples=["text: is of type int; give a str"],
        ),
    ]
    code: Annotated[str, Meta(description="A stable word for programs.", examples=["bad_field"])]
    field: Annotated[
        str | None, Meta(description="The field, parameter or header that is wrong.", examples=["[3].text"])
    ] = None


class CheckInRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A document to judge: its text; or, of a file without text, the hash of its bytes."""

    document_id: Annotated[
        DocumentId, Meta(description="Id of the document, in the sender's words.", examples=["reports/2026"])
    ]
    text: Annotated[
        str | None,
        Meta(
            description="The content. At most limits.max_document_chars characters, 5000000 unless it is set.",
            examples=["The ferry to the islands leaves at nine and returns before dark."],
        ),
    ] = None
    content_sha256: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None,
        Meta(
            description="SHA-256 of the bytes of a file without text, in hexadecimal, instead of `text`: it is "
            "compared by that alone.",
            examples=["0" * 64],
        ),
    ] = None
    unreadable_reason: Annotated[
        UnreadableReason | None,
        Meta(description="With `content_sha256`: why there is no text; the verdict repeats it. Null: no_text."),
    ] = None
    version: Annotated[
        EventVersion | None, Meta(description='Version of the document; 7 and "7" are the same.', examples=["2", 7])
    ] = None
    title: Annotated[str | None, Meta(description="Title; the verdict repeats it, and the index keeps it.")] = None
    source: Annotated[
        str | None, Meta(description="System or person that sends it; the verdict repeats it, metrics count by it.")
    ] = None
    uri: Annotated[str | None, Meta(description="Path or URI, for people; nothing is read there.")] = None
    size_bytes: Annotated[
        Annotated[int, Meta(ge=0, le=2**63 - 1)] | None,
        Meta(description="Size of the document; null: that of its text."),
    ] = None
    mime_type: Annotated[
        Annotated[str, Meta(max_length=255)] | None, Meta(description="MIME type.", examples=["application/pdf"])
    ] = None
    metadata: Annotated[
        msgspec.Raw,
        Meta(
            description="Whatever the sender likes, to recognise the document by; kept up to "
            "limits.max_metadata_bytes.",
            extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
        ),
    ] = msgspec.field(default_factory=lambda: _NULL)
    checked_in_at: Annotated[
        Timestamp | None,
        Meta(
            description="When it was checked in, in RFC 3339; without a zone it is UTC. Null: now.",
            examples=["2026-05-06T07:08:09Z"],
        ),
    ] = None

    def check_in(self) -> CheckIn:
        """The value to judge."""
        return CheckIn(
            document_id=self.document_id,
            text=self.text or "",
            version=None if self.version is None else str(self.version),
            source=self.source,
            title=self.title,
            uri=self.uri,
            size_bytes=self.size_bytes,
            mime_type=self.mime_type,
            checked_in_at=self.checked_in_at,
            metadata=None if self.metadata is _NULL else self.metadata,
            content_sha256=self.content_sha256,
            unreadable_reason=self.unreadable_reason,
        )


CheckInBody = CheckInRequest | list[CheckInRequest]


def check_contents(body: object, raw: bytes) -> None:
    """Check what the types of a decoded body cannot say: each document has one content, and metadata that is an object.

    Metadata is not decoded: it would take up to 25 times its bytes. msgspec.ValidationError, UnicodeDecodeError: as
    decoding raises them."""
    requests = body if isinstance(body, list) else [body]
    for place, request in enumerate(requests):
        if not isinstance(request, CheckInRequest):
            return
        if request.text is None or request.content_sha256 is not None or request.unreadable_reason is not None:
            _check_content(request, f"$[{place}]" if isinstance(body, list) else "$")
        if request.metadata is _NULL:
            continue
        if not is_object_or_null(request.metadata):
            path = f"$[{place}].metadata" if isinstance(body, list) else "$.metadata"
            raise msgspec.ValidationError(f"Expected `object | null` - at `{path}`")
        if not raw.isascii():
            raw.decode()
            raw = b""  # the rest of it is UTF-8 too


def _check_content(request: CheckInRequest, path: str) -> None:
    if request.text is None and request.content_sha256 is None:
        raise msgspec.ValidationError(f"Object missing required field `text` - at `{path}`")
    if request.text is not None and request.content_sha256 is not None:
        raise msgspec.ValidationError(f"Expected null where there is a text - at `{path}.content_sha256`")
    if request.content_sha256 is None:
        raise msgspec.ValidationError(f"Expected null without a content_sha256 - at `{path}.unreadable_reason`")


# The same for readers of the schema; a null counts as a field that is not there.
ONE_CONTENT: dict[str, Any] = {
    "oneOf": [
        {
            "required": ["text"],
            "properties": {
                "text": {"type": "string"},
                "content_sha256": {"type": "null"},
                "unreadable_reason": {"type": "null"},
            },
        },
        {
            "required": ["content_sha256"],
            "properties": {"content_sha256": {"type": "string"}, "text": {"type": "null"}},
        },
    ]
}


class CheckInResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one document of a list: its verdict, or the problem why it has none."""

    verdict: VerdictEvent | None = None
    problem: Problem | None = None


class CheckInResults(msgspec.Struct, frozen=True, kw_only=True):
    """One result for each document of a list, in its order."""

    results: list[CheckInResult]


class SimilarRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A text to find known documents for that are like it."""

    text: Annotated[str, Meta(description="The text, whether it was checked in or not.")]
    threshold: Threshold | UnsetType = UNSET
    limit: MatchLimit = 100


class SimilarQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much alike, and how many."""

    threshold: Threshold | UnsetType = UNSET
    limit: MatchLimit = 100


class FingerprintQuery(SimilarQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fingerprint to find known documents for."""

    fingerprint: Annotated[
        str,
        Meta(
            pattern="^[0-9a-fA-F]{16}$",
            description="16 hexadecimal digits, as a verdict shows them.",
            examples=["0123456789abcdef"],
        ),
    ]


class DeletedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document is not known any more."""

    document_id: str
    deleted: Annotated[bool, Meta(description="Whether it was known; a repeated delete is no error.")]


class IndexStats(msgspec.Struct, frozen=True, kw_only=True):
    """What the index holds."""

    profile: Annotated[str, Meta(description="Name and version of the profile.", examples=["standard@1"])]
    index: Annotated[str, Meta(description="`memory`, `sqlite` or `redis`.", examples=["redis"])]
    age_seconds: Annotated[float, Meta(description="How long ago it was counted.")]
    counts: Annotated[
        dict[str, int],
        Meta(description="Documents, entries, postings and so on, and bytes by part.", examples=[{"documents": 46}]),
    ]


class ProfileSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A profile and its parameters."""

    ref: Annotated[str, Meta(description="Name and version.", examples=["standard@1"])]
    in_force: Annotated[bool, Meta(description="Whether this service judges by it.")]
    parameters: Annotated[dict[str, Any], Meta(description="As they would be written in a TOML file.")]


class Profiles(msgspec.Struct, frozen=True, kw_only=True):
    """The profile in force, and the built-in ones."""

    profiles: list[ProfileSummary]


class PlanQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile and a size."""

    documents: Annotated[int, Meta(ge=0, le=10**12, description="So many documents in the index.")] = 1_000_000
    profile: Annotated[str, Meta(description="Name of a built-in profile. Default: the one in force.")] | UnsetType = (
        UNSET
    )


class RecallPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The chance that a pair of this resemblance is found."""

    resemblance: Annotated[float, Meta(examples=[RESEMBLANCES[-3]])]
    found: float


class ProfilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a profile costs and finds at a size, by arithmetic."""

    profile: str
    documents: int
    probes: Annotated[int, Meta(description="Buckets read for each look-up.")]
    postings: Annotated[int, Meta(description="Buckets that hold a stored document.")]
    bucket_size: Annotated[float, Meta(description="Postings in a bucket, if all are used alike.")]
    expected_candidates: Annotated[float, Meta(description="Unrelated documents compared for each look-up.")]
    bytes_per_document: Annotated[dict[str, int], Meta(description="By part, without a backend's overhead.")]
    total_bytes: int
    radius: Annotated[int | None, Meta(description="Fingerprints within so many bits are found for certain.")]
    recall: list[RecallPoint]


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether this process can judge."""

    ready: bool
    reasons: Annotated[dict[str, str], Meta(description="Why not, by part.")]


class LivenessReport(msgspec.Struct, frozen=True, kw_only=True):
    """This process answers."""

    alive: bool
