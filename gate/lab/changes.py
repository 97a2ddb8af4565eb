"""What becomes of copies on their way: reordered, framed by boilerplate, cut, edited, set again, scanned.

Each change makes a copy of one text, and belongs to a kind that a user can name. All randomness comes in by the
generator. The boilerplate is the same for all copies of a corpus, as a site's is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Literal, get_args

import numpy as np

from gate.lab.ocr_errors import misread
from gate.lab.planting import Edit, edit_text, pieces

Kind = Literal["edits", "layout", "boilerplate", "parts", "scans"]
KINDS: tuple[Kind, ...] = get_args(Kind)

COLUMNS = 72  # of a line that is set again
_DIVIDED = 6  # letters of the shortest word that is divided
_STUB = 3  # letters of it that stay on the line, at least
_PARAGRAPHS = 4  # with fewer there is nothing to reorder: lines are, or runs of words
_RUN = 50  # words of such a run


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """What a change draws from."""

    rng: np.random.Generator
    words: Sequence[str]  # to insert and to replace by
    boilerplate: Sequence[str]  # words, the same for all copies


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyChange:
    name: str
    kind: Kind
    copy: Callable[[str, ChangeContext], str]
    typical: bool  # what a profile has to find to be called fit for the kind


def reorder(text: str, context: ChangeContext) -> str:
    """The paragraphs in another order; of a text without any its lines, or runs of words."""
    for separator in ("\n\n", "\n"):
        parts = [part for part in text.split(separator) if part.strip()]
        if len(parts) >= _PARAGRAPHS:
            break
    else:
        own = pieces(text)
        separator, parts = " ", ["".join(own[begin : begin + _RUN]) for begin in range(0, len(own), _RUN)]
    return separator.join(parts[i] for i in context.rng.permutation(len(parts)).tolist())


def add_boilerplate(text: str, context: ChangeContext, *, share: float) -> str:
    """The text between a header and a footer, together so many words for each of its own."""
    count = max(1, round(share * len(pieces(text))))
    words = list(islice(cycle(context.boilerplate), count))
    return "".join(words[: count // 2]) + "\n\n" + text + "\n\n" + "".join(words[count // 2 :])


def first_part(text: str, context: ChangeContext, *, share: float) -> str:
    own = pieces(text)
    return "".join(own[: max(1, round(share * len(own)))])


def replace_words(text: str, context: ChangeContext, *, share: float) -> str:
    return edit_text(text, Edit.REPLACE, share, context.rng, context.words)


def hyphenate(text: str, context: ChangeContext) -> str:
    """Set in lines of one width, with words divided at their ends, as copied from a page."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        line = ""
        for word in paragraph.split():
            room = COLUMNS - len(line) - 1
            if len(word) <= room or not line:
                line = f"{line} {word}" if line else word
                continue
            if word.isalpha() and len(word) >= _DIVIDED and room > _STUB:
                stub = min(room - 1, len(word) - _STUB)
                lines.append(f"{line} {word[:stub]}-")
                line = word[stub:]
            else:
                lines.append(line)
                line = word
        lines += [line, ""]
    return "\n".join(lines)


def typeset_marks(text: str, context: ChangeContext) -> str:
    """Straight quotes, hyphens and dots as a word processor corrects them."""
    for straight, curly in (("...", "…"), ("--", "—"), (" - ", " – "), ("'", "’")):
        text = text.replace(straight, curly)
    quotes = cycle("“”")
    return "".join(next(quotes) if character == '"' else character for character in text)


def scan(text: str, context: ChangeContext, *, share: float) -> str:
    return misread(text, share, context.rng)


CHANGES: tuple[CopyChange, ...] = (
    *(
        CopyChange(
            name=f"{share:.0%} of words replaced", kind="edits", copy=partial(replace_words, share=share), typical=t
        )
        for share, t in ((0.02, False), (0.05, True), (0.10, False))
    ),
    CopyChange(name="paragraphs reordered", kind="layout", copy=reorder, typical=True),
    CopyChange(name="words hyphenated", kind="layout", copy=hyphenate, typical=True),
    CopyChange(name="quotes and dashes", kind="layout", copy=typeset_marks, typical=True),
    *(
        CopyChange(
            name=f"{share:.0%} boilerplate", kind="boilerplate", copy=partial(add_boilerplate, share=share), typical=t
        )
        for share, t in ((0.1, False), (0.3, True), (0.6, False))
    ),
    CopyChange(name="first half", kind="parts", copy=partial(first_part, share=0.5), typical=True),
    *(
        CopyChange(name=f"{share:.0%} wrong characters", kind="scans", copy=partial(scan, share=share), typical=t)
        for share, t in ((0.01, False), (0.03, True), (0.05, False))
    ),
)
