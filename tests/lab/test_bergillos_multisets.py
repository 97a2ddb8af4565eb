"""Pairs as sets and as multisets."""

from __future__ import annotations

import pytest

from gate.core.profile import Profile
from gate.lab.bergillos_multisets import multiset_section
from gate.lab.experiment import Table


def test_repetition_counts_in_multisets_only_and_both_are_estimated() -> None:
    words = " ".join(f"word{i}" for i in range(60))
    section = multiset_section([words, f"{words} {words} {words}"] * 2, Profile(name="tried"), 1024)
    table = section.contents[1]
    assert isinstance(table, Table)
    sets, multisets = table.rows
    assert sets["mean"] == pytest.approx(58 / 60)  # two runs of three words across the seams
    assert multisets["mean"] == pytest.approx(58 / 178)
    for row in table.rows:
        assert row["mean error"] == pytest.approx(0.0, abs=0.06)
