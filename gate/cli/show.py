"""Verdicts, matches, passages and plans in tables and sentences for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from gate.archive.files import Link
from gate.cli import tables
from gate.cli.common import printable
from gate.cli.tables import StreamedTable, cell, gap, table
from gate.core.method_parameters import Fingerprinted, SimilarityIndex
from gate.core.passages import Passage
from gate.core.plan import Plan
from gate.core.profile import Profile
from gate.errors import UnreadableReason
from gate.model import Degraded, Match, Relation, Verdict
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

MEANINGS: dict[Relation, str] = {
    Relation.NEW: "nothing like it was known",
    Relation.EXACT: "the same text was known, but for case and white space",
    Relation.NEAR: "a document much like it was known",
    Relation.CONTAINED: "nearly all of it was known as part of a longer document",
    Relation.CONTAINS: "it holds nearly all of a document that was known",
    Relation.REVISION: "another version of the same document was known; that does not count against it",
    Relation.TOO_SHORT: "it has too few words for anything but an exact comparison, and no equal was known",
    Relation.EMPTY: "it has no text, so there is nothing to compare",
    Relation.UNREADABLE: "no text could be read from it, and no file with the same bytes was known",
}
_SAME_BYTES = "a file with the same bytes was known"

# Why a file has no text, in an explanation.
UNREADABLE: dict[UnreadableReason, str] = {
    "no_text": "it holds none, as a scanned page",
    "binary": "it is of a kind that is not read",
    "encrypted": "it has a password",
    "damaged": "it is damaged",
    "bomb": "it unpacks beyond all bounds",
    "too_costly": "reading it takes more time or memory than is allowed",
    "too_large": "it is larger than is read",
    "bad_encoding": "its encoding is not known",
    "bad_compression": "its compressed data is damaged",
    "not_installed": "what reads such files was not installed",
}

LIMITS_HIT: dict[Degraded, str] = {
    Degraded.BUCKET_CAPPED: "a crowded bucket was not read to its end (limits.max_bucket)",
    Degraded.CANDIDATES_CAPPED: "not every candidate was compared (limits.max_candidates)",
    Degraded.MATCHES_CAPPED: "there are more matches than are named (limits.max_matches)",
    Degraded.FEATURES_CAPPED: "the document was signed by its first part only (limits.max_features)",
    Degraded.DETAILS_CUT: "its title, source, URI or metadata was cut or left out (limits.max_title_chars and others)",
    Degraded.UNCHECKED: "the index was unavailable, and the document passed unchecked (on_index_unavailable)",
}


def relation(value: Relation) -> Text:
    return Text(value.value, style=STYLES[value])


def fraction(value: float | None) -> Text:
    return cell(None) if value is None else Text(number(value, "%"))


def bits(value: int | None) -> Text:
    return cell(None) if value is None else Text(str(value))


def versioned(document_id: str, version: str | None) -> str:
    return document_id if version is None else f"{document_id} (version {version})"


def verdict_table(out: Console) -> StreamedTable:
    """A table of verdicts, for the rows that `verdict_row` makes."""
    return StreamedTable(out, "document", "verdict", "like", "resemblance", "bits", right=("resemblance", "bits"))


def verdict_row(verdict: Verdict) -> tuple[Text, ...]:
    """A document, its verdict, and the best match."""
    best = verdict.matches[0] if verdict.matches else None
    return (
        cell(versioned(verdict.document_id, verdict.version)),
        relation(verdict.relation),
        cell(best.document_id if best else None),
        fraction(best.resemblance if best else None),
        bits(best.distance if best else None),
    )


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


def reasons(verdict: Verdict, profile: Profile) -> list[str]:
    """Why this verdict, in sentences."""
    best = verdict.matches[0] if verdict.matches else None
    what = "a revision" if verdict.relation is Relation.REVISION else verdict.relation.value.replace("_", " ")
    meaning = MEANINGS[verdict.relation]
    if verdict.unreadable_reason is not None and verdict.relation is Relation.EXACT:
        meaning = _SAME_BYTES
    sentences = [f"It is {what}: {meaning}."]
    if verdict.unreadable_reason is not None:
        sentences.append(f"It was compared by its bytes, as it gave no text: {UNREADABLE[verdict.unreadable_reason]}.")
    if best is not None:
        sentences.append(_measured(best, profile))
    if verdict.similar and verdict.group not in (verdict.document_id, best.document_id if best else None):
        sentences.append(f"The first document of its family is {verdict.group}.")
    sentences += _compared(verdict)
    sentences.append(f"It was judged under profile {verdict.profile}{_threshold(verdict, profile)}.")
    sentences += [f"It may know less than it should: {LIMITS_HIT[limit]}." for limit in verdict.degraded]
    return sentences


def _compared(verdict: Verdict) -> list[str]:
    """How many others were looked at. Empty and short texts are only ever looked up by their whole content."""
    if verdict.relation is Relation.EXACT:
        return ["Its content itself was known, so nothing else had to be compared."]
    if verdict.relation in (Relation.EMPTY, Relation.TOO_SHORT, Relation.UNREADABLE):
        return []
    if not verdict.candidates:
        return ["No document in the index was near enough to be compared with it."]
    compared = f"{counted(verdict.candidates, 'candidate')} from the index"
    outcome = "none was alike enough"
    if alike := len(verdict.matches):
        more = " or more" if Degraded.MATCHES_CAPPED in verdict.degraded else ""
        outcome = f"{number(alike)}{more} {'was' if alike == 1 and not more else 'were'} alike"
    return [f"It was compared with {compared}; {outcome}."]


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


def resemblance_of(profile: Profile) -> str:
    """What the resemblance under a profile is the share of."""
    if isinstance(profile.method, SimilarityIndex):
        return "the smaller of the two similarity indexes, of the larger"
    return "features that both have, of all that either has"


def _measured(best: Match, profile: Profile) -> str:
    parts = []
    if best.resemblance is not None and isinstance(profile.method, SimilarityIndex):
        parts.append(
            f"has a similarity index near its own (the smaller is {fraction(best.resemblance).plain} of the larger)"
        )
    elif best.resemblance is not None:
        parts.append(f"resembles it to {fraction(best.resemblance).plain}")
    if best.containment is not None:
        parts.append(f"has {fraction(best.containment).plain} of its features in it")
    if best.distance is not None:
        parts.append(f"differs from its fingerprint in {best.distance} of 64 bits")
    what = versioned(best.document_id, best.version)
    if not parts:
        return f"The best match is {what}."
    *others, last = parts
    return f"The best match is {what}: this document {', '.join(others)}{' and ' if others else ''}{last}."


def _threshold(verdict: Verdict, profile: Profile) -> str:
    """The thresholds of the profile, if it is the profile of the verdict."""
    if profile.ref != verdict.profile:
        return ""
    if verdict.relation is Relation.TOO_SHORT:
        return f", which asks for at least {profile.min_features} features"
    thresholds = []
    if profile.resemblance is not None and "resemblance" not in profile.method.unused:
        what = "a quotient of similarity indexes" if isinstance(profile.method, SimilarityIndex) else "a resemblance"
        thresholds.append(f"{what} of at least {fraction(profile.resemblance).plain}")
    if profile.containment is not None and "containment" not in profile.method.unused:
        thresholds.append(f"a containment of at least {fraction(profile.containment).plain}")
    if not thresholds and isinstance(profile.method, Fingerprinted):
        thresholds.append(f"fingerprints within {profile.method.radius} bits")
    return f", which asks for {' or '.join(thresholds)}"


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
