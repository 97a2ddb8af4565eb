"""Copies side by side with what they are most like: the passages that both share, and those that only one has.

Texts are not kept while a run goes on. The pairs to show are chosen afterwards, of many families some each, and their
texts are read again. Long passages are shown by their beginning and their end, and of a long text only the first part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gate.core.passages import Passage, passages
from gate.core.stored_verdict import RELATIONS
from gate.model import Relation
from gate.report.results import Result, Results

MAX_PAIRS = 100
COMPARED_CHARS = 200_000  # of each text, from its beginning: some tenths of a second
MAX_CHARS = 8_000  # shown of each side, after long passages are shortened
PASSAGE_WORDS = 40  # a passage of three times as many is shown by so many words of its beginning and its end
_PER_FAMILY = 3  # pairs of one family, before other families have theirs
_WORD = re.compile(r"\S+")

TextOf = Callable[[str], str | None]  # the text of a document; None: it is not at hand


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of one text. `left_out` words of it, in its middle, are not shown; `after` is what follows them."""

    text: str
    shared: bool
    left_out: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A copy and what it is most like, cut into the same and the different. `cut`: of a side only the first part."""

    copy: str
    best: str
    sides: tuple[tuple[Excerpt, ...], tuple[Excerpt, ...]]
    cut: tuple[bool, bool]


def choose_pairs(results: Results, *, most: int) -> list[Result]:
    """Copies whose texts differ from what they are like: the first of each family, and then more of the largest."""
    same = RELATIONS.index(Relation.EXACT)
    return list(
        results.select(
            "JOIN (SELECT number AS chosen, ROW_NUMBER() OVER (PARTITION BY original ORDER BY number) AS nth, "
            "COUNT(*) OVER (PARTITION BY original) AS size FROM results "
            "WHERE similar AND best IS NOT NULL AND relation != ?) ON number = chosen "
            "ORDER BY (nth - 1) / ?, size DESC, nth, number LIMIT ?",
            same,
            _PER_FAMILY,
            most,
        )
    )


def show_pairs(results: Results, text_of: TextOf, *, most: int = MAX_PAIRS) -> Iterator[ShownPair]:
    """The chosen pairs whose texts are both at hand."""
    for copy in choose_pairs(results, most=most):
        best = copy.best or ""
        left = text_of(copy.document)
        right = text_of(best) if left is not None else None
        if left is not None and right is not None:
            yield _shown(copy.document, best, left, right)


def _shown(copy: str, best: str, left: str, right: str) -> ShownPair:
    texts = (left, right)
    both = [
        _first_part([_shortened(passage) for passage in side], is_cut=len(text) > COMPARED_CHARS)
        for text, side in zip(texts, passages(left[:COMPARED_CHARS], right[:COMPARED_CHARS]))
    ]
    return ShownPair(copy, best, (both[0][0], both[1][0]), (both[0][1], both[1][1]))


def _shortened(passage: Passage) -> Excerpt:
    words = list(_WORD.finditer(passage.text))
    left_out = len(words) - 2 * PASSAGE_WORDS
    if left_out <= PASSAGE_WORDS:
        return Excerpt(passage.text, passage.shared)
    start, end = words[PASSAGE_WORDS - 1].end(), words[-PASSAGE_WORDS].start()
    return Excerpt(passage.text[:start], passage.shared, left_out, passage.text[end:])


def _first_part(excerpts: list[Excerpt], *, is_cut: bool) -> tuple[tuple[Excerpt, ...], bool]:
    """The excerpts of the first MAX_CHARS, and whether any text is left out at the end."""
    chosen: list[Excerpt] = []
    left = MAX_CHARS
    for excerpt in excerpts:
        size = len(excerpt.text) + len(excerpt.after)
        if size > left:
            return (*chosen, Excerpt(excerpt.text[:left], excerpt.shared)), True
        chosen.append(excerpt)
        left -= size
    return tuple(chosen), is_cut
