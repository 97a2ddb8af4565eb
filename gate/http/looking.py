"""Operations that find what is like something. They change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import UNSET

from gate.core.method_parameters import Fingerprinted
from gate.core.method_registry import method_of
from gate.core.profile import FINGERPRINT_BITS, Profile
from gate.core.text import normalise
from gate.http.calls import Call, ServiceParts
from gate.http.document_messages import SimilarDocument, SimilarDocuments, detail_values, match_values
from gate.http.messages import FingerprintQuery, SimilarQuery, SimilarRequest
from gate.index.tools.stored_documents import read_stored
from gate.model import Match

_BATCH = 256  # documents that are read at once: a look-up of another request comes in between


class Looking:
    """Similar documents."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._method = method_of(parts.profile, parts.secret)

    async def similar_to_text(self, call: Call) -> SimilarDocuments:
        request: SimilarRequest = call.body
        found = await self._similar(request, text=request.text)
        fingerprint = await self._parts.in_thread(partial(self._fingerprint_of, request.text))
        return msgspec.structs.replace(found, fingerprint=fingerprint)

    async def similar_to_fingerprint(self, call: Call) -> SimilarDocuments:
        query: FingerprintQuery = call.query
        found = await self._similar(query, fingerprint=query.fingerprint)
        return msgspec.structs.replace(found, fingerprint=query.fingerprint.lower())

    async def similar_to_document(self, call: Call) -> SimilarDocuments:
        document_id = call.document_id
        found = await self._similar(call.query, document_id=document_id)
        [stored] = await self._parts.gate().with_store(partial(read_stored, document_ids=[document_id]))
        return found if stored is None else msgspec.structs.replace(found, fingerprint=self._fingerprint(stored.body))

    async def _similar(self, asked: SimilarQuery | SimilarRequest, **what: str) -> SimilarDocuments:
        threshold = None if asked.threshold is UNSET else asked.threshold
        looked_up = await self._parts.gate().look_up(
            text=what.get("text"),
            document_id=what.get("document_id"),
            fingerprint=what.get("fingerprint"),
            threshold=threshold,
            limit=asked.limit,
        )
        matches = looked_up.matches
        rows = [
            row for first in range(0, len(matches), _BATCH) for row in await self._rows(matches[first : first + _BATCH])
        ]
        return SimilarDocuments(
            matches=rows,
            fingerprint=None,
            threshold=threshold_of(self._parts.profile) if threshold is None else threshold,
            scanned=looked_up.scanned,
            complete=looked_up.complete,
            degraded=looked_up.degraded,
        )

    async def _rows(self, matches: Sequence[Match]) -> list[SimilarDocument]:
        """Matches with what people recognise the documents by; without those that were deleted meanwhile."""
        ids = [match.document_id for match in matches]
        stored = await self._parts.gate().with_store(partial(read_stored, document_ids=ids))
        return [
            SimilarDocument(
                **match_values(match),
                **detail_values(document.details),
                fingerprint=self._fingerprint(document.body),
                group=document.group,
                has_text=False,
            )
            for match, document in zip(matches, stored, strict=True)
            if document is not None
        ]

    def _fingerprint_of(self, text: str) -> str | None:
        return self._fingerprint(self._method.sign(normalise([text])).bodies[0])

    def _fingerprint(self, body: bytes) -> str | None:
        fingerprint = self._method.fingerprint(body)
        return None if fingerprint is None else f"{fingerprint:016x}"


def threshold_of(profile: Profile) -> float | None:
    """That of a profile, as a request would give it."""
    for name in ("resemblance", "containment"):
        value: float | None = getattr(profile, name)
        if value is not None and name not in profile.method.unused:
            return value
    if isinstance(profile.method, Fingerprinted):
        return 1.0 - profile.method.radius / FINGERPRINT_BITS
    return None
