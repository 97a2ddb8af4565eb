"""The experiment `roth-2013`: variants are what their names say, and the shares are right."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.errors import ConfigError
from gate.lab.experiment import ExperimentReport, Proportion, no_progress
from gate.lab.roth_2013 import Roth2013Options, find_alike, rearranged, run, shuffled, variants
from gate.lab.roth_2013_paper import SIMILARITIES
from gate.lab.roth_2013_tables import ORDER, PASSAGE, SCATTERED, spread
from gate.lab.truth import Corpus, words
from tests.lab.lab_samples import unrelated_documents

OPTIONS = Roth2013Options(controls=8, inserted=(5, 25), deleted=(10,))


@pytest.fixture(scope="module")
def measured() -> ExperimentReport:
    return run(unrelated_documents(10, words=400), OPTIONS, no_progress)


def rows(report: ExperimentReport, name: str) -> list[dict[str, object]]:
    return [dict(row) for one in report.tables if one.name == name for row in one.rows]


@pytest.mark.slow
def test_each_variant_has_a_row_for_each_way_that_words_can_change(measured: ExperimentReport) -> None:
    assert [(row["variant"], row["changed"]) for row in rows(measured, "variants")] == [
        ("dup", "nothing"),
        ("i_5", SCATTERED),
        ("i_5", PASSAGE),
        ("i_25", SCATTERED),
        ("i_25", PASSAGE),
        ("d_10", SCATTERED),
        ("d_10", PASSAGE),
        ("rearranged", ORDER),
        ("shuffled", ORDER),
    ]


def test_a_duplicate_is_found_always_and_is_the_same_in_every_bit(measured: ExperimentReport) -> None:
    duplicate = rows(measured, "variants")[0]
    assert duplicate["found"] == Proportion(8, 8)
    assert (duplicate["lowest"], duplicate["highest"]) == (1.0, 1.0)
    for profile in ("roth-2013", "simhash", "standard"):
        assert rows(measured, "profiles")[0][profile] == Proportion(8, 8)


def test_the_values_of_the_paper_are_beside_the_variants_that_it_has(measured: ExperimentReport) -> None:
    result = {str(row["variant"]): (row["paper, from"], row["paper, to"]) for row in rows(measured, "variants")}
    assert result == {
        "dup": (1.0, 1.0),
        "i_5": (SIMILARITIES["gettysburg", "i_5"], 1.0),
        "i_25": (0.96875, 0.96875),
        "d_10": (0.9375, 0.953125),
        "rearranged": (None, None),
        "shuffled": (None, None),
    }


def test_eighty_per_cent_are_twelve_bits(measured: ExperimentReport) -> None:
    assert any("12 bits may differ" in note for note in measured.notes)
    assert [row["bits"] for row in rows(measured, "pairs")] == [0, 3, 6, 9, 12, 16, 19]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("i_25", 1.25), ("d_10", 0.9)])
@pytest.mark.parametrize("way", [SCATTERED, PASSAGE])
def test_a_variant_has_as_many_words_as_its_name_says(name: str, share: float, way: str) -> None:
    text = unrelated_documents(1, words=400).texts[0]
    made = variants(OPTIONS, ["another "])[name, way](text, np.random.default_rng(1))
    assert len(words(made)) == pytest.approx(share * len(words(text)), abs=1)


def test_every_pair_of_fingerprints_is_counted_by_its_distance() -> None:
    counts = spread(np.array([0, 1, 3, 0], np.uint64))
    assert counts[:3].tolist() == [1, 3, 2]
    assert counts.sum() == 6


def test_a_stranger_is_not_called_a_variant() -> None:
    text, unrelated = unrelated_documents(2, words=400).texts
    assert find_alike(BUILT_IN["standard"], text, [text, unrelated, text + " more"]).tolist() == [True, False, True]


def test_a_variant_that_is_a_candidate_but_not_alike_enough_is_not_found() -> None:
    text = unrelated_documents(1, words=400).texts[0]
    strict = replace(BUILT_IN["standard"], name="strict", resemblance=1.0)
    assert find_alike(strict, text, [text, text.replace(" ", " more ", 40)]).tolist() == [True, False]


def test_one_document_is_enough() -> None:
    assert rows(run(unrelated_documents(1), OPTIONS, no_progress), "variants")[0]["found"] == Proportion(1, 1)


def test_documents_without_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="no document of dots has 2 words"):
        run(Corpus("dots", ["a", "b"], ["...", "one"]), OPTIONS, no_progress)


def test_paragraphs_change_their_places_and_stay_whole() -> None:
    text = "\n\n".join(f"paragraph {i} of the text" for i in range(6))
    made = rearranged(text, np.random.default_rng(1))
    assert made != text
    assert sorted(made.split("\n\n")) == sorted(text.split("\n\n"))
    assert rearranged("one sentence. and another", np.random.default_rng(1)) == "and another. one sentence"


def test_shuffled_words_are_the_same_in_another_order() -> None:
    text = unrelated_documents(1, words=100).texts[0]
    made = shuffled(text, np.random.default_rng(1))
    assert words(made) != words(text)
    assert sorted(words(made)) == sorted(words(text))


def test_the_files_are_the_control_documents_and_their_variants_of_one_passage(measured: ExperimentReport) -> None:
    assert len(measured.files) == 8 * 7
    name = next(name for name in measured.files if "_" not in name)
    stem = name.removesuffix(".txt")
    own = {other.removeprefix(stem).removesuffix(".txt") for other in measured.files if other.startswith(stem)}
    assert own >= {"", "_dup", "_i_5", "_i_25", "_d_10", "_rearranged", "_shuffled"}
    assert measured.files[f"{stem}_dup.txt"] == measured.files[name]
