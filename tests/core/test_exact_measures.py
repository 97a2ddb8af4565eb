"""Exact measures of two texts, against their definition by counters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.builtin_profiles import BUILT_IN
from gate.core.exact_measures import exact_measures, features_of
from gate.core.text import normalise

hashes = st.lists(st.integers(0, 9), max_size=20)


@given(hashes, hashes, st.booleans())
def test_measures_are_those_of_the_definition(left: list[int], right: list[int], multisets: bool) -> None:
    a, b = (Counter(one) if multisets else Counter(set(one)) for one in (left, right))
    found = exact_measures(np.array(left, np.uint64), np.array(right, np.uint64), multisets=multisets)
    shared = (a & b).total()
    expected = [shared / total if total else None for total in ((a | b).total(), a.total(), b.total())]
    assert [found.resemblance, found.left_in_right, found.right_in_left] == expected


def test_the_sets_of_bergillos_2018_have_three_of_nine_in_common() -> None:
    left, right = (np.array(one, np.uint64) for one in ([0, 1, 2, 5, 6], [0, 2, 3, 4, 5, 7, 9]))
    found = exact_measures(left, right, multisets=False)
    assert found.resemblance == pytest.approx(1 / 3)
    assert (found.left_in_right, found.right_in_left) == (3 / 5, 3 / 7)


@pytest.mark.parametrize(("profile", "count"), [("standard", 8), ("azgomi-2014", 18), ("mod-n", 3), ("roth-2013", 19)])
def test_features_are_k_grams_or_windows_of_bytes(profile: str, count: int) -> None:
    text = "a b c d e f g h i j" if profile == "standard" else "a text of 22 characters"[:22]
    [found] = features_of(normalise([text]), BUILT_IN[profile], b"")
    assert found.size == count
