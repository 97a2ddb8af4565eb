"""What a corpus is to be wary of before a profile is chosen for it."""

from __future__ import annotations

from dataclasses import replace

from gate.lab.cautions import cautions
from gate.lab.truth import Corpus
from tests.lab.lab_samples import unrelated_documents


def test_plain_documents_give_no_warning() -> None:
    assert not cautions(unrelated_documents(40)).warnings


def test_templates_are_warned_of() -> None:
    some = unrelated_documents(40)
    form = unrelated_documents(1, seed=5, words=120).texts[0]
    [warning] = cautions(replace(some, texts=[f"{form} {text}" for text in some.texts])).warnings
    assert warning.startswith("templates: half of the documents share")


def test_very_short_documents_are_warned_of() -> None:
    some = unrelated_documents(40)
    texts = [text[:40] if number % 2 else text for number, text in enumerate(some.texts)]
    assert any(warning.startswith("very short: 50 %") for warning in cautions(replace(some, texts=texts)).warnings)


def test_a_script_whose_letters_are_words_is_reported() -> None:
    found = cautions(Corpus("thai", ["a"], ["ภาษาไทยไม่เว้นวรรคระหว่างคำ" * 10]))
    assert found.spaceless
    assert any("each letter counts as a word" in warning for warning in found.warnings)


def test_a_script_that_the_gate_cannot_cut_is_named() -> None:
    found = cautions(Corpus("javanese", ["a"], ["ꦧꦱꦗꦮ" * 60]))
    assert not found.spaceless
    assert any("cannot separate words" in warning and "Javanese" in warning for warning in found.warnings)
