"""Operations about the index and the profiles as a whole."""

from __future__ import annotations

import asyncio
import time

import msgspec

from gate.core.builtin_profiles import BUILT_IN
from gate.core.plan import plan as planned
from gate.http.calls import Call, ServiceParts
from gate.http.messages import IndexStats, PlanQuery, ProfilePlan, Profiles, ProfileSummary, RecallPoint
from gate.http.problems import RequestError

STATS_SECONDS = 10.0  # an answer about the whole index is kept for so long
STATS_SHARE = 0.05  # of the time, at most, that may go into counting


class IndexViews:
    """What the index holds, and what profiles are and cost."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._stats: IndexStats | None = None
        self._counted_at = 0.0
        self._counted_in = 0.0
        self._counting: asyncio.Task[IndexStats] | None = None

    async def stats(self, call: Call) -> IndexStats:
        """Counted at most once in STATS_SECONDS, however many ask; those that ask meanwhile share the answer."""
        self._recount()
        if self._counting is not None:
            return await asyncio.shield(self._counting)
        latest = self.latest()
        assert latest is not None  # noqa: S101 - otherwise it is being counted
        return latest

    def latest(self) -> IndexStats | None:
        """The latest counts; None: there are none yet. A new count is begun where they are old."""
        self._recount()
        if self._stats is None:
            return None
        return msgspec.structs.replace(self._stats, age_seconds=round(time.monotonic() - self._counted_at, 3))

    def _recount(self) -> None:
        age, least = time.monotonic() - self._counted_at, max(STATS_SECONDS, self._counted_in / STATS_SHARE)
        if self._counting is None and (self._stats is None or age > least):
            self._counting = asyncio.create_task(self._count())
            self._counting.add_done_callback(self._counted)

    async def close(self) -> None:
        """Wait for the count in progress."""
        if self._counting is not None:
            await asyncio.wait({self._counting})

    async def _count(self) -> IndexStats:
        begun_at = time.monotonic()
        counts = await self._parts.gate().info()
        self._counted_in = time.monotonic() - begun_at
        return IndexStats(profile=self._parts.profile.ref, index=self._parts.index_kind, age_seconds=0.0, counts=counts)

    def _counted(self, counting: asyncio.Task[IndexStats]) -> None:
        self._counting = None
        if not counting.cancelled() and counting.exception() is None:
            self._stats, self._counted_at = counting.result(), time.monotonic()

    async def profiles(self, call: Call) -> Profiles:
        own = self._parts.profile
        others = [profile for profile in BUILT_IN.values() if profile.name != own.name]
        return Profiles(
            profiles=[
                ProfileSummary(ref=profile.ref, in_force=profile is own, parameters=profile.parameters())
                for profile in (own, *others)
            ]
        )

    async def plan(self, call: Call) -> ProfilePlan:
        query: PlanQuery = call.query
        profile = self._parts.profile
        if isinstance(query.profile, str) and query.profile != profile.name:
            if query.profile not in BUILT_IN:
                known = ", ".join(BUILT_IN)
                raise RequestError("bad_parameter", f"profile: is not known; give one of {known}", field="profile")
            profile = BUILT_IN[query.profile]
        expected = planned(profile, query.documents)
        return ProfilePlan(
            profile=expected.profile,
            documents=expected.documents,
            probes=expected.probes,
            postings=expected.postings,
            bucket_size=expected.bucket_size,
            expected_candidates=expected.expected_candidates,
            bytes_per_document=expected.bytes_per_document,
            total_bytes=expected.total_bytes,
            radius=expected.radius,
            recall=[RecallPoint(resemblance=alike, found=found) for alike, found in expected.recall],
        )
