"""The measures come out right, and `standard` finds on a seeded corpus what it was chosen for."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Hybrid
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.index.protocol.batch_order import similar_within_batch
from gate.lab.corpora import read_folder
from gate.lab.experiment import Proportion
from gate.lab.scores import (
    BANDS,
    EQUAL,
    PairScores,
    cut,
    find_candidates,
    planned,
    recall_by_band,
    score_profile,
    sign,
)
from gate.lab.truth import LEAST, Corpus, DocumentPairs, PairLabel, disagreements
from load.corpus import Recipe
from load.quality import planted
from load.quality_stream import StreamScores, best_before, stream
from load.quality_tables import per_cent, shown, target_table

STANDARD = BUILT_IN["standard"]
# Brings nearly everything together and calls a tenth in common alike: something that can be wrong.
LENIENT = replace(STANDARD, name="lenient", resemblance=0.1, min_features=1, method=Hybrid(rows=1, bands=64))

# Shingles of the first: abc bcd cde def efg fgh. The second has five of these and one of its own, so J = 5/7; the third
# has the same set in other words' clothes; the fourth has four (bcd cde def efg), so J = 4/6; the fifth has none.
FIVE = ("a b c d e f g h", "a b c d e f g x", "A, b: c (d) e\nf g H!", "b c d e f g", "v w x y z")


def documents(*texts: str) -> Corpus:
    return Corpus("hand-made", [f"d{i}" for i in range(len(texts))], texts)


def pairs_of(found: object) -> dict[tuple[int, int], float]:
    sides = (getattr(found, name).tolist() for name in ("left", "right", "jaccard"))
    return {(left, right): jaccard for left, right, jaccard in zip(*sides)}


# The truth


def test_pairs_are_those_of_first_documents_with_half_or_more_in_common() -> None:
    five = documents(*FIVE)
    assert five.first_equal.tolist() == [0, 1, 0, 3, 4]
    assert pairs_of(five.pairs) == pytest.approx({(0, 1): 5 / 7, (0, 3): 4 / 6, (1, 3): 4 / 6})


def test_every_member_of_a_group_of_equal_documents_is_like_what_the_first_is_like() -> None:
    expected = {(0, 2): 1.0, (0, 1): 5 / 7, (1, 2): 5 / 7, (0, 3): 4 / 6, (2, 3): 4 / 6, (1, 3): 4 / 6}
    assert pairs_of(documents(*FIVE).alike) == pytest.approx(expected)


def test_a_text_without_a_shingle_is_like_nothing_not_even_its_equal() -> None:
    short = documents("one two", "one two", "")
    assert short.first_equal.tolist() == [0, 1, 2]
    assert len(short.alike) == 0
    assert short.jaccard(np.array([0]), np.array([1])).tolist() == [0.0]


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=14), min_size=2, max_size=12))
def test_the_join_finds_exactly_the_pairs_that_comparing_all_of_them_finds(texts: list[list[str]]) -> None:
    some = documents(*map(" ".join, texts))
    sets = [set(zip(words, words[1:], words[2:], strict=False)) for words in texts]
    every = [(a, b) for b in range(len(sets)) for a in range(b) if sets[a] | sets[b]]
    truth = {(a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a, b in every}
    alike = {pair: jaccard for pair, jaccard in truth.items() if jaccard >= LEAST}
    assert pairs_of(some.alike) == pytest.approx(alike)
    firsts = [i for i in range(len(sets)) if sets[i] not in sets[:i]]
    assert pairs_of(some.pairs) == pytest.approx({pair: j for pair, j in alike.items() if set(pair) <= set(firsts)})


def test_labels_are_read_from_any_file_that_has_them_and_disagreement_is_counted(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"d{i}", "text": text, "more": 1}) for i, text in enumerate(FIVE)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    (tmp_path / "ref_pairs.tsv").write_text("a\tb\tjaccard_w3\nd0\td1\t0.7143\nd0\td3\t0.6667\nd3\td4\t0.5\n")
    (tmp_path / "exact_groups.tsv").write_text("id\tgroup\nd0\td0\nd2\td0\n")
    (tmp_path / "clusters.tsv").write_text("id\tcluster\nd0\tx\n")
    five = read_folder(tmp_path)
    assert five.labels == [("d2", "d0", 1.0), ("d0", "d1", 0.7143), ("d0", "d3", 0.6667), ("d3", "d4", 0.5)]
    assert five.clusters == {"d0": "x"}
    assert disagreements(five) == 1
    assert disagreements(dataclasses.replace(five, labels=[*five.labels, PairLabel("d0", "unknown", 0.9)])) == 2


def test_paragraphs_are_cut_out_by_length_and_each_once() -> None:
    some = documents("one two three\n\nfour five\n\none two THREE.", "six seven eight nine")
    short, longer = cut(some, ((2, 3), (4, 5)))
    assert list(short.texts) == ["one two three", "four five"]
    assert list(longer.texts) == ["six seven eight nine"]


# The scores


def test_recall_by_band_is_the_share_of_the_true_pairs_that_were_found() -> None:
    five = documents(*FIVE)
    found = DocumentPairs(np.array([0, 1, 3]), np.array([1, 3, 4]), np.array([5 / 7, 4 / 6, 0.0]))
    shares = recall_by_band(five, found)
    assert {band: (share.count, share.total) for band, share in shares.items() if share.total} == {
        ".7 - .8": (1, 1),
        ".6 - .7": (1, 2),
    }


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


def test_meetings_called_alike_are_those_that_the_gate_finds_in_one_batch() -> None:
    some = planted(200, seed=3)
    method = method_of(STANDARD)
    bodies = sign(method, some.texts)
    left, right = find_candidates(method, bodies)
    earlier = similar_within_batch(method, STANDARD, bodies)
    assert (left < right).all()
    assert {(i, j) for j, those in enumerate(earlier) for i in those} <= set(zip(left.tolist(), right.tolist()))
    firsts = {i for i, first in enumerate(some.first_equal.tolist()) if first == i}
    expected = sum(len(those & firsts) for j, those in enumerate(earlier) if j in firsts)
    assert score_profile(some, STANDARD).precise.total == expected > 50


def test_pairs_below_half_that_are_called_alike_are_false() -> None:
    score = score_profile(documents("a b c d e f g h", "a b c d e v w x y z", "k l m n o p q r"), LENIENT)
    assert score.precise == Proportion(0, 1)  # abc bcd cde of eleven
    assert score.false_candidates == score.candidates >= 1


def test_the_plan_is_asked_about_the_very_pairs_and_only_where_it_speaks_of_the_same_features() -> None:
    five = documents(*FIVE)
    expected = planned(five, STANDARD)
    assert expected[".6 - .7"] == pytest.approx(0.96, abs=0.02)
    assert expected[">= .9"] is None
    assert planned(five, BUILT_IN["roth-2013"]) == dict.fromkeys(BANDS)


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


def test_standard_flags_what_it_should_in_the_stream(corpus: Corpus) -> None:
    score = stream(corpus, STANDARD)
    assert least(score.flagged, EQUAL) == 1.0
    assert least(score.flagged, ">= .9") >= 0.999
    assert least(score.flagged, ".8 - .9") >= 0.99
    assert least(score.flagged, ".7 - .8") >= 0.95
    assert score.precise.share == 1.0
    assert score.named.share == 1.0


def test_standard_finds_near_duplicates_of_short_texts() -> None:
    short = planted(1_500, 2, Recipe(words=24, copies=0.3, exact=0.0, parts=0.3, part_shares=(0.8, 0.9, 0.95)))
    score = score_profile(short, STANDARD)
    assert least(score.match_recall, ".8 - .9") >= 0.99
    assert least(score.match_recall, ".7 - .8") >= 0.9
    assert score.precise.share == 1.0


@pytest.mark.parametrize("profile", [BUILT_IN[name] for name in ("standard", "minhash", "simhash")], ids=str)
def test_strangers_do_not_match(profile: Profile) -> None:
    strangers = planted(600, 4, Recipe(copies=0.0, exact=0.0, parts=0.0))
    assert score_profile(strangers, profile).precise.total == 0
    assert stream(strangers, profile).precise.total == 0


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


def test_without_a_folder_the_sweep_runs_on_planted_copies() -> None:
    done = command("--planted", 60, "--sweep")
    assert done.returncode == 0, done.stderr
    assert "### MinHash, 16 bands of 4: bins and thresholds" in done.stdout
    assert "| 128 | " in done.stdout


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
