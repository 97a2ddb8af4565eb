"""The truth about a corpus: its pairs by shingles, its labels, and where they disagree."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.lab.corpora import read_folder
from gate.lab.planting import add_copies
from gate.lab.truth import LEAST, Corpus, PairLabel, disagreements
from tests.lab.lab_samples import FIVE, documents, unrelated_documents


def pairs_of(found: object) -> dict[tuple[int, int], float]:
    sides = (getattr(found, name).tolist() for name in ("left", "right", "jaccard"))
    return {(left, right): jaccard for left, right, jaccard in zip(*sides)}


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


def test_letters_are_words_where_a_set_is_written_without_spaces() -> None:
    text = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏"
    pair = Corpus("han", ["a", "b"], [text, text.replace("荒", "水")])
    changed = pair.jaccard(np.array([0]), np.array([1]))[0]
    assert changed == pytest.approx((len(text) - 5) / (len(text) + 1))  # 22 shingles of three letters, 3 others each


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_the_resemblance_that_is_looked_up_is_the_one_that_is_counted(chosen: list[tuple[int, int]]) -> None:
    some = CORPUS
    left = np.array([min(pair) for pair in chosen if pair[0] != pair[1]], np.int64)
    right = np.array([max(pair) for pair in chosen if pair[0] != pair[1]], np.int64)
    counted = some.jaccard(left, right)
    assert some.known(left, right).tolist() == np.where(counted >= 0.5, counted, 0.0).tolist()


CORPUS = add_copies(unrelated_documents(6, words=60), 6, np.random.default_rng(3))
