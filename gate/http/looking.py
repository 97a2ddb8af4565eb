"""Operations that find what is like something. They change nothing."""

from __future__ import annotations

from msgspec import UNSET

from gate.http.calls import Call, ServiceParts
from gate.http.messages import FingerprintQuery, SimilarDocuments, SimilarQuery, SimilarRequest


class Looking:
    """Similar documents."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def similar_to_text(self, call: Call) -> SimilarDocuments:
        request: SimilarRequest = call.body
        return await self._similar(request, text=request.text)

    async def similar_to_fingerprint(self, call: Call) -> SimilarDocuments:
        query: FingerprintQuery = call.query
        return await self._similar(query, fingerprint=query.fingerprint)

    async def similar_to_document(self, call: Call) -> SimilarDocuments:
        return await self._similar(call.query, document_id=call.document_id)

    async def _similar(self, asked: SimilarQuery | SimilarRequest, **what: str) -> SimilarDocuments:
        threshold = None if asked.threshold is UNSET else asked.threshold
        found = await self._parts.gate().find_similar(
            text=what.get("text"),
            document_id=what.get("document_id"),
            fingerprint=what.get("fingerprint"),
            threshold=threshold,
            limit=asked.limit,
        )
        return SimilarDocuments(matches=found)
