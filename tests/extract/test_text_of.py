"""The parts of a text."""

from __future__ import annotations

import pytest

from gate.errors import BadDocument
from gate.extract.text_of import TextParts


def test_parts_are_joined_up_to_the_limit() -> None:
    parts = TextParts(6)
    parts.extend(["abc", "", "def"])
    assert str(parts) == "abcdef"
    with pytest.raises(BadDocument, match="more than 6 characters"):
        parts.add("g")
