"""Operations about what this process does: the session of a client, an overview, and the feed of verdicts."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from gate.http.activity import INTERVAL_SECONDS, PastOutage, Point, moment
from gate.http.activity_messages import (
    FamilySize,
    FeedQuery,
    GivenVerdict,
    OutageReport,
    Overview,
    OverviewQuery,
    Session,
    VerdictCounts,
    VerdictPage,
    VerdictsAt,
)
from gate.http.calls import Call, ServiceParts
from gate.http.index_views import IndexViews
from gate.http.tokens import SCOPES
from gate.metrics import installed_version

MAX_FAMILIES = 10  # that an overview names


class ActivityViews:
    """What this process does."""

    def __init__(self, parts: ServiceParts, index: IndexViews) -> None:
        self._parts = parts
        self._index = index

    async def session(self, call: Call) -> Session:
        parts, token = self._parts, call.token
        return Session(
            token=token.name if token else None,
            scopes=[scope for scope in SCOPES if token is None or scope in token.scopes],
            profile=parts.profile.ref,
            index=parts.index_kind,
            version=installed_version(),
            keep_text=False,
            dead_letters=False,
            files=True,
            max_body_bytes=parts.settings.max_body_bytes,
            max_compare_chars=parts.settings.max_compare_chars,
            max_document_chars=parts.limits.max_document_chars,
            processes=parts.processes,
            demo=parts.demo,
        )

    async def overview(self, call: Call) -> Overview:
        query: OverviewQuery = call.query
        parts, activity = self._parts, self._parts.activity
        points = activity.points(query.minutes)
        window = Point()
        for _, point in points:
            window.add(point)
        stats, reasons = self._index.latest(), dict(parts.not_ready())
        catalogue = parts.catalogue.latest()
        return Overview(
            at=moment(activity.now()),
            started_at=moment(activity.started_at),
            interval_seconds=INTERVAL_SECONDS,
            profile=parts.profile.ref,
            index=parts.index_kind,
            ready=not reasons,
            reasons=reasons,
            totals=_counts(activity.totals),
            window=_counts(window),
            points=[_point(at, point) for at, point in points],
            families=[
                FamilySize(group=group, title=catalogue.title(group), members=members)
                for group, members in catalogue.largest(MAX_FAMILIES)
            ],
            families_complete=parts.catalogue.is_complete,
            index_counts=stats.counts if stats else None,
            index_age_seconds=stats.age_seconds if stats else None,
            outages=[_outage(outage) for outage in activity.outages],
        )

    async def feed(self, call: Call) -> VerdictPage:
        query: FeedQuery = call.query
        feed = self._parts.activity.feed
        after = None if query.after is UNSET else query.after
        before = None if query.before is UNSET else query.before
        page = feed.page(after=after, before=before, accept=query.accepts, limit=query.limit)
        return VerdictPage(
            verdicts=[
                GivenVerdict(
                    seq=entry.seq,
                    judged_at=moment(entry.judged_at),
                    seconds=round(entry.seconds, 6),
                    verdict=entry.verdict,
                )
                for entry in page.entries
            ],
            newest=page.entries[0].seq if after is not None and len(page.entries) == query.limit else feed.newest,
            oldest=feed.oldest,
            missed=page.missed,
            process=self._parts.process,
            sources=feed.values(lambda verdict: verdict.source),
            profiles=feed.values(lambda verdict: verdict.profile),
        )


def _point(at: float, point: Point) -> VerdictsAt:
    return VerdictsAt(at=moment(at), **_fields(point))


def _counts(point: Point) -> VerdictCounts:
    return VerdictCounts(**_fields(point))


def _fields(point: Point) -> dict[str, Any]:
    return {
        "verdicts": point.verdicts,
        "similar": point.similar,
        "relations": dict(point.relations),
        "degraded": point.degraded,
        "refused": point.refused,
        "p50_seconds": point.quantile(0.5),
        "p95_seconds": point.quantile(0.95),
        "p99_seconds": point.quantile(0.99),
    }


def _outage(outage: PastOutage) -> OutageReport:
    return OutageReport(
        dependency=outage.dependency,
        reason=outage.reason,
        began_at=moment(outage.began_at),
        ended_at=None if outage.ended_at is None else moment(outage.ended_at),
    )
