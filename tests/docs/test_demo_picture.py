"""The picture of the README is what `gate demo` shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.docs.demo_picture import PICTURE, demo_output, drawn


@pytest.mark.slow
def test_the_picture_shows_what_the_demo_writes_to_a_terminal() -> None:
    assert drawn(demo_output()) == PICTURE.read_text(encoding="utf-8"), (
        "docs/assets/demo.svg is old: run `make outputs`"
    )


def test_the_picture_fetches_nothing() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    ElementTree.fromstring(text)  # noqa: S314 our own file
    assert re.findall(r"url\((?!#)|href|src|@import", text) == []
