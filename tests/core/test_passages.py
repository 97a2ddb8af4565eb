"""Two texts and the passages they share."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.passages import Passage, passages

WORDS = st.lists(st.sampled_from(["a", "b", "C", "dé", "ß", "漢字", "é"]), max_size=30)
TEXTS = st.one_of(st.text(max_size=60), WORDS.map(" ".join), WORDS.map(",\n".join))


@pytest.mark.slow
@given(TEXTS, TEXTS, st.integers(1, 5))
def test_the_passages_of_a_text_put_together_are_the_text(left: str, right: str, gram: int) -> None:
    lefts, rights = passages(left, right, gram=gram)
    assert "".join(p.text for p in lefts) == left
    assert "".join(p.text for p in rights) == right


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_shared_and_other_passages_take_turns_and_none_is_empty(left: str, right: str, gram: int) -> None:
    for side in passages(left, right, gram=gram):
        assert all(p.text for p in side)
        assert all(a.shared != b.shared for a, b in pairwise(side))


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_either_both_texts_share_something_or_neither_does(left: str, right: str, gram: int) -> None:
    lefts, rights = passages(left, right, gram=gram)
    assert any(p.shared for p in lefts) == any(p.shared for p in rights)


@given(TEXTS, st.integers(1, 5))
def test_a_text_shares_every_word_with_itself(text: str, gram: int) -> None:
    for side in passages(text, text, gram=gram):
        assert len(side) <= 1
    assert all(p.shared for p in passages("x " + text, "x " + text, gram=gram)[0])


def test_an_edited_word_is_the_only_passage_not_shared() -> None:
    left, right = passages("One two three FOUR five six seven.", "one two three 4 five six seven.")
    assert left == (Passage("One two three ", True), Passage("FOUR ", False), Passage("five six seven.", True))
    assert right == (Passage("one two three ", True), Passage("4 ", False), Passage("five six seven.", True))


def test_case_and_white_space_do_not_keep_words_apart() -> None:
    left, right = passages("The  quick\nbrown fox", "the quick BROWN fox")
    assert [p.shared for p in left] == [True]
    assert [p.shared for p in right] == [True]


def test_words_shared_one_by_one_are_not_a_shared_passage() -> None:
    left, _ = passages("red green blue black", "black blue green red")
    assert left == (Passage("red green blue black", False),)


def test_texts_shorter_than_a_run_are_compared_as_a_whole() -> None:
    assert passages("hello world", "Hello, world!") == (
        (Passage("hello world", True),),
        (Passage("Hello, world!", True),),
    )


def test_scripts_without_spaces_are_read_character_by_character() -> None:
    left, _ = passages("春眠不覺曉處處聞啼鳥", "春眠不覺曉夜來風雨聲")
    assert left == (Passage("春眠不覺曉", True), Passage("處處聞啼鳥", False))
    thai, _ = passages("ภาษาไทยง่าย", "ภาษาไทยยาก")
    assert thai == (Passage("ภาษาไทย", True), Passage("ง่าย", False))
    repeated, _ = passages("人々のㇰㇱㇲ山", "人々のㇰㇱㇲ川")
    assert repeated == (Passage("人々のㇰㇱㇲ", True), Passage("山", False))


@pytest.mark.parametrize(("left", "right"), [("", ""), ("", "a b c"), ("...", "!!!"), ("a", "")])
def test_texts_without_words_share_nothing(left: str, right: str) -> None:
    assert not any(p.shared for side in passages(left, right) for p in side)
