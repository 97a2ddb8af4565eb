"""The picture in docs/choosing-a-profile.md shows what the profiles find now."""

from __future__ import annotations

import re

from load.recall_curve import CALLED_ALIKE, PICTURE, SIMHASH, picture

QUALITY = PICTURE.parent.parent / "quality.md"


def test_the_picture_of_recall_is_that_of_the_built_in_profiles() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    assert drawn == picture(), "docs/assets/recall.svg is of other profiles: run `python -m load.recall_curve`"


def test_the_points_of_the_picture_are_those_of_the_page_on_quality() -> None:
    rows = re.findall(r"^\| peps-dev \| alike \|(?P<cells>.*)\|$", QUALITY.read_text(encoding="utf-8"), re.MULTILINE)
    measured = [[float(cell.split()[0]) for cell in row.split("|")][:0:-1] for row in rows[:2]]
    assert [[percent for _, percent in points] for points in (CALLED_ALIKE, SIMHASH)] == measured
