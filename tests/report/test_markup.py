"""Pieces of HTML escape what they get and draw what they are given."""

from __future__ import annotations

import re

from gate.report.markup import bars_over_time, name_cell, number_cell, section, share_bar, table
from gate.report.totals import Count, Period


def test_text_is_escaped_wherever_it_goes() -> None:
    evil = '<script>"&'
    pieces = (
        section(evil, ""),
        name_cell(evil),
        number_cell(evil),
        table(evil, [evil], [], right=()),
        bars_over_time([Period(evil, Count(1))]),
    )
    for piece in pieces:
        assert "<script>" not in piece
        assert "&lt;script&gt;&quot;&amp;" in piece


def test_bars_are_as_tall_as_their_share_of_the_tallest() -> None:
    drawn = bars_over_time([Period("2026-05", Count(10, 5)), Period("2026-06", Count(5, 0))])
    heights = [float(height) for height in re.findall(r'<rect [^>]*height="([\d.]+)"', drawn)]
    tallest, copies, second, none = heights
    assert (copies, second, none) == (tallest / 2, tallest / 2, 0)


def test_the_bars_are_a_table_too() -> None:
    drawn = bars_over_time([Period("2026-05", Count(1000, 333)), Period("2026-06", Count())])
    assert ">1,000</td>" in drawn
    assert ">33.3 %</td>" in drawn
    assert ">-</td>" in drawn  # no share of nothing


def test_no_periods_are_no_chart() -> None:
    assert bars_over_time([]) == ""


def test_many_periods_have_few_labels_all_of_them_inside_the_chart() -> None:
    drawn = bars_over_time([Period(f"{year}", Count(1)) for year in range(1965, 2027)])
    labels = re.findall(r'<text class="axis" x="[\d.]+"( text-anchor="end")? y="184">(\d+)</text>', drawn)
    assert 5 <= len(labels) <= 9
    assert labels[-1][0]


def test_a_bar_of_a_share_is_that_wide() -> None:
    assert 'width="27.3"' in share_bar(0.273, is_copy=True)
