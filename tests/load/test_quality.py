"""The measures come out right, and `standard` finds on a seeded corpus what it was chosen for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.corpora import read_folder
from gate.lab.experiment import Proportion
from gate.lab.scores import (
    BANDS,
    EQUAL,
    PairScores,
    score_profile,
)
from gate.lab.truth import Corpus
from load.corpus import Recipe
from load.quality import planted
from load.quality_stream import StreamScores, best_before, stream
from load.quality_tables import per_cent, shown, target_table
from tests.lab.lab_samples import FIVE, LENIENT, documents

STANDARD = BUILT_IN["standard"]


# The scores


def test_only_an_accepted_document_counts_for_those_that_come_later() -> None:
    five = documents(*FIVE)
    everybody = best_before(five, np.ones(5, np.bool_))
    assert everybody.tolist() == pytest.approx([0.0, 5 / 7, 1.0, 4 / 6, 0.0])
    without_the_first = best_before(five, np.array([False, True, True, True, True]))
    assert without_the_first.tolist() == pytest.approx([0.0, 0.0, 5 / 7, 4 / 6, 0.0])


def test_a_share_is_shown_rounded_down_with_its_count() -> None:
    assert per_cent(99_996 / 100_000) == "99.99"
    assert per_cent(1.0) == "100.00"
    assert shown(Proportion(1, 3)) == "33.33 (3)"
    assert shown(Proportion(0, 0)) == "-"
    assert Proportion(0, 0).share is None


def test_a_missed_target_says_by_how_much() -> None:
    none = dict.fromkeys((EQUAL, *BANDS), Proportion(0, 0))
    called = none | {">= .9": Proportion(98, 100), ".8 - .9": Proportion(99, 100)}
    precise = Proportion(999, 1000)
    pairs = PairScores(
        documents=9,
        candidate_recall=called,
        match_recall=called,
        planned={},
        candidates=0,
        false_candidates=0,
        precise=precise,
        strict=precise,
    )
    flagged = StreamScores(documents=9, flagged=none, precise=Proportion(0, 2), named=Proportion(0, 0))
    rows = target_table(STANDARD, {"set": pairs}, {"set": flagged}).rows
    assert [row["outcome"] for row in rows] == ["missed by 1.90", "reached", "reached", "missed by 2"]


def test_in_the_stream_a_copy_counts_against_what_was_accepted_and_a_stranger_that_is_flagged_is_false() -> None:
    base = " ".join(f"word{i}" for i in range(60))
    edited = base.replace("word59", "other")
    half = " ".join([*base.split()[:40], *(f"new{i}" for i in range(40))])  # 38 of 58 + 40 shingles: J = .39
    score = stream(documents(base, edited, base.upper(), half), LENIENT)
    assert score.flagged[">= .9"] == Proportion(1, 1)
    assert score.flagged[EQUAL] == Proportion(1, 1)
    assert score.precise == Proportion(2, 3)
    assert score.named == Proportion(2, 3)


# What `standard` was chosen for. The corpus is seeded and nothing else is random, so these are no estimates.


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return planted(1_200, seed=1)


def least(found: dict[str, Proportion], band: str) -> float:
    share = found[band]
    assert share.total >= 50, "the corpus has too few such pairs to tell"
    return share.count / share.total


@pytest.mark.slow
def test_standard_finds_and_calls_alike_what_it_should_over_all_pairs(corpus: Corpus) -> None:
    score = score_profile(corpus, STANDARD)
    assert least(score.match_recall, EQUAL) == 1.0
    assert least(score.match_recall, ">= .9") >= 0.999
    assert least(score.match_recall, ".8 - .9") >= 0.99
    assert least(score.match_recall, ".7 - .8") >= 0.95
    assert least(score.candidate_recall, ".7 - .8") >= 0.99
    assert least(score.candidate_recall, ".6 - .7") >= 0.9
    assert score.precise.share == 1.0
    assert score.strict.share == 1.0
    assert score.false_candidates / score.documents < 0.1


@pytest.mark.slow
def test_standard_flags_what_it_should_in_the_stream(corpus: Corpus) -> None:
    score = stream(corpus, STANDARD)
    assert least(score.flagged, EQUAL) == 1.0
    assert least(score.flagged, ">= .9") >= 0.999
    assert least(score.flagged, ".8 - .9") >= 0.99
    assert least(score.flagged, ".7 - .8") >= 0.95
    assert score.precise.share == 1.0
    assert score.named.share == 1.0


@pytest.mark.slow
def test_standard_finds_near_duplicates_of_short_texts() -> None:
    short = planted(1_500, 2, Recipe(words=24, copies=0.3, exact=0.0, parts=0.3, part_shares=(0.8, 0.9, 0.95)))
    score = score_profile(short, STANDARD)
    assert least(score.match_recall, ".8 - .9") >= 0.99
    assert least(score.match_recall, ".7 - .8") >= 0.9
    assert score.precise.share == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("profile", [BUILT_IN[name] for name in ("standard", "minhash", "simhash")], ids=str)
def test_unrelated_documents_do_not_match(profile: Profile) -> None:
    unrelated = planted(600, 4, Recipe(copies=0.0, exact=0.0, parts=0.0))
    assert score_profile(unrelated, profile).precise.total == 0
    assert stream(unrelated, profile).precise.total == 0


def test_simhash_calls_nothing_alike_that_is_not_and_finds_some_of_the_nearest(corpus: Corpus) -> None:
    score = score_profile(corpus, BUILT_IN["simhash"])
    assert score.precise.share == 1.0
    assert least(score.match_recall, EQUAL) == 1.0
    assert least(score.match_recall, ">= .9") >= 0.3


def test_the_plan_keeps_what_it_says_of_the_candidates(corpus: Corpus) -> None:
    score = score_profile(corpus, STANDARD)
    for band in BANDS:
        assert score.planned[band] == pytest.approx(least(score.candidate_recall, band), abs=0.06)


# The command


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "load.quality", *map(str, arguments)]
    return subprocess.run(run, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_command_measures_a_folder_of_sets_and_writes_its_tables(tmp_path: Path) -> None:
    folder = tmp_path / "sets" / "mine"
    folder.mkdir(parents=True)
    some = planted(40, seed=5)
    lines = [json.dumps({"id": name, "text": text}) for name, text in zip(some.ids, some.texts)]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
    done = command(tmp_path / "sets", "--profile", "simhash", "--json", "--out", tmp_path / "tables.md")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)
    assert tables["The sets, and the truth about them"][0]["documents"] == 40
    assert "simhash@1: the targets" in tables
    assert "### simhash@1, pairwise: recall in per cent" in (tmp_path / "tables.md").read_text()
    assert "mine: simhash@1" in done.stderr


@pytest.mark.slow
def test_without_a_folder_the_sweep_runs_on_planted_copies() -> None:
    done = command("--planted", 60, "--sweep")
    assert done.returncode == 0, done.stderr
    assert "### MinHash, 16 bands of 4: bins and thresholds" in done.stdout
    assert "| 128 | " in done.stdout


@pytest.mark.slow
def test_scans_and_changes_are_measured_on_planted_copies() -> None:
    done = command("--planted", 60, "--scans", "--changes")
    assert done.returncode == 0, done.stderr
    assert "### Scans: bands and rows; candidates" in done.stdout
    assert "| 3% wrong characters | scans |" in done.stdout
    assert "| PDF and TXT | " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--profile", "standart"], "did you mean `standard`"), (["nowhere"], "no docs.jsonl in nowhere")],
)
def test_a_wrong_argument_is_refused_before_any_work(arguments: list[str], said: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("line", ["no json", '{"id": "a"}', "[]"])
def test_a_line_that_is_no_document_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "b"}\n' + line)
    with pytest.raises(ConfigError, match="line 2"):
        read_folder(tmp_path)
