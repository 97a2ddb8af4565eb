"""Corpora and labels are read from files, and whatever is wrong with them is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.errors import ConfigError
from gate.lab import corpora
from gate.lab.truth import Corpus, PairLabel

TWO = Corpus("two", ["a", "b"], ["one two three", "four five six"])


def test_a_set_is_read_with_all_its_labels(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": 7, "text": "x"}\n\n{"document_id": "b", "text": "y", "more": []}\n')
    (tmp_path / "pairs.tsv").write_text("a\tb\tsame\tjaccard_w3\n7\tb\t1\t0.25\n")
    found = corpora.read_folder(tmp_path)
    assert (found.name, found.ids, found.texts) == (tmp_path.name, ["7", "b"], ["x", "y"])
    assert found.labels == [PairLabel("7", "b", 0.25)]


def test_a_pair_without_a_measure_is_a_label_too(tmp_path: Path) -> None:
    path = tmp_path / "known.tsv"
    path.write_text("a\tb\na\tb\n")
    assert corpora.add_labels(TWO, [path]).labels == [PairLabel("a", "b", None)]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("left\tright\na\tb\n", "labels have the columns a and b"),
        ("", "labels have the columns a and b"),
        ("a\tb\tjaccard_w3\na\tb\n", "line 2: has not the 3 columns"),
        ("a\tb\tjaccard_w3\na\tb\tmuch\n", "line 2: jaccard_w3 is not a number"),
        ("a\tb\tjaccard_w3\na\tb\t1.5\n", "line 2: jaccard_w3 is not between 0 and 1"),
    ],
)
def test_labels_that_cannot_be_understood_are_refused(tmp_path: Path, labels: str, said: str) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(labels)
    with pytest.raises(ConfigError, match=said):
        corpora.add_labels(TWO, [path])


def test_labels_in_another_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_bytes(b"a\tb\n\xe9\tb\n")
    with pytest.raises(ConfigError, match="is not UTF-8 at byte 4"):
        corpora.add_labels(TWO, [path])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"id": "a", "text": "x"}\n{"text": "y"}\n', "line 2: has no `id`"),
        ('{"id": "a", "text": "x"}\nsecret words\n', "line 2: give an object with `id` and `text`"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', "an id is given twice"),
    ],
)
def test_a_line_that_is_no_document_is_named_and_not_quoted(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(lines)
    with pytest.raises(ConfigError, match=said) as caught:
        corpora.read_json_lines(path, name="docs")
    assert "secret" not in str(caught.value)
