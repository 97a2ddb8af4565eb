"""Windows, samples and edits as in Cherkasova et al. 2009."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gate.errors import ConfigError
from gate.lab.cherkasova import EXPERIMENT, CherkasovaOptions, check, run
from gate.lab.experiment import ExperimentReport, Proportion, no_progress
from tests.lab.cherkasova_samples import CORPUS

SMALL = CherkasovaOptions(documents=5, edits=(2, 20), windows=(5, 20), short=120, rounds=1)


@pytest.fixture(scope="module")
def report() -> ExperimentReport:
    return run(CORPUS, SMALL, no_progress)


@pytest.mark.slow
def test_the_report_has_every_figure_and_the_papers_numbers_beside_ours(report: ExperimentReport) -> None:
    numbers = {plot.name.removeprefix("short-").split("-")[1].rstrip("ab") for plot in report.plots}
    assert numbers == {str(n) for n in range(1, 12)}
    names = [table.name for table in report.tables]
    of_pairs = ["pairs", "reported", "pair-list", "clusters", "cluster-list"]
    assert names == [
        "windows", "overlap", "samples", "spread", "inserted", "removed",
        *of_pairs, *(f"short-{name}" for name in of_pairs), "times",
    ]  # fmt: skip
    assert report.conclusion
    assert any("paper" in note for note in report.notes)
    by_name = {table.name: table for table in report.tables}
    algorithms = {str(row["algorithm"]) for row in by_name["inserted"].rows}
    assert {one.split("_")[0] for one in algorithms} == {"Mod", "Min", "Sketch", "BSW"}
    assert {row["measure"] for row in by_name["inserted"].rows} == {"both", "entries", "estimate"}
    assert {row["change"] for row in by_name["samples"].rows} == {"inserted at random", "inserted at even distances"}


def test_reported_pairs_are_right_where_their_shingles_say_so(report: ExperimentReport) -> None:
    rows = {row["reported by"]: row["right"] for row in report.tables[7].rows}
    for name in ("Mod_100", "any of them", "all of them"):
        right = rows[name]
        assert isinstance(right, Proportion)
        assert right.count == right.total > 0


@pytest.mark.slow
def test_the_same_seed_makes_the_same_report_but_for_the_times(report: ExperimentReport) -> None:
    again = run(CORPUS, SMALL, no_progress)
    assert [table.rows for table in again.tables[:-1]] == [table.rows for table in report.tables[:-1]]
    other = run(CORPUS, replace(SMALL, seed=2), no_progress)
    assert [table.rows for table in other.tables[:-1]] != [table.rows for table in report.tables[:-1]]


def test_a_number_given_twice_is_refused_before_any_work() -> None:
    with pytest.raises(ConfigError, match="edits"):
        check(CherkasovaOptions(edits=(5, 5)))
    EXPERIMENT.check(SMALL)
