"""Lists of what an index holds: documents, pairs that are alike, families. Rows are written as they are found."""

from __future__ import annotations

import csv
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.progress import Progress
from rich.text import Text

from gate.api import Gate
from gate.cli import show, tables
from gate.cli.common import Options, emit
from gate.cli.progress import hidden, progress
from gate.cli.session import load, open_index
from gate.core.explanation import LIMITS_HIT
from gate.core.judge import bit_agreement
from gate.core.profile import Profile
from gate.index.scan import ScannableStore
from gate.index.tools.families import MemberOfFamily, families
from gate.index.tools.listing import DocumentFilter, list_documents
from gate.index.tools.pairs import PairBatch
from gate.index.tools.stored_documents import StoredDocument
from gate.model import Degraded, Relation
from gate.numbers import counted, number
from gate.report.csv_file import plain_text

PAGE = 500  # documents

Row = Mapping[str, Any]


class Listing:
    """Writes rows as a table, as CSV or as JSON Lines, whatever their number."""

    def __init__(self, columns: Sequence[str], *, shown: Sequence[str], right: Sequence[str], form: str) -> None:
        """`columns` are those of CSV and JSON, `shown` those of the table."""
        self._columns, self._shown, self._form = columns, shown, form
        self.count = 0
        if form == "csv":
            self._csv = csv.writer(sys.stdout, lineterminator="\n")
            self._csv.writerow(columns)
        elif form == "table":
            heads = [column.replace("_", " ").replace("document id", "document") for column in shown]
            aligned = [column.replace("_", " ") for column in right]
            self._table = tables.StreamedTable(tables.console(), *heads, right=aligned)

    def write(self, rows: Iterable[Row], bar: Progress) -> None:
        listed = list(rows)
        self.count += len(listed)
        if not listed:
            return
        with hidden(bar):
            if self._form == "table":
                self._table.add([_cell(row[column], column) for column in self._shown] for row in listed)
            elif self._form == "csv":
                self._csv.writerows([_plain(row[column]) for column in self._columns] for row in listed)
            else:
                for row in listed:
                    emit(row)

    @property
    def is_table(self) -> bool:
        return self._form == "table"

    def conclude(self, what: str) -> None:
        if self.is_table:
            tables.console().print(Text(f"{counted(self.count, what)}."))


def _cell(value: Any, column: str) -> Text:
    if isinstance(value, Relation):
        return show.relation(value)
    if column in ("bit_agreement", "resemblance", "containment"):
        return show.fraction(value)
    return tables.cell(None if value is None else number(value) if isinstance(value, int) else str(value))


def _plain(value: Any) -> object:
    if value is None:
        return ""
    if isinstance(value, Relation):
        return value.value
    return plain_text(value) if isinstance(value, str) else value


# Documents.

_DOCUMENT = ("document_id", "version", "relation", "group", "fingerprint", "title", "source", "uri", "size_bytes")


def documents(*, matching: DocumentFilter, limit: int | None, form: str | None, options: Options) -> None:
    """List the documents that match."""
    settings = load(options)
    listing = Listing(
        (*_DOCUMENT, "mime_type", "checked_in_at"),
        shown=("document_id", "relation", "group", "fingerprint", "title"),
        right=(),
        form=_form(form, options),
    )
    with open_index(settings) as gate, _bar(listing) as bar:
        task = bar.add_task("listing", total=None, documents=0)
        cursor, read = "", 0
        while True:
            most = PAGE if limit is None else min(PAGE, limit - listing.count)
            page = gate.with_store(partial(list_documents, matching=matching, limit=most, cursor=cursor))
            listing.write((_document_row(gate, one) for one in page.documents), bar)
            read += page.read
            bar.update(task, documents=read)
            if not (cursor := page.cursor) or listing.count == limit:
                break
    listing.conclude("document")


