"""Operations that compare texts and find what is like something. They change nothing."""

from __future__ import annotations

from msgspec import UNSET

from gate.core.compare import Comparison, compare
from gate.errors import BadDocument
from gate.http.calls import Call, ServiceParts
from gate.http.messages import CompareRequest, FingerprintQuery, SimilarDocuments, SimilarQuery, SimilarRequest
from gate.http.problems import RequestError
from gate.model import CheckIn
from gate.pipeline import validate_document


class Looking:
    """Comparisons, and similar documents."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def compare(self, call: Call) -> Comparison:
        request: CompareRequest = call.body
        chars, most = len(request.left) + len(request.right), self._parts.settings.max_compare_chars
        if chars > most:
            raise RequestError(
                "too_large", f"the texts have {chars} characters together, over api_max_compare_chars = {most}"
            )
        for side in ("left", "right"):
            self._require_text(side, getattr(request, side))
        [comparison] = await self._parts.in_thread(
            lambda: compare(
                [(request.left, request.right)],
                self._parts.profile,
                secret=self._parts.secret,
                max_features=self._parts.limits.max_features,
                show_passages=request.passages,
            )
        )
        return comparison

    def _require_text(self, name: str, text: str) -> None:
        try:
            validate_document(CheckIn(document_id="?", text=text), self._parts.limits)
        except BadDocument as exc:
            detail = str(exc).replace("text:", f"{name}:", 1)
            raise RequestError(exc.code, detail, field=name) from exc

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
