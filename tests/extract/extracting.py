"""What the tests of all formats share."""

from __future__ import annotations

from gate.extract.text_of import ExtractedText, ReadOptions

LINES = ["The lamp of the east gate burns all night.", "Nobody may pass without a word from the keeper – ever."]
TEXT = "\n".join(LINES)
OPTIONS = ReadOptions()


def words(extracted: ExtractedText) -> list[str]:
    return extracted.text.split()
