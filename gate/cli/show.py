"""Verdicts, matches, passages and plans in tables and sentences for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from gate.archive.files import Link
from gate.cli import tables
from gate.cli.common import printable
from gate.cli.tables import StreamedTable, cell, gap, table
from gate.core.explanation import MEANINGS as MEANINGS
from gate.core.explanation import reasons as reasons
from gate.core.explanation import resemblance_of as resemblance_of
from gate.core.explanation import versioned as versioned
from gate.core.method_parameters import SimilarityIndex
from gate.core.passages import Passage
from gate.core.plan import Plan
from gate.core.profile import Profile
from gate.model import Match, Relation, Verdict
from gate.numbers import counted, number

PASSAGE_WORDS = 50  # a passage of three times as many is shown by so many words of its beginning and its end
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
}


def relation(value: Relation) -> Text:
    return Text(value.value, style=STYLES[value])


def fraction(value: float | None) -> Text:
    return cell(None) if value is None else Text(number(value, "%"))


def bits(value: int | None) -> Text:
    return cell(None) if value is None else Text(str(value))


def verdict_table(out: Console) -> StreamedTable:
    """A table of verdicts, for the rows that `verdict_row` makes."""
    return StreamedTable(out, "document", "verdict", "like", "resemblance", "bits", right=("resemblance", "bits"))


def verdict_row(verdict: Verdict, gone: Collection[str] = ()) -> tuple[Text, ...]:
    """A document, its verdict, and the best match; `gone` are documents whose files are gone from disk."""
    best = verdict.matches[0] if verdict.matches else None
    return (
        cell(versioned(verdict.document_id, verdict.version)),
        relation(verdict.relation),
        like(best.document_id, is_gone=best.document_id in gone) if best else cell(None),
        fraction(best.resemblance if best else None),
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


def matches(out: Console, best_first: Sequence[Match], numbers: Mapping[str, str] | None = None) -> None:
    """A table of matches; with the similarity indexes of documents, where there are some."""
    right = ("resemblance", "contained", "bits", *(["similarity index"] if numbers else []))
    rows = table(out, "document", "relation", *right, right=right)
    for match in best_first:
        rows.add_row(
            cell(versioned(match.document_id, match.version)),
            relation(match.relation),
            fraction(match.resemblance),
            fraction(match.containment),
            bits(match.distance),
            *([cell(numbers.get(match.document_id))] if numbers else []),
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


def plan(out: Console, planned: Plan, *, changed: Callable[[float], float], words: str) -> None:
    costs = table(out, "what", "expected", "meaning", right=("expected",))
    per_document = sum(planned.bytes_per_document.values())
    for what, expected, meaning in (
        ("probes", number(planned.probes), "buckets read per look-up"),
        ("postings", number(planned.postings), "buckets that hold a stored document"),
        ("bucket size", number(planned.bucket_size), "postings in a bucket, if they spread evenly"),
        ("false candidates", number(planned.expected_candidates), "unrelated documents compared per look-up"),
        *((f"bytes: {part}", number(size), "per document") for part, size in planned.bytes_per_document.items()),
        ("bytes: together", number(per_document), "per document; ids, kept answers and the store's overhead on top"),
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
