"""Short documents of one template, generated: like the support documents of Cherkasova et al. 2009, 600 to 1,500 bytes.

Each has the headings and standing sentences of a loose template around a few sentences of its own. Some are later
versions of another, with a new number, a new date and a few other words: these pairs are right, and no other pair is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gate.lab.truth import Corpus

SMALLEST, LARGEST = 600, 1500  # bytes
VERSIONS = 0.03  # share of the documents that are versions of an earlier one
CHANGED = 0.04  # share of the words of its own sentences that a version changes
OPTIONAL = 0.5  # how often a section that may be left out is there
_SYLLABLES = ("ba", "con", "der", "fi", "gra", "lo", "men", "nor", "pli", "qua", "ri", "sta", "ter", "vo", "win", "xe")
_WORDS = 2000
_HEAD = "Support communication. Document identifier: {number}. Last updated: {date}. Product: {product}."
_SECTIONS = (
    "Issue: the customer reports that the following was observed after the latest update was installed.",
    "Environment: this applies to all supported versions unless another one is named below.",
    "Cause: the root cause was analysed by the support team and is described in the next paragraph.",
    "Resolution: follow these steps in the order that is given here and restart the system afterwards.",
)
_FOOT = "If the problem persists, contact your support representative and give the document identifier."


def short_documents(count: int, rng: np.random.Generator) -> Corpus:
    """So many documents; the cluster of a version is that of the document it was made of."""
    words = _vocabulary(rng)
    ids: list[str] = []
    texts: list[str] = []
    clusters: dict[str, str] = {}
    own: list[tuple[list[bool], str, list[str]]] = []
    for number in range(count):
        ids.append(f"short-{number:05}")
        if number and rng.random() < VERSIONS:
            original = int(rng.integers(number))
            sections, product, sentences = own[original]
            changed = [word if rng.random() >= CHANGED else _draw(words, 1, rng)[0] for word in sentences]
            own.append((sections, product, changed))
            clusters[ids[-1]] = clusters[ids[original]]
        else:
            sections = (rng.random(len(_SECTIONS)) < OPTIONAL).tolist()
            own.append((sections, " ".join(_draw(words, 2, rng)), _fill(sections, words, rng)))
            clusters[ids[-1]] = ids[-1]
        texts.append(_write(*own[-1], rng))
    return Corpus("short documents of one template", ids, texts, clusters=clusters)


def _vocabulary(rng: np.random.Generator) -> list[str]:
    return [
        "".join(_SYLLABLES[i] for i in rng.integers(len(_SYLLABLES), size=rng.integers(1, 5))) for _ in range(_WORDS)
    ]


def _draw(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """Frequent words first, about as in any language: the square of a uniform number."""
    return [words[int(place * place * len(words))] for place in rng.random(count).tolist()]


def _fill(sections: Sequence[bool], words: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Words of its own, up to a size between the bounds."""
    standing = len(_HEAD) + len(_FOOT) + sum(len(text) for text, there in zip(_SECTIONS, sections) if there)
    room = int(rng.integers(SMALLEST, LARGEST - 50)) - standing
    found: list[str] = []
    while room > 0:
        found += _draw(words, 1, rng)
        room -= len(found[-1]) + 1
    return found


def _write(sections: Sequence[bool], product: str, own: Sequence[str], rng: np.random.Generator) -> str:
    day = f"{rng.integers(2003, 2009)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
    parts = [_HEAD.format(number=f"c{rng.integers(10**8):08}", date=day, product=product)]
    there = [text for text, is_there in zip(_SECTIONS, sections) if is_there]
    size = -(-len(own) // max(len(there), 1))
    for number in range(max(len(there), 1)):
        parts += there[number : number + 1]
        parts.append(" ".join(own[number * size : (number + 1) * size]) + ".")
    return "\n".join([*parts, _FOOT])
