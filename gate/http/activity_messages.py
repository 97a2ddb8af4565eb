"""Answers about what a process does: its session with a client, its recent activity, and the verdicts it gave."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gate.http.activity import MINUTES
from gate.model import Relation, Verdict

PageLimit = Annotated[int, Meta(ge=1, le=200, description="The most rows to return.")]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What a client of this service may do, and what the service can."""

    token: Annotated[str | None, Meta(description="Name of the token; null: the service needs none.")]
    scopes: Annotated[list[str], Meta(examples=[["read", "write"]])]
    profile: Annotated[str, Meta(description="Name and version of the profile.", examples=["standard@1"])]
    index: Annotated[str, Meta(description="`memory`, `sqlite` or `redis`.", examples=["redis"])]
    version: Annotated[str, Meta(description="Version of the gate.", examples=["0.1.0"])]
    keep_text: Annotated[bool, Meta(description="Whether texts of documents are kept to be shown.")]
    dead_letters: Annotated[bool, Meta(description="Whether dead letters of a topic can be listed.")]
    files: Annotated[bool, Meta(description="Whether files can be uploaded, in every format that is read.")]
    max_body_bytes: int
    max_compare_chars: int
    max_document_chars: int
    processes: Annotated[int, Meta(description="Processes that answer on this port; each has an activity of its own.")]
    demo: bool


class OverviewQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which time."""

    minutes: Annotated[int, Meta(ge=1, le=MINUTES, description="The last so many minutes.")] = MINUTES


class VerdictCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts of a time, by relation, and how long they took."""

    verdicts: int
    similar: Annotated[int, Meta(description="Documents that did not pass.")]
    relations: dict[Relation, int]
    degraded: Annotated[int, Meta(description="Verdicts that hit a limit.")]
    refused: Annotated[int, Meta(description="Documents that could not be judged.")]
    p50_seconds: Annotated[float | None, Meta(description="Half of the verdicts took no longer.")]
    p95_seconds: float | None
    p99_seconds: float | None


class VerdictsAt(VerdictCounts, frozen=True, kw_only=True):
    """Verdicts of one interval."""

    at: Annotated[datetime, Meta(description="When the interval begins.")]


class OutageReport(msgspec.Struct, frozen=True, kw_only=True):
    """A time for which a dependency did not answer."""

    dependency: Annotated[str, Meta(examples=["index"])]
    reason: str
    began_at: datetime
    ended_at: Annotated[datetime | None, Meta(description="Null: it lasts.")]


class FamilySize(msgspec.Struct, frozen=True, kw_only=True):
    """A document and how many are in its family."""

    group: Annotated[str, Meta(description="Id of the original.", examples=["reports/2025"])]
    title: str | None
    members: Annotated[int, Meta(description="With the original.")]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What this process does: live, of the last minutes and since it started."""

    at: datetime
    started_at: datetime
    interval_seconds: int
    profile: str
    index: str
    ready: bool
    reasons: Annotated[dict[str, str], Meta(description="Why it is not ready, by part.")]
    totals: Annotated[VerdictCounts, Meta(description="Since it started.")]
    window: Annotated[VerdictCounts, Meta(description="Of the minutes asked for.")]
    points: Annotated[list[VerdictsAt], Meta(description="Oldest first; the last interval is not over.")]
    families: Annotated[list[FamilySize], Meta(description="The largest ones of the catalogue.")]
    families_complete: Annotated[bool, Meta(description="Whether the catalogue holds every document.")]
    index_counts: Annotated[dict[str, int] | None, Meta(description="As in `/v1/stats`; null: not counted yet.")]
    index_age_seconds: float | None
    outages: Annotated[list[OutageReport], Meta(description="Newest first.")]


class FeedQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which verdicts."""

    after: Annotated[int, Meta(ge=0, description="Those that came after this number.")] | UnsetType = UNSET
    before: Annotated[int, Meta(ge=1, description="Those before this number.")] | UnsetType = UNSET
    relation: Relation | UnsetType = UNSET
    source: Annotated[str, Meta(description="Of this sender.")] | UnsetType = UNSET
    profile: str | UnsetType = UNSET
    degraded: Annotated[bool, Meta(description="Those that hit a limit, or those that did not.")] | UnsetType = UNSET
    similar: bool | UnsetType = UNSET
    limit: PageLimit = 50

    def accepts(self, verdict: Verdict) -> bool:
        return (
            self.relation in (UNSET, verdict.relation)
            and self.source in (UNSET, verdict.source)
            and self.profile in (UNSET, verdict.profile)
            and self.degraded in (UNSET, bool(verdict.degraded))
            and self.similar in (UNSET, verdict.similar)
        )


class GivenVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and when and how fast it was given."""

    seq: Annotated[int, Meta(description="Rises with each verdict of the process.")]
    judged_at: datetime
    seconds: Annotated[float | None, Meta(description="From the arrival of the document.")]
    verdict: Annotated[Verdict, Meta(description="With its best matches only.")]


class VerdictPage(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts that this process gave lately, newest first."""

    verdicts: list[GivenVerdict]
    newest: Annotated[int, Meta(description="Ask with this as `after` for what comes next.")]
    oldest: Annotated[int, Meta(description="The lowest number that is still kept.")]
    missed: Annotated[int, Meta(description="Verdicts after the number asked for that are no longer kept.")]
    process: Annotated[str, Meta(description="Another one, after a restart: its numbers begin at 1.")]
    sources: Annotated[list[str], Meta(description="Of the verdicts that are kept.")]
    profiles: Annotated[list[str], Meta(description="Of the verdicts that are kept.")]
