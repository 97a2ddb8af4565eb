"""Misread copies have as many wrong characters as was asked for, and errors of the kinds that recognition makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.lab.ocr_errors import KINDS, LOOK_ALIKES, misread
from tests.lab.lab_samples import unrelated_documents

TEXT = unrelated_documents(1, words=150).texts[0]


def misread_copy(text: str, share: float, seed: int = 1) -> str:
    return misread(text, share, np.random.default_rng(seed))


def edit_distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


@pytest.mark.parametrize("share", [0.01, 0.03, 0.05])
def test_the_asked_share_of_the_printed_characters_is_wrong(share: float) -> None:
    """A pair taken for one letter is one error and two edits, so edits may be somewhat more than errors."""
    printed = sum(not character.isspace() for character in TEXT)
    edits = edit_distance(TEXT, misread_copy(TEXT, share))
    assert 0.8 * share <= edits / printed <= 1.6 * share


@given(st.text(max_size=200), st.floats(0, 1))
def test_any_text_can_be_misread(text: str, share: float) -> None:
    copy = misread_copy(text, share)
    assert len(copy) <= 3 * len(text)


def test_nothing_is_misread_without_errors() -> None:
    assert misread_copy(TEXT, 0.0) == TEXT
    assert misread_copy(" \n\t", 1.0) == " \n\t"


def test_the_same_seed_makes_the_same_errors() -> None:
    assert misread_copy(TEXT, 0.05) == misread_copy(TEXT, 0.05)
    assert misread_copy(TEXT, 0.05) != misread_copy(TEXT, 0.05, seed=2)


def test_words_fall_apart_and_run_together() -> None:
    words = "word " * 2000
    copy = misread_copy(words, 0.1)
    assert copy.count("wordword") > 0
    assert any(split in copy for split in ("w ord", "wo rd", "wor d"))


def test_most_errors_are_look_alikes_and_kinds_add_up() -> None:
    assert sum(KINDS.values()) == pytest.approx(1.0)
    assert max(KINDS, key=lambda kind: KINDS[kind]) == "look-alike"
    assert all(read not in seen for read, seen in LOOK_ALIKES.items())
