"""Controlled edits of the documents of a corpus: copies whose distance from their originals is chosen.

A text is cut into pieces, each a word with all that follows it up to the next one, so that an edited copy keeps the
lines and the punctuation of its original. Letters of scripts without spaces are words of their own, as in the
tokenizers that documents are signed by. All randomness comes in by the generator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import cycle, islice

import numpy as np

from gate.core.tokenizers import SPACELESS
from gate.errors import ConfigError
from gate.lab.truth import GRAM, Corpus

_ALONE = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in SPACELESS)
_PIECE = re.compile(rf"(?:[{_ALONE}]|(?:(?![{_ALONE}])\w)+)\W*")
LEAST_WORDS = 2  # of a text that anything can be done to
FEW_WORDS = 20  # with fewer, one edit leaves little of the shingles
LEVELS = (0.97, 0.95, 0.92, 0.88, 0.85, 0.82, 0.78, 0.75, 0.72, 0.65, 0.58, 0.5)  # J of the copies that are planted


class Edit(StrEnum):
    INSERT = "insert"
    DELETE = "delete"
    REPLACE = "replace"
    MOVE = "move"


def pieces(text: str) -> list[str]:
    """The words of a text, each with what follows it; what precedes the first word goes with it."""
    found = _PIECE.findall(text)
    if found:
        found[0] = text[: len(text) - sum(map(len, found))] + found[0]
    return found


def vocabulary(texts: Sequence[str], rng: np.random.Generator, *, documents: int = 200) -> list[str]:
    """Words to insert: those of some of the documents, as often as they occur there."""
    picked = rng.permutation(len(texts))[:documents]
    return [re.sub(r"\W+", "", word) + " " for number in picked.tolist() for word in pieces(texts[number])]


def edit_text(text: str, edit: Edit, share: float, rng: np.random.Generator, words: Sequence[str]) -> str:
    """A copy in which a share of the words, at least one, was inserted, deleted, replaced or moved.

    Places are drawn from the whole text, so an edit of 5 % touches it everywhere: the hardest case for shingles.
    """
    own = pieces(text)
    if len(own) < LEAST_WORDS:
        raise ConfigError(f"planting: a text of {len(own)} words cannot be edited")
    count = min(max(1, round(share * len(own))), len(own) - 1 if edit is not Edit.INSERT else len(own))
    match edit:
        case Edit.INSERT:
            places = rng.choice(len(own) + 1, count, replace=False)
            drawn = [words[i] for i in rng.integers(0, len(words), count).tolist()]
            for place, word in sorted(zip(places.tolist(), drawn, strict=True), reverse=True):
                own.insert(place, word)
        case Edit.DELETE:
            gone = set(rng.choice(len(own), count, replace=False).tolist())
            own = [piece for place, piece in enumerate(own) if place not in gone]
        case Edit.REPLACE:
            drawn = [words[i] for i in rng.integers(0, len(words), count).tolist()]
            for place, word in zip(rng.choice(len(own), count, replace=False).tolist(), drawn, strict=True):
                own[place] = word
        case Edit.MOVE:
            gone = rng.choice(len(own), count, replace=False).tolist()
            moved = [own[place] for place in gone]
            own = [piece for place, piece in enumerate(own) if place not in set(gone)]
            for place, piece in zip(rng.integers(0, len(own) + 1, count).tolist(), moved, strict=True):
                own.insert(place, piece)
    return "".join(own)


def part(text: str, share: float, rng: np.random.Generator) -> str:
    """A run of a share of the words."""
    own = pieces(text)
    size = max(1, round(share * len(own)))
    begin = int(rng.integers(0, len(own) - size + 1))
    return "".join(own[begin : begin + size])


def edit_share(edit: Edit, jaccard: float) -> float:
    """The share of words to edit so that about so much of the 3-word shingles is left in common.

    Of a text of n words, an edit of a share c leaves a shingle whole if none of its words (or of the gaps between them)
    is touched; so kept = (1 - c) ** touched of them, and J = kept / (1 + size of the copy - kept).
    """
    touched = {Edit.REPLACE: GRAM, Edit.DELETE: GRAM, Edit.INSERT: GRAM - 1, Edit.MOVE: 2 * GRAM - 1}[edit]
    grows = {Edit.INSERT: 1.0, Edit.DELETE: -1.0}.get(edit, 0.0)
    low, high = 0.0, 1.0
    for _ in range(40):  # J falls as the share grows: halve the interval
        middle = (low + high) / 2
        kept = (1.0 - middle) ** touched
        if kept / (2.0 + grows * middle - kept) > jaccard:
            low = middle
        else:
            high = middle
    return low


def add_copies(documents: Corpus, copies: int, rng: np.random.Generator, levels: Sequence[float] = LEVELS) -> Corpus:
    """The documents, and so many edited copies behind them, about as much like their originals as the levels say.

    How much exactly is counted afterwards: the truth of the new set is exact like that of any other.
    """
    fit = [i for i in rng.permutation(len(documents)).tolist() if len(pieces(documents.texts[i])) >= FEW_WORDS]
    words = vocabulary(documents.texts, rng)
    ids, texts = list(documents.ids), list(documents.texts)
    clusters = {name: documents.clusters.get(name, name) for name in ids}  # a copy is a version of the same work
    taken = set(ids)
    edits = tuple(Edit)
    for number, original in enumerate(islice(cycle(fit), copies)):
        edit = edits[int(rng.integers(0, len(edits)))]
        name = f"{ids[original]}~{edit}"
        while name in taken:
            name += "~"
        taken.add(name)
        clusters[name] = clusters[ids[original]]
        ids.append(name)
        texts.append(edit_text(texts[original], edit, edit_share(edit, levels[number % len(levels)]), rng, words))
    return replace(documents, ids=ids, texts=texts, clusters=clusters)


def longer(text: str, share: float, rng: np.random.Generator) -> str:
    """A copy in which a passage of the text itself, of a share of its words, is repeated at another place."""
    own = pieces(text)
    size = min(max(1, round(share * len(own))), len(own))
    begin, place = int(rng.integers(0, len(own) - size + 1)), int(rng.integers(0, len(own) + 1))
    return "".join([*own[:place], *own[begin : begin + size], *own[place:]])


def shorter(text: str, share: float, rng: np.random.Generator) -> str:
    """A copy that lacks one passage of a share of its words."""
    own = pieces(text)
    size = min(max(1, round(share * len(own))), len(own) - 1)
    begin = int(rng.integers(0, len(own) - size + 1))
    return "".join([*own[:begin], *own[begin + size :]])
