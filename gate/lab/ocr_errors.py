"""Errors of character recognition, planted in a text: what a scan of a page makes of it.

A share of the characters is read wrongly, each by one of the errors that recognition makes: a letter or a pair of
letters is taken for another of like shape, a letter for any other, one is not seen, a speck is read as a mark, a word
falls apart, two words run together. Places are drawn from the whole text. On real pages errors gather in bad lines and
leave whole passages intact, so a copy with as many errors is easier to find than one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

# By shape, in print of the common typefaces; what is read wrongly the other way round has a row of its own.
LOOK_ALIKES: Mapping[str, Sequence[str]] = {
    "rn": ("m",), "cl": ("d",), "vv": ("w",), "li": ("h",), "ri": ("n",), "fi": ("h",), "in": ("m",), "nn": ("m",),
    "a": ("o", "e", "u"), "b": ("h", "6", "l"), "c": ("e", "o", "("), "d": ("cl", "o", "a"), "e": ("c", "o", "a"),
    "f": ("t", "r"), "g": ("q", "9", "y"), "h": ("b", "li", "n"), "i": ("l", "1", "j", "!"), "j": ("i", ";"),
    "k": ("lc", "h"), "l": ("1", "i", "I", "|"), "m": ("rn", "in", "nn"), "n": ("ri", "u", "h"), "o": ("0", "c", "e"),
    "p": ("n", "o"), "q": ("g",), "r": ("t", "n"), "s": ("5", "a", "z"), "t": ("f", "l", "r"), "u": ("ii", "n", "a"),
    "v": ("y", "u"), "w": ("vv", "v"), "x": ("z",), "y": ("v", "g"), "z": ("s", "2"),
    "0": ("O", "o"), "1": ("l", "I", "i"), "2": ("z", "Z"), "3": ("8", "5"), "5": ("s", "S", "6"), "6": ("b", "8"),
    "8": ("B", "3"), "9": ("g", "q"),
    "A": ("4", "R"), "B": ("8", "E", "R"), "C": ("G", "O", "("), "D": ("O", "I)"), "E": ("F", "B"), "F": ("P", "E"),
    "G": ("C", "6"), "H": ("II", "N"), "I": ("l", "1", "|"), "L": ("I", "l"), "M": ("N", "IVI"), "N": ("M", "H"),
    "O": ("0", "Q", "C"), "P": ("F", "R"), "Q": ("O",), "R": ("B", "K"), "S": ("5", "8"), "T": ("I", "1"),
    "U": ("V", "LI"), "V": ("Y", "U"), "W": ("VV",), "Z": ("2",),
    ".": (",", ""), ",": (".", ""), ";": (":", ","), ":": (";", "."), "-": ("", "~"), "'": ("", "`"), '"': ("", "''"),
}  # fmt: skip
SPECKS = (".", ",", "'", "-", "~", "*", "|", ":")
# Of a hundred errors; substitutions by shape are most of them in every comparison of recognised with true text.
KINDS: Mapping[str, float] = {
    "look-alike": 0.58, "any letter": 0.12, "dropped": 0.12, "speck": 0.08, "split": 0.05, "join": 0.05,
}  # fmt: skip
_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")


def misread(text: str, share: float, rng: np.random.Generator) -> str:
    """A copy in which a share of the characters, spaces not counted, was read wrongly."""
    printed = [place for place, character in enumerate(text) if not character.isspace()]
    count = round(share * len(printed))
    if not count:
        return text
    places = np.sort(rng.choice(np.array(printed), count, replace=False)).tolist()
    kinds = rng.choice(list(KINDS), count, p=list(KINDS.values())).tolist()
    parts: list[str] = []
    done = 0
    for place, kind in zip(places, kinds, strict=True):
        if place < done:  # it was the second half of a pair that was misread
            continue
        parts.append(text[done:place])
        seen, replacement = _misread_at(text, place, kind, rng)
        parts.append(replacement)
        done = place + seen
    return "".join(parts) + text[done:]


def _misread_at(text: str, place: int, kind: str, rng: np.random.Generator) -> tuple[int, str]:
    """How many characters are read wrongly, and as what."""
    character = text[place]
    match kind:
        case "dropped":
            return 1, ""
        case "speck":
            return 1, character + _one_of(SPECKS, rng)
        case "split":
            return 1, character + " "
        case "join" if place + 2 < len(text) and text[place + 1].isspace():
            return 2, character
        case "look-alike" | "join":
            for size in (2, 1):
                if choices := LOOK_ALIKES.get(text[place : place + size]):
                    return size, _one_of(choices, rng)
    return 1, _one_of(_LETTERS, rng)


def _one_of(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(0, len(choices)))]
