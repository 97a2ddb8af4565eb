"""What the paper prints of its Table 20, against the distances of its own fingerprints."""

from __future__ import annotations

import pytest

from gate.core.simhash import distance
from gate.lab.roth_2013_paper import PAIRS, PRINTS, SIMILARITIES, VIEW, VIEW_ROWS, fingerprint_of

PRINTED = {
    ("sw56gu", "dup"): 1.0,
    ("killfile", "i_25"): 0.96875,
    ("a16", "dup"): 1.0,
    ("a16", "ab88"): 0.8125,
    ("a16", "ba88"): 0.859375,
    ("gettysburg", "d_1"): 0.96875,
    ("gettysburg", "d_10"): 0.9375,
    ("gettysburg", "d_5"): 0.953125,
    ("gettysburg", "i_1"): 0.96875,
    ("gettysburg", "i_10"): 0.984375,
    ("gettysburg", "i_5"): 0.96875,
    ("us-const", "dup"): 1.0,
    ("us-const", "d_10"): 0.953125,
    ("us-const", "d_5"): 0.984375,
    ("us-const", "i_10"): 1.0,
    ("us-const", "i_5"): 1.0,
}


def test_the_fingerprints_of_table_20_agree_in_the_share_of_bits_that_is_printed_there() -> None:
    assert SIMILARITIES == PRINTED
    for (control, variant), value in PRINTED.items():
        differing = distance(int(PRINTS[control, ""], 2), int(PRINTS[control, variant], 2))
        assert 1 - differing / 64 == value
        assert differing <= 12  # all were found at 80 %


def test_gettysburg_has_six_variants() -> None:
    assert sum(control == "gettysburg" for control, _ in SIMILARITIES) == 6


def test_the_rows_of_the_view_are_twice_as_many_as_its_pairs() -> None:
    assert PAIRS == 817_281
    assert pytest.approx(2.68, abs=0.01) == 100 * VIEW_ROWS / PAIRS
    assert VIEW.share == pytest.approx(0.0134, abs=0.0001)


@pytest.mark.parametrize("name", ["gettysburg.txt", "texts/Gettysburg", "getty"])
def test_a_file_is_known_by_its_name(name: str) -> None:
    assert fingerprint_of(name, "d_5") == PRINTS["gettysburg", "d_5"]
    assert fingerprint_of("speech.txt", "") is None
