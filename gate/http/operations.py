"""What the service can be asked: one row for each operation. Its routes and its OpenAPI document are made from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from gate.http.activity_messages import FeedQuery, Overview, OverviewQuery, Session, VerdictPage
from gate.http.catalogue_messages import (
    DocumentList,
    DocumentsQuery,
    FamilyReport,
    GroupQuery,
    PairSample,
    PairsQuery,
)
from gate.http.compare_messages import CompareRequest, ComparisonReport
from gate.http.document_messages import DocumentReport, DocumentVerdicts, SimilarDocuments
from gate.http.file_messages import FileTexts
from gate.http.messages import (
    CheckInBody,
    CheckInResults,
    DeletedDocument,
    FingerprintQuery,
    HealthReport,
    IndexStats,
    LivenessReport,
    PlanQuery,
    ProfilePlan,
    Profiles,
    SimilarQuery,
    SimilarRequest,
)
from gate.http.tokens import Scope
from gate.wire import VerdictEvent

Method = Literal["GET", "POST", "DELETE"]
Tag = Literal["Judge", "Look", "Documents", "Activity", "Index", "Operate"]

JUDGING = ("unavailable",)
BY_ID = ("bad_path", "unavailable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. `name` is its id in OpenAPI, and the name of the method that carries it out."""

    name: str
    method: Method
    path: str
    tag: Tag
    summary: str
    description: str = ""
    scope: Scope | None = "read"  # None: without a token
    query: Any = None
    body: Any = None
    form: bool = False  # takes files in a form, in the place of its body
    answers: tuple[Any, ...] = ()  # one of these; empty: not JSON
    problems: tuple[str, ...] = ()  # beside those that any request of its kind may get
    media_type: str = "application/json"
    unready: bool = field(default=False)  # its answer comes with 503 where the process is not ready


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="check_in",
        method="POST",
        path="/v1/check-ins",
        tag="Judge",
        scope="write",
        summary="Judge documents and let the new ones in.",
        description="One document gets its verdict. A list gets a list of results in its order; one that cannot be "
        "judged gets a problem there, and the others their verdicts. The documents of a list are judged in its order, "
        "and compared with each other too. The same document and content sent again get the same verdict, so a request "
        "without an answer is sent again. A form with files does the same with what is in them; a file without text "
        "is compared by its bytes, and the verdict says why.",
        body=CheckInBody,
        form=True,
        answers=(VerdictEvent, CheckInResults),
        problems=JUDGING,
    ),
    Operation(
        name="preview",
        method="POST",
        path="/v1/previews",
        tag="Judge",
        summary="Judge documents against the index, each by itself, and leave no trace.",
        body=CheckInBody,
        form=True,
        answers=(VerdictEvent, CheckInResults),
        problems=JUDGING,
    ),
    Operation(
        name="texts",
        method="POST",
        path="/v1/texts",
        tag="Look",
        summary="Read the texts of files.",
        description="To compare them, or to find what is like them. Nothing is kept.",
        form=True,
        answers=(FileTexts,),
    ),
    Operation(
        name="compare",
        method="POST",
        path="/v1/compare",
        tag="Look",
        summary="Compare two texts or known documents: how alike they are, and where.",
        description="Exact measures and passages need both texts; known documents are compared by their signatures.",
        body=CompareRequest,
        answers=(ComparisonReport,),
        problems=("unknown_document", "unavailable"),
    ),
    Operation(
        name="similar_to_text",
        method="POST",
        path="/v1/similar",
        tag="Look",
        summary="Find known documents that are like a text.",
        body=SimilarRequest,
        answers=(SimilarDocuments,),
        problems=("unavailable",),
    ),
    Operation(
        name="similar_to_fingerprint",
        method="GET",
        path="/v1/similar",
        tag="Look",
        summary="Find known documents by a fingerprint.",
        query=FingerprintQuery,
        answers=(SimilarDocuments,),
        problems=("not_supported", "unavailable"),
    ),
    Operation(
        name="similar_to_document",
        method="GET",
        path="/v1/documents/{document_id}/similar",
        tag="Documents",
        summary="Find known documents that are like a known one.",
        query=SimilarQuery,
        answers=(SimilarDocuments,),
        problems=("unknown_document", *BY_ID),
    ),
    Operation(
        name="documents",
        method="GET",
        path="/v1/documents",
        tag="Documents",
        summary="Search and list known documents.",
        description="By the beginning of an id, words of a title, the relation of the verdict, and the family; in the "
        "order of the ids, a page at a time.",
        query=DocumentsQuery,
        answers=(DocumentList,),
        problems=("unavailable",),
    ),
    Operation(
        name="group",
        method="GET",
        path="/v1/groups/{group}",
        tag="Documents",
        summary="The family of a document: its original, and all that are like it.",
        query=GroupQuery,
        answers=(FamilyReport,),
        problems=("unknown_document", *BY_ID),
    ),
    Operation(
        name="pairs",
        method="GET",
        path="/v1/pairs",
        tag="Look",
        summary="Try a threshold: the pairs that it finds among a sample of known documents.",
        description="A lower threshold than the profile's finds what the index brings together; ask once with a "
        "low one and count the pairs above another.",
        query=PairsQuery,
        answers=(PairSample,),
        problems=("unavailable",),
    ),
    Operation(
        name="document",
        method="GET",
        path="/v1/documents/{document_id}",
        tag="Documents",
        summary="All that is known of a document.",
        answers=(DocumentReport,),
        problems=("unknown_document", *BY_ID),
    ),
    Operation(
        name="verdict",
        method="GET",
        path="/v1/documents/{document_id}/verdict",
        tag="Documents",
        summary="The verdicts that a document was given.",
        description="Matches that were deleted since are no longer named. `features` is null: the index keeps "
        "signatures only.",
        answers=(DocumentVerdicts,),
        problems=("unknown_document", *BY_ID),
    ),
    Operation(
        name="delete",
        method="DELETE",
        path="/v1/documents/{document_id}",
        tag="Documents",
        scope="delete",
        summary="Delete a document and all that is stored of it.",
        description="Documents that were refused as its duplicates may come in then.",
        answers=(DeletedDocument,),
        problems=BY_ID,
    ),
    Operation(
        name="overview",
        method="GET",
        path="/v1/overview",
        tag="Activity",
        summary="What this process does: live, and in the last minutes.",
        description="Verdicts by relation and their latencies in intervals, the largest families, the size of the "
        "index, and outages. Kept in memory, and counted anew when the process is restarted.",
        query=OverviewQuery,
        answers=(Overview,),
    ),
    Operation(
        name="feed",
        method="GET",
        path="/v1/feed",
        tag="Activity",
        summary="The latest verdicts that this process gave.",
        description="Without `after` and `before` the newest. What came since is asked for with the last `newest` as "
        "`after`; what was before, with the lowest `seq` as `before`.",
        query=FeedQuery,
        answers=(VerdictPage,),
    ),
    Operation(
        name="session",
        method="GET",
        path="/v1/session",
        tag="Activity",
        summary="What this client may do, and what the service can.",
        answers=(Session,),
    ),
    Operation(
        name="stats",
        method="GET",
        path="/v1/stats",
        tag="Index",
        summary="What the index holds.",
        description="Counting reads the whole index: an answer may be some seconds old.",
        answers=(IndexStats,),
        problems=("unavailable",),
    ),
    Operation(
        name="profiles",
        method="GET",
        path="/v1/profiles",
        tag="Index",
        summary="The profile in force, and the built-in ones.",
        answers=(Profiles,),
    ),
    Operation(
        name="plan",
        method="GET",
        path="/v1/plan",
        tag="Index",
        summary="What a profile costs and finds at a size.",
        query=PlanQuery,
        answers=(ProfilePlan,),
    ),
    Operation(
        name="healthz",
        method="GET",
        path="/healthz",
        tag="Operate",
        scope=None,
        summary="Whether the process answers.",
        answers=(LivenessReport,),
    ),
    Operation(
        name="readyz",
        method="GET",
        path="/readyz",
        tag="Operate",
        scope=None,
        summary="Whether it can judge; if not, why.",
        answers=(HealthReport,),
        unready=True,
    ),
    Operation(
        name="metrics",
        method="GET",
        path="/metrics",
        tag="Operate",
        summary="Metrics, for Prometheus.",
        media_type="text/plain",
    ),
    Operation(
        name="openapi",
        method="GET",
        path="/openapi.json",
        tag="Operate",
        scope=None,
        summary="The OpenAPI document of the service.",
        answers=(dict[str, Any],),
    ),
)
