"""Look-alike letters as Latin ones."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given

from gate.core.confusables import LOOK_ALIKE, fold_confusables
from gate.core.text import encoded, normalise
from tests.core import reference
from tests.core.samples import WRITTEN, batches

pytestmark = pytest.mark.usefixtures("implementation")


def folded(batch: list[str]) -> list[str]:
    return [data.decode() for data in encoded(fold_confusables(normalise(batch)))]


@given(batches)
def test_a_batch_is_folded_as_the_definition_says_of_each_text(batch: list[str]) -> None:
    assert folded(batch) == [reference.fold_confusables(reference.normalise(one)) for one in batch]


@pytest.mark.parametrize(
    ("written", "read"),
    [("сору", "copy"), ("раураl", "paypal"), ("ΗΕΑΤ", "heat"), ("ΜОСК", "mock"), ("соԁе", "code"), ("сафё", "caфë")],
)
def test_words_of_look_alike_letters_are_those_that_they_look_like(written: str, read: str) -> None:
    assert folded([written]) == [read]


def test_only_letters_that_are_no_ascii_are_folded_and_to_one_letter_each() -> None:
    letters = "".join(LOOK_ALIKE.values())
    assert len(set(letters)) == len(letters) > 100
    assert all(unicodedata.category(letter)[0] == "L" and not letter.isascii() for letter in letters)
    assert all(len(latin) == 1 and "a" <= latin <= "z" for latin in LOOK_ALIKE)
    assert [data.decode() for data in encoded(normalise(list(letters)))] == list(letters)
    assert folded(["l1 o0 rn m"]) == ["l1 o0 rn m"]


@pytest.mark.parametrize("language", ["chinese", "japanese", "thai", "hindi", "korean", "arabic", "english", "code"])
def test_other_scripts_and_ascii_are_not_folded(language: str) -> None:
    assert folded([WRITTEN[language]]) == [reference.normalise(WRITTEN[language])]
