"""What a copy can be changed in so that the gate does not find it: 37 evasions tried, and the result of each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from gate import BUILT_IN, CheckIn, Gate, Profile

ROOT = Path(__file__).parent.parent
# Prose of 170 words.
PROSE = """\
The ferry left the northern quay an hour late, because the captain's brother had borrowed the spare anchor
and nobody could say where he had taken it. We stood at the rail with our coats buttoned to the chin and
watched the lights of the harbour shrink to a thin yellow line. A woman beside me was peeling an orange with
her fiancé's knife; she cut the rind in one long ribbon and let it fall into the water. "My grandmother did
it that way," she said, "and she crossed this strait eleven hundred times." Toward midnight the wind turned,
and the deck began to lean. Somebody's suitcase slid past us, slowly at first, then with real purpose, and
burst open against the stairs. Letters flew out of it, dozens of them, all in the same blue ink. We gathered
what we could. Nobody read a word, but I remember that every single one began with the name of a town I had
never visited and ended with a promise.""".replace("\n", " ")
JUNK = ("grommet", "parsnip", "ledger", "wicket", "tundra", "spigot", "marzipan", "girder", "thistle", "quorum")
LOOK_ALIKE = str.maketrans("aeopcxyAEOPCXY", "аеорсхуАЕОРСХУ")
ACCENTS = str.maketrans("aeiou", "áéíóú")
INVISIBLE = {
    "U+0001 (control)": "\x01", "U+007F (delete)": "\x7f", "U+0080 (control)": "\x80", "U+FFF9 (annotation)": "\ufff9",
    "U+13430 (hieroglyph joiner)": "\U00013430", "U+2800 (braille blank)": "\u2800", "U+200A (hair space)": "\u200a",
    "U+FFFC (object replacement)": "\ufffc", "U+0332 (low line)": "\u0332", "U+FE2F (half mark)": "\ufe2f",
    "U+00AD (soft hyphen)": "\xad", "U+200B (zero-width space)": "\u200b", "U+200D (joiner)": "\u200d",
    "U+200C (non-joiner)": "\u200c", "U+2060 (word joiner)": "\u2060", "U+FE0F (variation selector)": "\ufe0f",
    "U+E0061 (tag)": "\U000e0061", "U+2062 (invisible times)": "\u2062", "U+202E (right-to-left override)": "\u202e",
}  # fmt: skip


def each(nth: int, change: Callable[[str], str]) -> Callable[[str], str]:
    """Change every n-th word, the rest stays."""
    return lambda text: " ".join(change(word) if i % nth == 0 else word for i, word in enumerate(text.split(), 1))


def inside(letter: str) -> Callable[[str], str]:
    return lambda word: word[: len(word) // 2] + letter + word[len(word) // 2 :]


def shifted(first: int) -> Callable[[str], str]:
    """Small letters as those of another block of letters."""
    return lambda text: "".join(chr(first + ord(c) - ord("a")) if "a" <= c <= "z" else c for c in text)


def pairs_joined(text: str) -> str:
    """Every sixth pair of words without a space between them."""
    words, left = text.split(), ""
    for i in range(0, len(words), 2):
        gap = "" if i // 2 % 6 == 5 else " "
        left += gap.join(words[i : i + 2]) + " "
    return left


def curly(text: str) -> str:
    return re.sub('"([^"]*)"', "\u201c\\1\u201d", text).replace(";", " \u2014").replace("'", "\u02bc")


def reversed_sentences(text: str) -> str:
    return " ".join(reversed(re.findall(r"[^.]+\.\"?", text)))


def junk_after_third(text: str) -> str:
    words = text.split()
    return " ".join(f"{word} {JUNK[i // 3 % 10]}" if i % 3 == 0 else word for i, word in enumerate(words, 1))


def junk_appended(text: str) -> str:
    return f"{text} {' '.join(JUNK[i * i % 10] + JUNK[i * 7 % 10] + str(i) for i in range(len(text.split())))}"


EVASIONS: dict[str, Callable[[str], str]] = {
    **{f"{name} in every third word": each(3, inside(letter)) for name, letter in INVISIBLE.items()},
    "upper case": str.upper,
    "full-width letters": shifted(0xFF41),
    "mathematical letters": shifted(0x1D41A),
    "no-break spaces": lambda text: text.replace(" ", "\xa0"),
    "decomposed accents (NFD)": lambda text: unicodedata.normalize("NFD", text),
    "curly quotes, dashes and apostrophes": curly,
    "sentences in reverse order": reversed_sentences,
    "Cyrillic look-alikes in all words": lambda text: text.translate(LOOK_ALIKE),
    "Cyrillic look-alikes in every fourth word": each(4, lambda word: word.translate(LOOK_ALIKE)),
    "Cyrillic look-alikes in every eighth word": each(8, lambda word: word.translate(LOOK_ALIKE)),
    "accents on the vowels of every fourth word": each(4, lambda word: word.translate(ACCENTS)),
    "a hyphen inside every fifth word": each(5, inside("-")),
    "every sixth word changed": each(6, lambda word: JUNK[len(word) % 10]),
    "every sixth pair of words joined": pairs_joined,
    "a word of junk after every third": junk_after_third,
    "as much junk appended": junk_appended,
    "the first half only": lambda text: text[: len(text) // 2],
    "regional-indicator letters": shifted(0x1F1E6),
}
FOLDING: Profile = structs.replace(BUILT_IN["standard"], name="folding", fold_confusables=True)


def result(evasion: str, profile: Profile, secret: bytes = b"") -> str:
    """The relation of a copy with this evasion."""
    with Gate(profile, secret=secret) as gate:
        gate.check_in([CheckIn(document_id="original", text=PROSE)])
        [verdict] = gate.check_in([CheckIn(document_id="copy", text=EVASIONS[evasion](PROSE))])
    return verdict.relation.value


def table() -> str:
    """The table of docs/threats.md."""
    lines = ["| What is changed | `standard` | with `fold_confusables` |", "|---|---|---|"]
    for evasion in EVASIONS:
        results = [result(evasion, profile) for profile in (BUILT_IN["standard"], FOLDING)]
        lines.append(f"| {evasion} | {' | '.join(f'`{one}`' for one in results)} |")
    return "\n".join(lines)


def test_thirty_seven_evasions_of_a_text_of_170_words_are_tried() -> None:
    assert len(PROSE.split()) == 170
    assert len(EVASIONS) == 37
    assert all(change(PROSE) != PROSE for change in EVASIONS.values())


@pytest.mark.parametrize("secret", [b"", b"secret"])
@pytest.mark.parametrize("evasion", [*(f"{name} in every third word" for name in INVISIBLE), "full-width letters"])
def test_what_a_reader_does_not_see_makes_no_difference(evasion: str, secret: bytes) -> None:
    assert result(evasion, BUILT_IN["standard"], secret) == "exact"


@pytest.mark.parametrize("evasion", [name for name in EVASIONS if "look-alikes" in name])
def test_look_alike_letters_are_found_with_fold_confusables_only(evasion: str) -> None:
    assert result(evasion, BUILT_IN["standard"]) == "new"
    assert result(evasion, FOLDING) == "near"


def test_the_page_on_threats_shows_the_result_of_each_evasion() -> None:
    shown = table()
    assert shown in (ROOT / "docs/threats.md").read_text(encoding="utf-8"), f"put into docs/threats.md:\n{shown}"
