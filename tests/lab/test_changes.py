"""Each change does what its name says, to any text, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.core.judge import verify
from gate.core.method_registry import method_of
from gate.lab.changes import CHANGES, COLUMNS, KINDS, ChangeContext, CopyChange, hyphenate, reorder, typeset_marks
from gate.lab.scores import sign
from gate.lab.truth import words
from tests.lab.lab_samples import unrelated_documents

TEXT = "\n\n".join(unrelated_documents(6, words=80).texts)
BY_NAME = {change.name: change for change in CHANGES}


def context(seed: int = 1) -> ChangeContext:
    return ChangeContext(
        rng=np.random.default_rng(seed), words=["zzinserted "], boilerplate=[f"frame{n} " for n in range(50)]
    )


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_leaves_another_text_and_the_same_one_for_the_same_seed(change: CopyChange) -> None:
    text = TEXT.replace("\n\n", '\n\n"Well" - it\'s... ')
    assert change.copy(text, context()) != text
    assert change.copy(text, context()) == change.copy(text, context())


def test_every_kind_has_a_change_that_a_profile_is_judged_by() -> None:
    assert {change.kind for change in CHANGES if change.typical} == set(KINDS)


@pytest.mark.parametrize("separator", ["\n\n", "\n", " "], ids=["paragraphs", "lines", "runs of words"])
def test_reordering_keeps_every_word(separator: str) -> None:
    text = separator.join(f"part{n} " + " ".join(f"w{n}x{i}" for i in range(60)) for n in range(8))
    assert sorted(words(reorder(text, context()))) == sorted(words(text))
    assert words(reorder(text, context())) != words(text)


@pytest.mark.parametrize("share", [10, 30, 60])
def test_boilerplate_frames_the_whole_text(share: int) -> None:
    copy = BY_NAME[f"{share}% boilerplate"].copy(TEXT, context())
    assert TEXT in copy
    assert copy.startswith("frame0 ")
    added = len(words(copy)) - len(words(TEXT))
    assert added / len(words(TEXT)) == pytest.approx(share / 100, abs=0.01)


def test_the_first_half_is_the_beginning_of_the_text() -> None:
    half = BY_NAME["first half"].copy(TEXT, context())
    assert TEXT.startswith(half)
    assert len(words(half)) == pytest.approx(len(words(TEXT)) / 2, abs=1)


def test_divided_words_are_whole_again_without_their_line_ends() -> None:
    copy = hyphenate(TEXT, context())
    assert max(map(len, copy.splitlines())) <= COLUMNS
    assert copy.count("-\n") >= 3
    assert copy.replace("-\n", "").split() == TEXT.split()


def test_quotes_and_dashes_are_set_as_a_word_processor_sets_them() -> None:
    assert typeset_marks('"It\'s" - so -- well...', context()) == "“It’s” – so — well…"


def test_scans_finds_a_misread_copy_that_standard_does_not_and_no_unrelated_text() -> None:
    """The known rates of a seeded corpus are in docs/quality.md; this is one text."""
    copy = BY_NAME["3% wrong characters"].copy(TEXT, context())
    other = "\n\n".join(unrelated_documents(6, seed=7, words=80).texts)
    found = {}
    for name in ("standard", "scans"):
        profile = BUILT_IN[name]
        method = method_of(profile)
        bodies = sign(method, [TEXT, copy, other])
        found[name] = [one is not None for one in verify(method, profile, bodies[:1] * 2, bodies[1:])]
    assert found == {"standard": [False, False], "scans": [True, False]}
