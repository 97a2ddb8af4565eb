"""Planted copies: as far from their originals as was asked for, and nothing else about them changed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import ConfigError
from gate.lab.planting import Edit, add_copies, edit_share, edit_text, longer, part, pieces, shorter, vocabulary
from gate.lab.truth import Corpus, words
from tests.lab.lab_samples import unrelated_documents

TEXT = unrelated_documents(1, words=3000).texts[0]
WORDS = ["zzinserted ", "yyinserted "]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(st.text())
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    found = pieces(text)
    assert "".join(found) == text or not found


def test_a_piece_is_a_word_with_what_follows_it() -> None:
    assert pieces('"Well, here I am."\n') == ['"Well, ', "here ", "I ", 'am."\n']


def test_letters_of_scripts_without_spaces_are_pieces_of_their_own() -> None:
    assert pieces("東京に ten ไทย") == ["東", "京", "に ", "ten ", "ไ", "ท", "ย"]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_inserting_adds_a_share_of_the_words_and_keeps_all_others_in_their_order(share: float) -> None:
    copy = edit_text(TEXT, Edit.INSERT, share, rng(), WORDS)
    own = words(TEXT)
    assert len(words(copy)) == len(own) + round(share * len(own))
    assert [word for word in words(copy) if not word.endswith("inserted")] == own


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_deleting_takes_a_share_of_the_words(share: float) -> None:
    copy = words(edit_text(TEXT, Edit.DELETE, share, rng(), WORDS))
    own = words(TEXT)
    assert len(copy) == len(own) - round(share * len(own))
    assert not Counter(copy) - Counter(own)


def test_replacing_changes_a_share_of_the_words_in_place() -> None:
    copy, own = words(edit_text(TEXT, Edit.REPLACE, 0.1, rng(), WORDS)), words(TEXT)
    assert len(copy) == len(own)
    assert sum(new != old for new, old in zip(copy, own, strict=True)) == round(0.1 * len(own))


def test_moving_keeps_every_word() -> None:
    copy = words(edit_text(TEXT, Edit.MOVE, 0.1, rng(), WORDS))
    assert copy != words(TEXT)
    assert Counter(copy) == Counter(words(TEXT))


def test_a_passage_comes_twice_or_not_at_all() -> None:
    own = words(TEXT)
    assert len(words(longer(TEXT, 0.25, rng()))) == len(own) + round(0.25 * len(own))
    assert len(words(shorter(TEXT, 0.25, rng()))) == len(own) - round(0.25 * len(own))
    assert len(words(part(TEXT, 0.25, rng()))) == round(0.25 * len(own))


@pytest.mark.parametrize("edit", list(Edit))
def test_a_text_of_one_word_cannot_be_edited(edit: Edit) -> None:
    with pytest.raises(ConfigError, match="a text of 1 words cannot be edited"):
        edit_text("one", edit, 0.5, rng(), WORDS)


@pytest.mark.slow
def test_the_same_seed_makes_the_same_copies() -> None:
    some = unrelated_documents(20)
    first, again, other = (add_copies(some, 10, rng(seed)).texts for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.slow
@pytest.mark.parametrize("edit", list(Edit))
@pytest.mark.parametrize("level", [0.95, 0.8, 0.6])
def test_a_copy_is_about_as_much_like_its_original_as_was_asked_for(edit: Edit, level: float) -> None:
    drawn = vocabulary(unrelated_documents(20, seed=2).texts, rng())
    copy = edit_text(TEXT, edit, edit_share(edit, level), rng(3), drawn)
    pair = Corpus("pair", ["a", "b"], [TEXT, copy])
    assert pair.jaccard(np.array([0]), np.array([1]))[0] == pytest.approx(level, abs=0.03)


def test_copies_follow_the_documents_under_names_of_their_own() -> None:
    some = unrelated_documents(5)
    made = add_copies(some, 12, rng())
    assert list(made.ids[:5]) == list(some.ids)
    assert list(made.texts[:5]) == list(some.texts)
    assert len(made) == len(set(made.ids)) == 17
    assert all(made.clusters[name] == name.partition("~")[0] for name in made.ids)


def test_documents_of_a_few_words_get_no_copy() -> None:
    mixed = Corpus("mixed", ["short", "long"], ["only five words in here", TEXT])
    assert {name.partition("~")[0] for name in add_copies(mixed, 4, rng()).ids[2:]} == {"long"}
