"""Problems of single documents: a summary by reason, or each when it occurs."""

from __future__ import annotations

import pytest

from gate.cli.progress import EXAMPLES, ProblemLog, progress


def log(*, verbose: bool = False, quiet: bool = False) -> ProblemLog:
    return ProblemLog("skipped", verbose=verbose, bar=progress(quiet=True), quiet=quiet)


def test_a_summary_has_the_reasons_by_count_with_examples_and_totals(capsys: pytest.CaptureFixture[str]) -> None:
    with log() as problems:
        problems.add("rare", "one.txt: is rare")
        for number in range(1200):
            problems.add("common", f"{number}.txt: is common")
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err.splitlines() == [
        *(f"skipped: {number}.txt: is common" for number in range(EXAMPLES)),
        "skipped: 1,200 in all for the reason common; -v reports each",
        "skipped: one.txt: is rare",
    ]
    assert problems.total() == 1201


def test_the_summary_is_written_however_the_work_ends(capsys: pytest.CaptureFixture[str]) -> None:
    problems = log()
    problems.__enter__()
    problems.add("common", "a.txt: is common")
    problems.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert capsys.readouterr().err == "skipped: a.txt: is common\n"


def test_verbose_reports_each_when_it_occurs_and_nothing_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with log(verbose=True) as problems:
        for number in range(5):
            problems.add("common", f"{number}.txt")
        assert len(capsys.readouterr().err.splitlines()) == 5
    assert capsys.readouterr().err == ""


def test_quiet_only_counts(capsys: pytest.CaptureFixture[str]) -> None:
    with log(quiet=True) as problems:
        problems.add("common", "a.txt")
    assert capsys.readouterr().err == ""
    assert problems.total() == 1
