"""Corpora that the tests of the lab share: seeded, small, and nobody's."""

from __future__ import annotations

from pathlib import Path

from gate.lab.truth import Corpus
from load.corpus import Recipe, SyntheticCorpus


def strangers(count: int, *, seed: int = 1, words: int = 120) -> Corpus:
    """Documents that have nothing to do with each other."""
    recipe = Recipe(words=words, copies=0.0, exact=0.0, parts=0.0)
    texts = [document.text for document in SyntheticCorpus(seed, count, recipe)]
    return Corpus("strangers", [f"d{i}" for i in range(count)], texts)


def folder_of(documents: Corpus, folder: Path) -> Path:
    """The same as text files."""
    folder.mkdir(parents=True)
    for name, text in zip(documents.ids, documents.texts, strict=True):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder
