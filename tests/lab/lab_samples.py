"""Corpora that the tests of the lab share: seeded, small, and made up."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Hybrid
from gate.lab.truth import Corpus
from load.corpus import Recipe, SyntheticCorpus

# Shingles of the first: abc bcd cde def efg fgh. The second has five of these and one of its own, so J = 5/7; the third
# has the same set in another spelling; the fourth has four (bcd cde def efg), so J = 4/6; the fifth has none.
FIVE = ("a b c d e f g h", "a b c d e f g x", "A, b: c (d) e\nf g H!", "b c d e f g", "v w x y z")

# Nearly every pair is a candidate and a tenth in common is alike: something that can be wrong.
LENIENT = replace(
    BUILT_IN["standard"], name="lenient", resemblance=0.1, min_features=1, method=Hybrid(rows=1, bands=64)
)


def documents(*texts: str) -> Corpus:
    return Corpus("hand-made", [f"d{i}" for i in range(len(texts))], texts)


def unrelated_documents(count: int, *, seed: int = 1, words: int = 120) -> Corpus:
    """Documents that have nothing to do with each other."""
    recipe = Recipe(words=words, copies=0.0, exact=0.0, parts=0.0)
    texts = [document.text for document in SyntheticCorpus(seed, count, recipe)]
    return Corpus("unrelated", [f"d{i}" for i in range(count)], texts)


def folder_of(documents: Corpus, folder: Path) -> Path:
    """The same as text files."""
    folder.mkdir(parents=True)
    for name, text in zip(documents.ids, documents.texts, strict=True):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder
