"""Verdicts, matches, passages and plans in tables and sentences for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from rich.console import Console
from rich.text import Text

from gate.archive.files import Link
from gate.cli import tables
from gate.cli.common import printable
from gate.cli.tables import StreamedTable, cell, gap, table
from gate.core.explanation import LIMITS_HIT as LIMITS_HIT
from gate.core.explanation import MEANINGS as MEANINGS
from gate.core.explanation import reasons as reasons
from gate.core.explanation import resemblance_of as resemblance_of
from gate.core.explanation import versioned as versioned
from gate.core.method import Method
from gate.core.method_parameters import SimilarityIndex
from gate.core.passages import Passage
from gate.core.plan import Plan
from gate.core.profile import Profile, decides_by_bits
from gate.index.tools.stored_documents import StoredDocument
from gate.model import DocumentDetails, LookUpResult, Match, Relation, Verdict
from gate.numbers import counted, number

PASSAGE_WORDS = 50  # a passage of three times as many is shown by so many words of its beginning and its end
_LABELS: tuple[Literal["title", "path"], ...] = ("title", "path")
_WORD = re.compile(r"\S+")

STYLES: dict[Relation, str] = {
    Relation.NEW: "green",
    Relation.EXACT: "bold red",
    Relation.NEAR: "bold yellow",
    Relation.CONTAINED: "bold magenta",
    Relation.CONTAINS: "bold magenta",
    Relation.REVISION: "cyan",
    Relation.TOO_SHORT: "dim",
    Relation.EMPTY: "dim",
    Relation.UNREADABLE: "dim",
    Relation.UNDECIDED: "magenta",
}


def relation(value: Relation) -> Text:
    return Text(value.value, style=STYLES[value])


def fraction(value: float | None) -> Text:
    return cell(None) if value is None else Text(number(value, "%"))


def bits(value: int | None) -> Text:
    return cell(None) if value is None else Text(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What people recognise a document by, beside its id."""

    title: str | None = None
    path: str | None = None
    fingerprint: str | None = None  # or its similarity index

    def says_more(self, label: Literal["title", "path"], document_id: str) -> bool:
        """Whether a label says something that the id does not: the path of a file often ends in it."""
        if label == "title":
            return self.title not in (None, document_id)
        return self.path is not None and not unquote(self.path).endswith(document_id)


def about(stored: StoredDocument, method: Method) -> About:
    """What an index knows about a document."""
    details, number_ = stored.details, method.fingerprint(stored.body)
    return About(
        title=details.title if details else None,
        path=details.uri if details else None,
        fingerprint=None if number_ is None else f"{number_:016x}",
    )


def how_found(found: LookUpResult) -> list[str]:
    """Whether a look-up had to scan, and whether there may be more than it found."""
    sentences = []
    if found.scanned:
        sentences.append(
            f"Buckets do not bring so distant ones together: {counted(found.scanned, 'fingerprint')} scanned."
        )
    if not found.complete:
        sentences.append(
            "There are more fingerprints than may be scanned, and there may be more matches (limits.max_scanned)."
        )
    sentences += [f"There may be more: {LIMITS_HIT[limit]}." for limit in found.degraded]
    return sentences


def measure_name(profile: Profile) -> str:
    """What the profile decides by, as the head of a column."""
    return "equal bits" if decides_by_bits(profile) else "resemblance"


def _measure(match: Match | None, profile: Profile) -> Text:
    if match is None:
        return cell(None)
    return fraction(match.bit_agreement if decides_by_bits(profile) else match.resemblance)


def verdict_table(out: Console, profile: Profile) -> StreamedTable:
    """A table of verdicts, for the rows that `verdict_row` makes."""
    right = (measure_name(profile), "bits")
    return StreamedTable(out, "document", "verdict", "like", *right, right=right)


def verdict_row(verdict: Verdict, profile: Profile, gone: Collection[str] = ()) -> tuple[Text, ...]:
    """A document, its verdict, and the best match; `gone` are documents whose files are gone from disk."""
    best = verdict.matches[0] if verdict.matches else None
    return (
        cell(versioned(verdict.document_id, verdict.version)),
        relation(verdict.relation),
        like(best.document_id, is_gone=best.document_id in gone) if best else cell(None),
        _measure(best, profile),
        bits(best.distance if best else None),
    )


def like(document_id: str | None, *, is_gone: bool) -> Text:
    """A document that another one is like."""
    return cell(document_id).append(" (gone)", style="yellow") if is_gone else cell(document_id)


def original_row(document_id: str, *, is_gone: bool) -> tuple[Text, ...]:
    """The first of a family, in a table of families."""
    name = cell(document_id, style="bold")
    if is_gone:
        name.append(" (gone)", style="yellow")
    return name, Text("original", style="dim"), cell(None), cell(None), cell(None)


def link_row(link: Link) -> tuple[Text, ...]:
    """A further name of a file, in a table of verdicts."""
    return cell(link.document_id), Text("link", style="dim"), cell(link.target), fraction(None), bits(None)


