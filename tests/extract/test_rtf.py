"""RTF."""

from __future__ import annotations

from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS, words
from tests.extract.office_samples import (
    rtf,
)


def test_words_of_all_scripts_come_out() -> None:
    assert words(extract_text(rtf("naïve ворота 門"), OPTIONS)) == ["naïve", "ворота", "門"]
