"""The planted truth of the benchmark corpus is true."""

from __future__ import annotations

import re

import numpy as np
import pytest

from load.corpus import VOCABULARY, Kind, Recipe, SyntheticCorpus, TokenEdit, cut_part, edit_tokens, jaccard

pytestmark = pytest.mark.slow


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return set(zip(words, words[1:], words[2:], strict=False))


def _jaccard(left: str, right: str) -> float:
    a, b = _shingles(left), _shingles(right)
    return len(a & b) / len(a | b)


def test_the_same_seed_gives_the_same_documents_and_another_seed_others() -> None:
    first, again, other = SyntheticCorpus(7, 200), SyntheticCorpus(7, 200), SyntheticCorpus(8, 200)
    assert list(first) == list(again)
    assert [d.text for d in first] != [d.text for d in other]


def test_a_document_is_the_same_in_and_out_of_order() -> None:
    corpus = SyntheticCorpus(3, 50)
    assert list(corpus)[37] == corpus[37]


def test_every_planted_jaccard_is_that_of_the_texts() -> None:
    corpus = SyntheticCorpus(1, 300, Recipe(words=120, copies=0.4, exact=0.1, parts=0.1))
    planted = [d for d in corpus if d.original is not None]
    assert {d.kind for d in planted} == {Kind.COPY, Kind.EXACT, Kind.PART}
    for document in planted:
        assert document.original is not None
        assert document.jaccard == pytest.approx(_jaccard(corpus[document.original].text, document.text))


def test_an_original_is_an_earlier_base_document() -> None:
    corpus = SyntheticCorpus(2, 500)
    for document in corpus:
        if document.original is None:
            assert document.kind is Kind.BASE
        else:
            assert document.original < document.number
            assert corpus[document.original].kind is Kind.BASE


def test_the_first_document_is_a_base_even_when_all_are_copies() -> None:
    documents = list(SyntheticCorpus(5, 20, Recipe(copies=1.0, exact=0.0, parts=0.0)))
    assert documents[0].kind is Kind.BASE
    assert all(d.kind is Kind.COPY and d.original == 0 for d in documents[1:])


def test_the_shares_of_the_recipe_are_met() -> None:
    kinds = [d.kind for d in SyntheticCorpus(4, 4_000, Recipe(words=8, copies=0.2, exact=0.05, parts=0.05))]
    assert kinds.count(Kind.COPY) / 4_000 == pytest.approx(0.2, abs=0.03)
    assert kinds.count(Kind.EXACT) / 4_000 == pytest.approx(0.05, abs=0.02)
    assert kinds.count(Kind.PART) / 4_000 == pytest.approx(0.05, abs=0.02)


def test_unrelated_documents_share_almost_nothing() -> None:
    corpus = SyntheticCorpus(6, 40, Recipe(copies=0.0, exact=0.0, parts=0.0))
    texts = [d.text for d in corpus]
    assert max(_jaccard(a, b) for i, a in enumerate(texts) for b in texts[:i]) < 0.05


def test_a_document_has_sentences_and_paragraphs_and_about_the_size_asked_for() -> None:
    texts = [d.text for d in SyntheticCorpus(9, 100, Recipe(words=330, copies=0.0, exact=0.0, parts=0.0))]
    assert 1_500 < np.mean([len(t) for t in texts]) < 3_000
    assert all(t[0].isupper() and t.endswith(".") and "\n\n" in t for t in texts)


@pytest.mark.parametrize(
    ("kind", "change"), [(TokenEdit.REPLACE, 0), (TokenEdit.INSERT, 5), (TokenEdit.DELETE, -5), (TokenEdit.MOVE, 0)]
)
def test_an_edit_changes_the_words_it_says(kind: TokenEdit, change: int) -> None:
    tokens = np.arange(100, dtype=np.int64)
    edited = edit_tokens(tokens, 0.05, np.random.default_rng(1), (kind,))
    assert len(edited) == 100 + change
    # A moved word breaks five shingles of 98, three where it was and two where it goes: 73 of 123 are left.
    assert 73 / 123 <= jaccard(tokens, edited) < 1.0
    if kind is TokenEdit.MOVE:
        assert sorted(edited.tolist()) == tokens.tolist()


def test_a_replaced_word_keeps_its_form_and_is_another_word() -> None:
    tokens = np.full(50, 2 * VOCABULARY + VOCABULARY - 1, dtype=np.int64)
    edited = edit_tokens(tokens, 1.0, np.random.default_rng(1), (TokenEdit.REPLACE,))
    changed = edited != tokens
    assert changed.sum() == 49
    assert (edited // VOCABULARY == 2).all()


def test_a_part_is_a_run_of_the_original() -> None:
    tokens = np.arange(100, dtype=np.int64)
    run = cut_part(tokens, 0.5, np.random.default_rng(1))
    assert len(run) == 50
    assert (np.diff(run) == 1).all()
