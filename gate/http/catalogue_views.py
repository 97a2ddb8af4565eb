"""Operations about many documents: search and list them, show a family, and try a threshold on a sample of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import UNSET

from gate.core.compare import Comparison, compare_signatures
from gate.core.explanation import reasons
from gate.core.judge import bit_agreement
from gate.core.method_registry import method_of
from gate.core.stored_verdict import Answer, decode_answer
from gate.errors import UnknownDocument
from gate.http.calls import Call, ServiceParts
from gate.http.catalogue import CatalogueSearch
from gate.http.catalogue_messages import (
    DocumentList,
    DocumentRow,
    DocumentsQuery,
    FamilyMember,
    FamilyReport,
    GroupQuery,
    PairSample,
    PairsQuery,
    StoredPair,
)
from gate.http.document_messages import detail_values
from gate.http.looking import threshold_of
from gate.index.tools.stored_documents import StoredDocument, read_stored
from gate.model import Match, Verdict

MAX_MEMBERS = 1000  # of one family that are shown
MAX_PAIRS = 2000  # of one answer
PAIRS_SHARE = 0.25  # of the time that a request may take
_BATCH = 256  # documents that are read at once: a look-up of another request comes in between
_LONG_AGO = datetime.fromtimestamp(0, UTC)


class CatalogueViews:
    """Pages of documents, families, and pairs."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._method = method_of(parts.profile, parts.secret)

    async def documents(self, call: Call) -> DocumentList:
        query: DocumentsQuery = call.query
        live = self._parts.catalogue
        catalogue = await live.read()
        ordered = await catalogue.ordered_by(self._parts.in_thread)
        found = await self._parts.in_thread(partial(_search(query).select, ordered))
        after = None if query.after is UNSET else query.after
        first = 0 if after is None else next((i for i, row in enumerate(found) if row.document_id > after), len(found))
        page = found[first : first + query.limit]
        ids = [row.document_id for row in page]
        matching = len(found)
        if not live.is_complete and after is None and query.q and query.q not in ids and _is_only_text(query):
            ids, matching = [query.q, *ids], matching + 1  # a document that the catalogue does not hold
        rows = [self._row(stored) for stored in await self._stored(ids) if stored is not None]
        is_last = first + len(page) >= len(found)
        return DocumentList(
            documents=rows,
            next=None if is_last else page[-1].document_id,
            matching=matching if len(rows) == len(ids) else matching - (len(ids) - len(rows)),
            known=len(catalogue),
            complete=live.is_complete,
            age_seconds=live.age_seconds,
        )

    async def group(self, call: Call) -> FamilyReport:
        asked = call.segment("group")
        [stored] = await self._stored([asked])
        if stored is None:
            raise UnknownDocument(asked)
        query: GroupQuery = call.query
        catalogue = await self._parts.catalogue.read()
        others = catalogue.family(stored.group)
        ids = list(dict.fromkeys([stored.group, asked, *others]))[:MAX_MEMBERS]
        known = [one for one in await self._stored(ids) if one is not None and one.group == stored.group]
        if not known:  # deleted meanwhile
            raise UnknownDocument(asked)
        known.sort(key=lambda one: (one.document_id != stored.group, _checked_in_at(one), one.document_id))
        page = known[query.offset : query.offset + query.limit]
        verdicts = await self._parts.gate().explain([one.document_id for one in page])
        return FamilyReport(
            group=stored.group,
            members=await self._parts.in_thread(partial(self._members, page, known[0], verdicts)),
            total=len(known),
            complete=self._parts.catalogue.is_complete and len(others) < MAX_MEMBERS,
        )

    async def pairs(self, call: Call) -> PairSample:
        query: PairsQuery = call.query
        threshold = None if query.threshold is UNSET else query.threshold
        catalogue = await self._parts.catalogue.read()
        rows = await catalogue.ordered_by(self._parts.in_thread)
        step = max(1, len(rows) // query.sample)
        sample = [row.document_id for row in rows[::step]][: query.sample]
        found: dict[tuple[str, str], Match] = {}
        sampled, until = 0, time.monotonic() + PAIRS_SHARE * self._parts.settings.answer_seconds
        for document_id in sample:
            if len(found) >= MAX_PAIRS or time.monotonic() > until:
                break
            sampled += 1
            try:
                looked_up = await self._parts.gate().look_up(
                    document_id=document_id, threshold=threshold, limit=MAX_PAIRS - len(found)
                )
            except UnknownDocument:  # deleted meanwhile
                continue
            for match in looked_up.matches:
                if (match.document_id, document_id) not in found:
                    found[document_id, match.document_id] = match
        own = threshold_of(self._parts.profile)
        return PairSample(
            threshold=own if threshold is None else threshold,
            profile_threshold=own,
            sampled=sampled,
            known=len(catalogue),
            pairs=[
                StoredPair(
                    left=left,
                    right=right,
                    left_title=catalogue.title(left),
                    right_title=catalogue.title(right),
                    relation=match.relation,
                    distance=match.distance,
                    bit_agreement=bit_agreement(match.distance),
                    resemblance=match.resemblance,
                    containment=match.containment,
                )
                for (left, right), match in found.items()
            ],
            truncated=sampled < len(sample) or len(found) >= MAX_PAIRS,
        )

    async def _stored(self, ids: Sequence[str]) -> list[StoredDocument | None]:
        gate = self._parts.gate()
        return [
            stored
            for first in range(0, len(ids), _BATCH)
            for stored in await gate.with_store(partial(read_stored, document_ids=ids[first : first + _BATCH]))
        ]

    def _row(self, stored: StoredDocument) -> DocumentRow:
        return DocumentRow(**self._fields(stored))

    def _fields(self, stored: StoredDocument) -> dict[str, Any]:
        answer = _answer(stored)
        return {
            "document_id": stored.document_id,
            "version": stored.held.version,
            **detail_values(stored.details),
            "relation": stored.relation,
            "similar": bool(answer and answer.similar),
            "group": stored.group,
            "fingerprint": self._fingerprint(stored.body),
            "has_text": False,
        }

    def _members(
        self, page: Sequence[StoredDocument], original: StoredDocument, verdicts: Sequence[Sequence[Verdict]]
    ) -> list[FamilyMember]:
        """In a thread: a page of long signatures takes a while to compare."""
        return [
            self._member(stored, self._compared(stored, original), given[-1] if given else None)
            for stored, given in zip(page, verdicts, strict=True)
        ]

    def _compared(self, stored: StoredDocument, original: StoredDocument) -> Comparison:
        return compare_signatures(
            (stored.body, original.body),
            self._parts.profile,
            secret=self._parts.secret,
            same_content=stored.held.content == original.held.content,
        )

    def _member(self, stored: StoredDocument, compared: Comparison, verdict: Verdict | None) -> FamilyMember:
        return FamilyMember(
            **self._fields(stored),
            distance=compared.distance,
            bit_agreement=bit_agreement(compared.distance),
            resemblance=compared.estimated_resemblance,
            containment=compared.estimated_containment[0],
            verdict_id=verdict.verdict_id if verdict else None,
            reasons=reasons(verdict, self._parts.profile) if verdict else [],
        )

    def _fingerprint(self, body: bytes) -> str | None:
        fingerprint = self._method.fingerprint(body)
        return None if fingerprint is None else f"{fingerprint:016x}"


def _search(query: DocumentsQuery) -> CatalogueSearch:
    return CatalogueSearch(
        text=query.q,
        prefix=query.prefix,
        title=query.title,
        relation=None if query.relation is UNSET else query.relation,
        group=None if query.group is UNSET else query.group,
    )


def _is_only_text(query: DocumentsQuery) -> bool:
    return not (query.prefix or query.title) and query.relation is UNSET and query.group is UNSET


def _answer(stored: StoredDocument) -> Answer | None:
    return decode_answer(stored.held.answer) if stored.held.answer else None


def _checked_in_at(stored: StoredDocument) -> datetime:
    details = stored.details
    return details.checked_in_at if details and details.checked_in_at else _LONG_AGO
