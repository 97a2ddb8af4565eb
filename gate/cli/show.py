"""Tables and sentences for people: colours and rules on a terminal, plain columns in a pipe.

Ids and texts come from outside, so they are never read as markup, and their control characters are spelled out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gate.core.method_parameters import Fingerprinted, SimilarityIndex
from gate.core.passages import Passage
from gate.core.plan import Plan
from gate.core.profile import Profile
from gate.model import Degraded, Match, Relation, Verdict

PIPE_WIDTH = 10_000  # a pipe has no edge: nothing is folded or cut
NOTHING = "-"
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
}

LIMITS_HIT: dict[Degraded, str] = {
    Degraded.BUCKET_CAPPED: "a crowded bucket was not read to its end (limits.max_bucket)",
    Degraded.CANDIDATES_CAPPED: "not every candidate was compared (limits.max_candidates)",
    Degraded.MATCHES_CAPPED: "there are more matches than are named (limits.max_matches)",
    Degraded.FEATURES_CAPPED: "the document was signed by its first part only (limits.max_features)",
    Degraded.UNCHECKED: "the index was away, and the document passed without a look (on_index_unavailable)",
}


class _Console(Console):
    def print(self, *objects: Any, **how: Any) -> None:
        """As rich prints, but for the blanks with which it fills the last column of a table, where nobody looks."""
        if self.is_terminal or not any(isinstance(one, Table) for one in objects):
            super().print(*objects, **how)
            return
        with self.capture() as captured:
            super().print(*objects, **how)
        self.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
        self.file.flush()

    def on_broken_pipe(self) -> None:
        """Leave it to the frame, which knows the exit code; rich would end the process here."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console on the stream as it is now; as wide as it likes where nobody looks."""
    made = _Console(file=sys.stderr if stderr else sys.stdout, highlight=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def progress(*, quiet: bool, what: str = "documents") -> Progress:
    """A bar on a terminal, gone when it is full; nothing in a pipe. A task's field `documents` is the count so far."""
    err = console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn(f"{{task.fields[documents]:,}} {what}"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        redirect_stdout=False,  # it would go to stderr: this bar's console
        disable=quiet or not err.is_terminal,
    )


def printable(text: str, *, keep: str = "") -> str:
    """The text with everything that could move a cursor or hide a letter spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def table(out: Console, *headers: str, right: Iterable[str] = (), title: str | None = None) -> Table:
    """An empty table: ruled on a terminal, bare in a pipe. The columns in `right` are aligned to the right."""
    ruled = out.is_terminal
    made = Table(
        box=box.SIMPLE_HEAD if ruled else None,
        title=title if ruled else None,
        title_justify="left",
        title_style="bold",
        header_style="bold" if ruled else "",
        pad_edge=False,
        padding=(0, 1, 0, 0) if ruled else (0, 2, 0, 0),
    )
    numeric = set(right)
    for header in headers:
        made.add_column(header, justify="right" if header in numeric else "left", overflow="fold")
    return made


def gap(out: Console) -> None:
    """An empty line between two tables; on a terminal their rules have one."""
    if not out.is_terminal:
        out.print()


def cell(value: str | None, style: str = "") -> Text:
    return Text(NOTHING if value is None else printable(value), style="dim" if value is None else style)


def say(out: Console, sentence: str, *, style: str = "") -> None:
    """A sentence, indented; if it is folded, all of it."""
    text = Text(printable(sentence), style=style)
    out.print(Padding(text, (0, 0, 0, 2)) if out.is_terminal else Text("  ") + text)


def relation(value: Relation) -> Text:
    return Text(value.value, style=STYLES[value])


def fraction(value: float | None) -> Text:
    """A share as per cent. Rounded down, so that only what is whole reads 100 %."""
    if value is None:
        return cell(None)
    return Text(f"{int(round(value * 1000, 6)) / 10:.1f} %")  # 0.57 * 1000 is a little less than 570


def bits(value: int | None) -> Text:
    return cell(None) if value is None else Text(str(value))


def named(document_id: str, version: str | None) -> str:
    return document_id if version is None else f"{document_id} (version {version})"


def verdicts(out: Console, found: Sequence[Verdict]) -> None:
    """One line a document: how it stands, and to what."""
    shown = table(out, "document", "verdict", "like", "resemblance", "bits", right=("resemblance", "bits"))
    for verdict in found:
        best = verdict.matches[0] if verdict.matches else None
        shown.add_row(
            cell(named(verdict.document_id, verdict.version)),
            relation(verdict.relation),
            cell(best.document_id if best else None),
            fraction(best.resemblance if best else None),
            bits(best.distance if best else None),
        )
    out.print(shown)


def matches(out: Console, found: Sequence[Match]) -> None:
    shown = table(
        out, "document", "relation", "resemblance", "contained", "bits", right=("resemblance", "contained", "bits")
    )
    for match in found:
        shown.add_row(
            cell(named(match.document_id, match.version)),
            relation(match.relation),
            fraction(match.resemblance),
            fraction(match.containment),
            bits(match.distance),
        )
    out.print(shown)


def tally(found: Sequence[Verdict]) -> str:
    """The verdicts counted, in the order of the relations: "41 documents: 40 new, 1 exact"."""
    counts = {kind: sum(verdict.relation is kind for verdict in found) for kind in Relation}
    said = ", ".join(f"{count:,} {kind.value}" for kind, count in counts.items() if count) or "none"
    return f"{len(found):,} document{'' if len(found) == 1 else 's'}: {said}"


def reasons(verdict: Verdict, profile: Profile) -> list[str]:
    """Why this verdict, in sentences."""
    best = verdict.matches[0] if verdict.matches else None
    what = "a revision" if verdict.relation is Relation.REVISION else verdict.relation.value.replace("_", " ")
    said = [f"It is {what}: {MEANINGS[verdict.relation]}."]
    if best is not None:
        said.append(_measured(best, profile))
    if verdict.similar and verdict.group not in (verdict.document_id, best.document_id if best else None):
        said.append(f"The first document of its family is {verdict.group}.")
    said += _compared(verdict)
    said.append(f"It was judged under profile {verdict.profile}{_threshold(verdict, profile)}.")
    said += [f"It may know less than it should: {LIMITS_HIT[limit]}." for limit in verdict.degraded]
    return said


def _compared(verdict: Verdict) -> list[str]:
    """How many others were looked at. Empty and short texts are only ever looked up by their whole content."""
    if verdict.relation is Relation.EXACT:
        return ["Its content itself was known, so nothing else had to be compared."]
    if verdict.relation in (Relation.EMPTY, Relation.TOO_SHORT):
        return []
    if not verdict.candidates:
        return ["No document in the index was near enough to be compared with it."]
    compared = f"{verdict.candidates:,} candidate{'' if verdict.candidates == 1 else 's'} from the index"
    found = "none was alike enough"
    if alike := len(verdict.matches):
        more = " or more" if Degraded.MATCHES_CAPPED in verdict.degraded else ""
        found = f"{alike:,}{more} {'was' if alike == 1 and not more else 'were'} alike"
    return [f"It was compared with {compared}; {found}."]


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
    what = named(best.document_id, best.version)
    if not parts:
        return f"The best match is {what}."
    *others, last = parts
    return f"The best match is {what}: this document {', '.join(others)}{' and ' if others else ''}{last}."


def _threshold(verdict: Verdict, profile: Profile) -> str:
    """What the profile asks for, if it is the profile of the verdict."""
    if profile.ref != verdict.profile:
        return ""
    if verdict.relation is Relation.TOO_SHORT:
        return f", which asks for at least {profile.min_features} features"
    asked = []
    if profile.resemblance is not None and "resemblance" not in profile.method.unused:
        what = "a quotient of similarity indexes" if isinstance(profile.method, SimilarityIndex) else "a resemblance"
        asked.append(f"{what} of at least {fraction(profile.resemblance).plain}")
    if profile.containment is not None and "containment" not in profile.method.unused:
        asked.append(f"a containment of at least {fraction(profile.containment).plain}")
    if not asked and isinstance(profile.method, Fingerprinted):
        asked.append(f"fingerprints within {profile.method.radius} bits")
    return f", which asks for {' or '.join(asked)}"


def passages(found: Sequence[Passage], *, colour: bool, full: bool) -> Text:
    """A text with its shared passages marked: in colour, or [[so]] where there is none."""
    shown = Text()
    for passage in found:
        style = ("green" if passage.shared else "bold yellow") if colour else ""
        brackets = ("[[", "]]") if passage.shared and not colour else ("", "")
        text = printable(passage.text, keep="\n\t")
        body = text.rstrip()
        shown.append(brackets[0], style=style)
        before, left_out, after = (body, "", "") if full else _shortened(body)
        shown.append(before, style=style)
        shown.append(left_out, style="dim" if colour else "")
        shown.append(after + brackets[1] + text[len(body) :], style=style)
    return shown


def _shortened(text: str) -> tuple[str, str, str]:
    """The beginning of a long passage, how much of it is left out, and its end."""
    words = list(_WORD.finditer(text))
    left_out = len(words) - 2 * PASSAGE_WORDS
    if left_out <= PASSAGE_WORDS:
        return text, "", ""
    start, end = words[PASSAGE_WORDS - 1].end(), words[-PASSAGE_WORDS].start()
    return text[:start], f" ... {left_out:,} words ... ", text[end:]


def plan(out: Console, planned: Plan, *, changed: Callable[[float], float], words: str) -> None:
    costs = table(out, "what", "expected", "meaning", right=("expected",))
    per_document = sum(planned.bytes_per_document.values())
    for what, expected, meaning in (
        ("probes", f"{planned.probes:,}", "buckets read per look-up"),
        ("postings", f"{planned.postings:,}", "buckets that a stored document stands in"),
        ("bucket size", _number(planned.bucket_size), "postings in a bucket, if all are used alike"),
        ("strangers", _number(planned.expected_candidates), "unrelated candidates compared per look-up"),
        *((f"bytes: {part}", f"{size:,}", "per document") for part, size in planned.bytes_per_document.items()),
        ("bytes: together", f"{per_document:,}", "per document; ids, kept answers and the store's overhead on top"),
        ("bytes: all", size_of(planned.total_bytes), f"{planned.documents:,} documents"),
    ):
        costs.add_row(what, expected, Text(meaning, style="dim"))
    out.print(costs)
    gap(out)
    curve = table(
        out, "resemblance", f"{words} changed", "found", "", right=("resemblance", f"{words} changed", "found")
    )
    for resemblance, found in planned.recall:
        curve.add_row(
            fraction(resemblance),
            fraction(changed(resemblance)),
            fraction(found),
            Text("█" * round(found * 40) if out.is_terminal else "", style="green"),
        )
    out.print(curve)
    if planned.radius is not None:
        out.print(
            Text(f"Fingerprints within {planned.radius} of 64 bits are found for certain, whatever the curve says.")
        )


def _number(value: float) -> str:
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"


def size_of(count: float) -> str:
    """Bytes in the unit that leaves one to three digits before the point."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:,.0f} B" if unit == "B" else f"{count:,.1f} {unit}"
