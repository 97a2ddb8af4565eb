"""Copies by what was done to them: what each built-in profile finds of them."""

from __future__ import annotations

import numpy as np
import pytest

from gate.errors import ConfigError
from gate.lab.changes import CHANGES
from gate.lab.truth import Corpus
from gate.lab.tune_changes import (
    ChangedCopies,
    ChangesFound,
    built_in,
    change_copies,
    changes_table,
    measure_changes,
)
from tests.lab.lab_samples import unrelated_documents


@pytest.fixture(scope="module")
def changed() -> ChangedCopies:
    corpus = unrelated_documents(60, words=400)
    ids = [f"{name}~again" for name in corpus.ids[:10]]
    versions = Corpus(
        "versions",
        [*corpus.ids, *ids],
        [*corpus.texts, *corpus.texts[:10]],
        clusters={again: again.removesuffix("~again") for again in ids} | {name: name for name in corpus.ids[:10]},
    )
    return change_copies(versions, np.random.default_rng(1), copied=40)


@pytest.fixture(scope="module")
def found(changed: ChangedCopies) -> dict[str, ChangesFound]:
    return {profile.name: measure_changes(changed, profile) for profile in built_in()}


def test_one_document_of_each_work_is_looked_up_among(changed: ChangedCopies) -> None:
    assert len(changed.originals) == 60
    assert len({name.removesuffix("~again") for name in changed.originals.ids}) == 60
    assert {len(copies) for copies in changed.copies.values()} == {40}


@pytest.mark.parametrize(
    ("kind", "finds", "misses"),
    [("scans", "scans", "standard"), ("parts", "containment", "standard"), ("scans", "scans", "containment")],
)
def test_each_profile_finds_what_it_is_for(found: dict[str, ChangesFound], kind: str, finds: str, misses: str) -> None:
    assert (found[finds].least_found([kind]).share or 0.0) >= 0.95  # type: ignore[list-item]
    assert (found[misses].least_found([kind]).share or 0.0) <= 0.05  # type: ignore[list-item]


def test_five_of_a_hundred_wrong_characters_are_still_found(found: dict[str, ChangesFound]) -> None:
    assert (found["scans"].found["5% wrong characters"].share or 0.0) >= 0.8


def test_unrelated_texts_do_not_match(found: dict[str, ChangesFound]) -> None:
    assert {name: own.false for name, own in found.items()} == {"standard": 0, "containment": 0, "scans": 0}


def test_the_kind_that_is_found_least_decides(found: dict[str, ChangesFound]) -> None:
    assert found["standard"].hardest(["layout", "scans"]).name == "3% wrong characters"
    trial = found["standard"].trial(["layout", "scans"], 1000)
    assert trial.recall == found["standard"].found["3% wrong characters"]
    assert trial.size > 0


def test_the_table_has_a_row_for_every_change_and_one_for_errors(found: dict[str, ChangesFound]) -> None:
    rows = changes_table(found).rows
    assert [row["change"] for row in rows] == [*(change.name for change in CHANGES), "false pairs"]
    assert all(set(found) <= set(row) for row in rows)


def test_too_few_documents_are_refused_with_the_number_needed() -> None:
    with pytest.raises(ConfigError, match="has 5 different documents of 20 words or more, and 30 are needed"):
        change_copies(unrelated_documents(5), np.random.default_rng(1))
