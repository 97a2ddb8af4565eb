"""Operations about known documents."""

from __future__ import annotations

from functools import partial

from gate.core.document_details import decode_details
from gate.core.explanation import reasons
from gate.errors import UnknownDocument
from gate.http.calls import Call, ServiceParts
from gate.http.document_messages import DocumentContent, DocumentReport, DocumentVerdicts
from gate.http.messages import DeletedDocument
from gate.index.tools.stored_documents import read_contents


class DocumentViews:
    """What is known of documents."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def document(self, call: Call) -> DocumentReport:
        document_id, gate = call.document_id, self._parts.gate()
        contents = await gate.with_store(partial(read_contents, document_id=document_id))
        if not contents:
            raise UnknownDocument(document_id)
        [verdicts] = await gate.explain([document_id])
        by_content = {verdict.content_id: verdict for verdict in verdicts}
        report = []
        for held in contents:
            verdict = by_content.get(held.content.hex())
            report.append(
                DocumentContent(
                    version=held.version,
                    content_id=held.content.hex(),
                    details=decode_details(held.details),
                    has_text=False,
                    verdict=verdict,
                    reasons=reasons(verdict, self._parts.profile) if verdict else [],
                )
            )
        latest = verdicts[-1].group if verdicts else document_id
        return DocumentReport(document_id=document_id, group=latest, contents=report)

    async def verdict(self, call: Call) -> DocumentVerdicts:
        document_id = call.document_id
        [verdicts] = await self._parts.gate().explain([document_id])
        if not verdicts:
            raise UnknownDocument(document_id)
        return DocumentVerdicts(
            document_id=document_id,
            verdicts=verdicts,
            reasons=[reasons(verdict, self._parts.profile) for verdict in verdicts],
        )

    async def delete(self, call: Call) -> DeletedDocument:
        document_id = call.document_id
        [deleted] = await self._parts.gate().delete([document_id])
        self._parts.catalogue.remove(document_id)
        return DeletedDocument(document_id=document_id, deleted=deleted)
