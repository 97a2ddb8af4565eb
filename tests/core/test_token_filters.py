"""Stop words, repeats, vowels and numbers: what is left of each text is the definition's, whatever stands beside it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import token_filters
from gate.core.keyed_hash import key_of
from gate.core.text import Texts, encoded, normalise
from gate.core.tokenizers import Tokens, find_words, word_tokens
from tests.core import reference
from tests.core.samples import any_texts, batches

pytestmark = pytest.mark.usefixtures("implementation")

STOP_WORDS = st.sampled_from(
    [(), ("hello", "the"), ("漢", "的", "ก็"), ("don't", "É", "STRASSE"), ("!",), ("привет", "12")]
)


def decoded(texts: Texts) -> list[str]:
    return [data.decode() for data in encoded(texts)]


def spelt(batch: list[str]) -> list[str]:
    return [reference.normalise(one) for one in batch]


# Numbers


@given(batches)
@example(["12", "34", "٣", "", "5a6", "7"])
@example(["é1", "2", "é"])
def test_numbers_are_masked_as_the_definition_says(batch: list[str]) -> None:
    assert decoded(token_filters.mask_numbers(normalise(batch))) == [
        reference.mask_numbers(one) for one in spelt(batch)
    ]


def test_a_number_at_the_end_of_one_text_does_not_swallow_one_at_the_beginning_of_the_next() -> None:
    assert decoded(token_filters.mask_numbers(normalise(["x 12", "34 y", "56", "78"]))) == ["x 0", "0 y", "0", "0"]


def test_digits_of_every_script_are_masked_alike() -> None:
    masked = decoded(
        token_filters.mask_numbers(normalise(["in 1984", "in ١٩٨٤", "in ๑๙๘๔", "in １９８４", "in 𝟏𝟗84", "in 7"]))
    )
    assert set(masked) == {"in 0"}


@given(any_texts)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = token_filters.mask_numbers(normalise([text]))
    assert decoded(token_filters.mask_numbers(once)) == decoded(once)


# Vowels


@given(batches)
@example(["e", "\u0301x", "a\u030bb", "\u0301", "ạ̄"])
@example(["áéíóú", "\u0323b", "bcd"])
@example(["\u0301bc", "da"])
def test_vowels_are_dropped_as_the_definition_says(batch: list[str]) -> None:
    assert decoded(token_filters.drop_vowels(normalise(batch))) == [reference.drop_vowels(one) for one in spelt(batch)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The Quick Brown Fox", "th qck brwn fx"),
        ("élève naïf où Ångström", "lv nf  ngstrm"),
        ("Nguyễn Thị Tuyết", "ngyn th tyt"),  # two accents, composed
        ("ba\u030bb", "bb"),  # an accent that composes with no a goes with it
        ("be\u0323\u0301b", "bb"),
        ("привет", "привет"),
        ("aeiou", ""),
    ],
)
def test_vowels_go_with_all_their_accents(text: str, left: str) -> None:
    assert decoded(token_filters.drop_vowels(normalise([text]))) == [left]


# Stop words in a text of characters


@pytest.mark.slow
@given(batches, STOP_WORDS)
@example(["the", "the end", "in the", "", "a"], ())
@example(["é the", "the é", "字the \u3099", "的的 的", "漢"], ("漢", "的"))
def test_stop_words_are_cut_out_of_a_text_as_the_definition_says(batch: list[str], stop_words: tuple[str, ...]) -> None:
    left = token_filters.drop_stop_words_from_text(normalise(batch), stop_words)
    assert decoded(left) == [reference.drop_stop_words_from_text(one, stop_words) for one in spelt(batch)]


@pytest.mark.parametrize("other", ["plain", "éclair", "漢字"])
def test_stop_words_at_the_borders_of_texts_take_nothing_of_their_neighbours(other: str) -> None:
    batch = [f"the {other}", f"{other} of", "the", "x", "", f"of {other} the", "theory"]
    left = decoded(token_filters.drop_stop_words_from_text(normalise(batch), ()))
    assert left == [other, f"{other} ", "", "x", "", f"{other} ", "theory"]


# Stop words and repeats in a sequence of tokens


def tokens_of(batch: list[str], secret: bytes = b"") -> Tokens:
    return word_tokens(find_words(normalise(batch)), key_of(secret))


def listed(tokens: Tokens) -> list[list[int]]:
    hashes = tokens.hashes.tolist()
    return [hashes[i:j] for i, j in zip(tokens.starts.tolist(), tokens.starts[1:].tolist())]


@given(batches, STOP_WORDS, st.sampled_from([b"", b"secret"]))
def test_stop_words_are_left_out_of_the_tokens(batch: list[str], stop_words: tuple[str, ...], secret: bytes) -> None:
    left = token_filters.drop_stop_words(tokens_of(batch, secret), tokens_of(batch).hashes, stop_words)
    stops = reference.stop_list(stop_words)
    expected = [[reference.token(w, secret) for w in reference.words(t) if w not in stops] for t in spelt(batch)]
    assert listed(left) == expected


@given(batches)
@example(["a b a", "a", "", "b b b a"])
def test_the_first_occurrence_of_a_repeated_token_stays_in_each_text(batch: list[str]) -> None:
    tokens = tokens_of(batch)
    assert listed(token_filters.drop_repeats(tokens)) == [list(dict.fromkeys(one)) for one in listed(tokens)]


def test_a_stop_word_of_several_words_counts_for_each_of_them() -> None:
    assert reference.stop_list(["don't"]) == {"don", "t"}
    left = token_filters.drop_stop_words(tokens_of(["don t do"]), tokens_of(["don t do"]).hashes, ["don't"])
    assert listed(left) == listed(tokens_of(["do"]))


def test_the_english_stop_words_are_all_distinct_single_words() -> None:
    assert len(set(token_filters.ENGLISH)) == len(token_filters.ENGLISH) == len(reference.stop_list(()))
