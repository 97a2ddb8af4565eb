"""Numbers have one format."""

from __future__ import annotations

import pytest

from gate.numbers import counted, number


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (999, "999"), (1234567, "1,234,567"), (1234.56, "1,234.6"), (0.01234, "0.012")]
)
def test_a_count_has_thousands_separators_and_a_small_number_two_digits(value: float, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "100.0 %"), (0.9999, "99.9 %"), (0.57, "57.0 %"), (0.7, "70.0 %"), (0.0, "0.0 %")]
)
def test_a_share_is_rounded_down_so_that_only_the_whole_reads_as_whole(value: float, shown: str) -> None:
    assert number(value, "%") == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (65_536, "65.5 kB"), (4.92e9, "4.9 GB"), (5e15, "5,000.0 TB")],
)
def test_bytes_have_the_unit_that_fits(value: float, shown: str) -> None:
    assert number(value, "B") == shown


def test_a_noun_is_singular_for_one_only() -> None:
    assert [counted(count, "document") for count in (0, 1, 2000)] == ["0 documents", "1 document", "2,000 documents"]