def _document_row(gate: Gate, stored: StoredDocument) -> Row:
    details, about = stored.details, show.about(stored, gate.method)
    return {
        "document_id": stored.document_id,
        "version": stored.held.version,
        "relation": stored.relation,
        "group": stored.group,
        "fingerprint": about.fingerprint,
        "title": about.title,
        "source": details.source if details else None,
        "uri": about.path,
        "size_bytes": details.size_bytes if details else None,
        "mime_type": details.mime_type if details else None,
        "checked_in_at": details.checked_in_at.isoformat() if details and details.checked_in_at else None,
    }


# Pairs.

_PAIR = ("document_id", "other_id", "relation", "distance", "bit_agreement", "resemblance", "containment")


def pairs(*, threshold: float | None, limit: int | None, form: str | None, options: Options) -> None:
    """List the pairs of documents that are alike."""
    settings = load(options)
    measures = _measures(settings.profile)
    listing = Listing(
        _PAIR, shown=("document_id", "other_id", "relation", *measures), right=measures, form=_form(form, options)
    )
    capped = 0
    with open_index(settings) as gate, _bar(listing) as bar:
        finder = gate.pair_finder(threshold)
        task = bar.add_task("comparing", total=None, documents=0)
        found = finder.batches()
        looked_up = 0
        while (batch := gate.with_store(partial(_next, found))) is not None:
            rows = [_pair_row(one.document_id, one.other_id, one.likeness) for one in batch.pairs]
            listing.write(rows if limit is None else rows[: limit - listing.count], bar)
            looked_up, capped = looked_up + batch.documents, capped + batch.capped
            bar.update(task, documents=looked_up)
            if limit is not None and listing.count >= limit:
                break
    listing.conclude("pair")
    if capped:
        reason = LIMITS_HIT[Degraded.CANDIDATES_CAPPED]
        tables.console(stderr=True).print(Text(f"There may be more pairs of {counted(capped, 'document')}: {reason}."))


async def _next(found: AsyncIterator[PairBatch], store: ScannableStore) -> PairBatch | None:
    return await anext(found, None)


def _pair_row(document_id: str, other_id: str, likeness: Any) -> Row:
    return {
        "document_id": document_id,
        "other_id": other_id,
        "relation": likeness.relation,
        "distance": likeness.distance,
        "bit_agreement": bit_agreement(likeness.distance),
        "resemblance": likeness.resemblance,
        "containment": likeness.containment,
    }


def _measures(profile: Profile) -> tuple[str, ...]:
    return (
        ("bit_agreement", "distance") if show.measure_name(profile) == "equal bits" else ("resemblance", "containment")
    )


# Families.

_MEMBER = ("group", "size", "document_id", "version", "relation", "fingerprint", "title", "uri")


def groups(*, limit: int | None, form: str | None, options: Options) -> None:
    """List the families with their members, the largest first."""
    settings = load(options)
    listing = Listing(
        _MEMBER, shown=("group", "size", "document_id", "relation", "title"), right=("size",), form=_form(form, options)
    )
    count = 0
    with open_index(settings) as gate, _bar(listing) as bar:
        task = bar.add_task("reading", total=None, documents=0)

        async def write(store: ScannableStore) -> int:
            met: set[str] = set()
            async for members in families(store, limit=limit, progress=lambda read: bar.update(task, documents=read)):
                listing.write((_member_row(gate, one) for one in members), bar)
                met.add(members[0].group)
            return len(met)

        count = gate.with_store(write)
    if listing.is_table:
        tables.console().print(
            Text(f"{number(count)} {'family' if count == 1 else 'families'} of {counted(listing.count, 'document')}.")
        )


def _member_row(gate: Gate, member: MemberOfFamily) -> Row:
    row = _document_row(gate, member.document)
    return {"group": member.group, "size": member.size, **{name: row[name] for name in _MEMBER[2:]}}


def _form(form: str | None, options: Options) -> str:
    return "jsonl" if options.json else form or "table"


def _bar(listing: Listing) -> Progress:
    return progress(quiet=not listing.is_table, unit="read")
