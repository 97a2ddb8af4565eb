"""What Roth 2011 reports in its tables, for comparison with what is measured here."""

from __future__ import annotations

from typing import NamedTuple

COMBINATIONS = 672  # 14 methods x 3 tokenizers x 4 variations x 4 runs; method 13 does not work on characters, he says
ABOVE_ONE = 104  # combinations with a score above 1
FREQUENCIES = {9: 23, 3: 21, 7: 21}  # of the methods among those; the others of Figure 3 are in its picture only

PROVERBS = ("Proverbs", "Proverbs1-16", "Proverbs1-24", "Proverbs25-31")
CONSTITUTION = (
    "usConstitution(copy)",
    "usConstitution-BillofRights",
    "usConstitution-noPreamble",
    "usConstitution",
)
DECLARATION = ("usDOI-1", "usDOI-Grievances", "usDOI")
ZONES = {"Proverbs": PROVERBS, "Constitution": CONSTITUTION, "Declaration of Independence": DECLARATION}

# Tables 6 to 8, a line a document: exact, similar, medium, low similarity, none.
EXPECTED = {
    "Proverbs": ("essl", "sesn", "ssen", "lnne"),
    "Constitution": ("esse", "sesm", "sses", "esse"),
    "Declaration of Independence": ("els", "lel", "sle"),
}
MEANINGS = {"e": "exact", "s": "similar", "m": "medium", "l": "low similarity", "n": "none"}
SIMILAR = "esm"  # what is expected to be found


# Table 1: characters and words of each of the fifteen documents.
SIZES = {
    "AddToClipboardAction.java": (3_632, 213),
    "DeleteDocument.class": (18_468, 2_711),
    "Gettysburg": (1_473, 270),
    "Proverbs": (91_384, 19_157),
    "Proverbs1-16": (42_069, 8_376),
    "Proverbs1-24": (69_016, 13_736),
    "Proverbs25-31": (22_368, 4_421),
    "TargetSetup.Result": (3_115, 347),
    "usConstitution(copy)": (48_067, 7_669),
    "usConstitution-BillofRights": (32_006, 5_039),
    "usConstitution-noPreamble": (47_728, 7_617),
    "usConstitution": (48_067, 7_669),
    "usDOI-1": (8_147, 1_337),
    "usDOI-Grievances": (4_093, 682),
    "usDOI": (8_179, 1_341),
}


class PublishedResult(NamedTuple):
    """A line of Table 9, and the zones of Tables 10 to 24: 1 is similar."""

    method: int
    variation: str
    gram: int
    window: int
    false_positives: int
    false_negatives: int
    correct: int
    score: float
    zones: dict[str, tuple[str, ...]]


def _zones(proverbs: str, constitution: str, declaration: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(rows.split()) for name, rows in zip(ZONES, (proverbs, constitution, declaration))}


_AS_EXPECTED = "1110 1110 1110 0001"
_ALL = "1111 1111 1111 1111"
_APART = "101 010 101"
TOP = (
    PublishedResult(43, "B", 40, 100, 0, 10, 35, 3.50, _zones(_AS_EXPECTED, _ALL, _APART)),
    PublishedResult(
        47, "C", 40, 100, 14, 5, 40, 2.11, _zones("1110 0111 1111 0101", "1111 1101 1111 1111", "111 111 111")
    ),
    PublishedResult(43, "B", 4, 5, 3, 13, 32, 2.00, _zones(_AS_EXPECTED, "1111 0100 1111 1111", _APART)),
    PublishedResult(3, "B", 16, 25, 8, 10, 35, 1.94, _zones(_AS_EXPECTED, _ALL, _APART)),
    PublishedResult(21, "B", 40, 100, 2, 14, 31, 1.94, _zones(_AS_EXPECTED, "1111 0100 1011 1111", _APART)),
)
