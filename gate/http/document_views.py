"""Operations about known documents."""

from __future__ import annotations

from gate.errors import UnknownDocument
from gate.http.calls import Call, ServiceParts
from gate.http.messages import DeletedDocument, DocumentVerdicts


class DocumentViews:
    """What is known of documents."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def verdict(self, call: Call) -> DocumentVerdicts:
        document_id = call.document_id
        [verdicts] = await self._parts.gate().explain([document_id])
        if not verdicts:
            raise UnknownDocument(document_id)
        return DocumentVerdicts(document_id=document_id, verdicts=verdicts)

    async def delete(self, call: Call) -> DeletedDocument:
        document_id = call.document_id
        [deleted] = await self._parts.gate().delete([document_id])
        return DeletedDocument(document_id=document_id, deleted=deleted)