def matches(
    out: Console, best_first: Sequence[Match], profile: Profile, about: Mapping[str, About] | None = None
) -> None:
    """A table of matches, with what is known about the documents, where anything is."""
    known = about or {}
    by_bits, numbered = decides_by_bits(profile), isinstance(profile.method, SimilarityIndex)
    measures = [measure_name(profile), *([] if by_bits else ["contained"]), "bits"]
    extra = ["similarity index" if numbered else "fingerprint"] if known and (by_bits or numbered) else []
    labels = [name for name in _LABELS if any(one.says_more(name, id_) for id_, one in known.items())]
    right = (*measures, *(["similarity index"] if numbered else []))
    rows = table(out, "document", "relation", *measures, *extra, *labels, right=right)
    for match in best_first:
        one = known.get(match.document_id, About())
        rows.add_row(
            cell(versioned(match.document_id, match.version)),
            relation(match.relation),
            _measure(match, profile),
            *([] if by_bits else [fraction(match.containment)]),
            bits(match.distance),
            *([cell(similarity_index(one.fingerprint) if numbered else one.fingerprint)] if extra else []),
            *(cell(getattr(one, name)) for name in labels),
        )
    out.print(rows)


def tally(counts: Mapping[Relation, int]) -> str:
    """Verdicts by relation, in the order of the relations: "41 documents: 40 new, 1 exact"."""
    parts = ", ".join(f"{number(counts[kind])} {kind.value}" for kind in Relation if counts.get(kind))
    return f"{counted(sum(counts.values()), 'document')}: {parts or 'none'}"


def similarity_index(fingerprint: str | None) -> str:
    """A fingerprint that is the number of Roth 2011, which has a sign."""
    if fingerprint is None:
        return tables.NOTHING
    value = int(fingerprint, 16)
    return f"{value - (1 << 64) if value >> 63 else value:,}"


def fingerprint_line(verdict: Verdict, profile: Profile) -> str:
    if isinstance(profile.method, SimilarityIndex) and profile.ref == verdict.profile:
        return f"Similarity index {similarity_index(verdict.fingerprint)}, content {verdict.content_id}."
    return f"Fingerprint {verdict.fingerprint or tables.NOTHING}, content {verdict.content_id}."


def details_line(details: DocumentDetails) -> str:
    """What people recognise a document by: "Title Report, path file:a.txt, 1.2 kB, text/plain"."""
    parts = [f"{name} {value}" for name in ("title", "source") if (value := getattr(details, name))]
    parts += [f"path {details.uri}"] if details.uri else []
    parts += [number(details.size_bytes, "B")] if details.size_bytes is not None else []
    parts += [details.mime_type] if details.mime_type else []
    parts += [f"checked in {details.checked_in_at:%Y-%m-%d %H:%M} UTC"] if details.checked_in_at else []
    line = ", ".join(parts)
    return f"{line[:1].upper()}{line[1:]}." if line else "Nothing is kept to recognise it by."


def passages(cut: Sequence[Passage], *, colour: bool, full: bool) -> Text:
    """A text with its shared passages marked: in colour, or [[so]] where there is none."""
    marked = Text()
    for passage in cut:
        style = ("green" if passage.shared else "bold yellow") if colour else ""
        brackets = ("[[", "]]") if passage.shared and not colour else ("", "")
        text = printable(passage.text, keep="\n\t")
        body = text.rstrip()
        marked.append(brackets[0], style=style)
        before, left_out, after = (body, "", "") if full else _shortened(body)
        marked.append(before, style=style)
        marked.append(left_out, style="dim" if colour else "")
        marked.append(after + brackets[1] + text[len(body) :], style=style)
    return marked


def _shortened(text: str) -> tuple[str, str, str]:
    """The beginning of a long passage, how much of it is left out, and its end."""
    words = list(_WORD.finditer(text))
    left_out = len(words) - 2 * PASSAGE_WORDS
    if left_out <= PASSAGE_WORDS:
        return text, "", ""
    start, end = words[PASSAGE_WORDS - 1].end(), words[-PASSAGE_WORDS].start()
    return text[:start], f" ... {number(left_out)} words ... ", text[end:]


def plan(
    out: Console, planned: Plan, *, changed: Callable[[float], float], words: str, details: tuple[int, int] | None
) -> None:
    """Costs and recall; `details` are the bytes of the shortest and the longest details that are kept of a document."""
    costs = table(out, "what", "expected", "meaning", right=("expected",))
    per_document = sum(planned.bytes_per_document.values())
    for what, expected, meaning in (
        ("probes", number(planned.probes), "buckets read per look-up"),
        ("postings", number(planned.postings), "buckets that hold a stored document"),
        ("bucket size", number(planned.bucket_size), "postings in a bucket, if they spread evenly"),
        ("false candidates", number(planned.expected_candidates), "unrelated documents compared per look-up"),
        *((f"bytes: {part}", number(size), "per document") for part, size in planned.bytes_per_document.items()),
        ("bytes: together", number(per_document), "per document; ids, kept answers and the store's overhead on top"),
        *(
            [("bytes: details", " - ".join(map(number, details)), "per document on top: title, path, time and so on")]
            if details
            else []
        ),
        ("bytes: all", number(planned.total_bytes, "B"), f"{number(planned.documents)} documents"),
    ):
        costs.add_row(what, expected, Text(meaning, style="dim"))
    out.print(costs)
    gap(out)
    curve = table(
        out, "resemblance", f"{words} changed", "found", "", right=("resemblance", f"{words} changed", "found")
    )
    for resemblance, recall in planned.recall:
        curve.add_row(
            fraction(resemblance),
            fraction(changed(resemblance)),
            fraction(recall),
            Text("█" * round(recall * 40) if out.is_terminal else "", style="green"),
        )
    out.print(curve)
    if planned.radius is not None:
        out.print(
            Text(f"Fingerprints within {planned.radius} of 64 bits are found for certain, whatever the curve says.")
        )
