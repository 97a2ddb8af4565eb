"""Comparisons saved by length as in Azgomi et al. 2014."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gate.core.profile import Profile
from gate.lab.azgomi import FILTERS, PAPER_PAIRS, AzgomiOptions, compare_filters, draw_sample, run
from gate.lab.experiment import no_progress
from gate.lab.scores import extract_features
from gate.lab.truth import Corpus

pytestmark = pytest.mark.slow

DRAW = random.Random(3)
VOCABULARY = ["".join(DRAW.choices("abcdefghijklmnoprstuvwy", k=DRAW.randint(2, 9))) for _ in range(300)]
CORPUS = Corpus(
    "made",
    [f"d{i}" for i in range(60)],
    [" ".join(DRAW.choices(VOCABULARY, k=DRAW.randint(40, 400))) for _ in range(60)],
)
OPTIONS = AzgomiOptions(planted=0.4)


def test_an_exact_filter_loses_nothing_and_every_filter_saves() -> None:
    documents = draw_sample(CORPUS, OPTIONS, np.random.default_rng(1))
    cut = [text[: len(text) * 93 // 100] for text in CORPUS.texts[:5]]  # alike from .9 on, but not so by weight
    shingles = extract_features([*documents.texts, *cut], Profile(name="p", tokenizer="characters", gram=5))
    outcomes = {(one.measure, FILTERS[one.name]): one for one in compare_filters(shingles, 0.9, no_progress)}
    for measure, exact_filter in (("sets", "set"), ("multisets", "repetition")):
        whole, exact = outcomes[measure, ""], outcomes[measure, exact_filter]
        assert whole.alike > 0
        assert whole.remaining.saved == 0
        assert (exact.alike, exact.lost) == (whole.alike, 0)
        assert exact.remaining.saved > whole.remaining.total // 2
        for length in ("set", "repetition", "weighted"):
            one = outcomes[measure, length]
            assert one.alike + one.lost == whole.alike
        assert len(outcomes[measure, "weighted"].remaining.pairs) < len(exact.remaining.pairs)
        assert outcomes[measure, "weighted"].lost > 0


def test_so_many_documents_are_drawn_and_a_share_of_them_are_copies() -> None:
    for documents, planted, copies in ((20, 0.25, 5), (20, 0.0, 0), (500, 0.1, 6)):
        some = draw_sample(CORPUS, AzgomiOptions(documents=documents, planted=planted), np.random.default_rng(1))
        assert sum("~" in name for name in some.ids) == copies
        assert len(some) <= max(documents, 66)


def test_the_report_sets_the_papers_table_beside_ours() -> None:
    report = run(CORPUS, OPTIONS, no_progress)
    assert [table.name for table in report.tables] == ["comparisons", "paper", "gate"]
    assert len(report.tables[0].rows) == 8
    assert [row["exact"] for row in report.tables[0].rows] == [True, True, False, False, True, False, True, False]
    assert PAPER_PAIRS == 25_854 + 181_836
    assert any("2,000 short" in note for note in report.notes)


def test_a_gate_compares_less_behind_each_filter_and_an_exact_one_loses_nothing() -> None:
    rows = [row for row in run(CORPUS, OPTIONS, no_progress).tables[-1].rows if row["bands x rows"] == "16 x 2"]
    assert [row["length_filter"] for row in rows] == ["none", "set", "repetition", "weighted"]
    compared, ruled_out, alike, lost = (
        [number for row in rows if isinstance(number := row[name], int)]
        for name in ("candidates compared", "ruled out", "alike", "lost")
    )
    assert compared == sorted(compared, reverse=True)
    assert ruled_out == [compared[0] - some for some in compared]
    assert ruled_out[1] > compared[0] // 2
    assert alike[0] == alike[1] > 0
    assert lost[:2] == [0, 0]


def test_the_same_seed_gives_the_same_counts() -> None:
    first, second = (
        [
            {key: value for key, value in row.items() if key != "seconds"}
            for row in run(CORPUS, OPTIONS, no_progress).tables[0].rows
        ]
        for _ in range(2)
    )
    assert first == second
