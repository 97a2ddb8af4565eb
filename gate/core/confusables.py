"""Look-alike letters as the Latin letters that they look like: `fold_confusables` of a profile.

The table is taken from confusables.txt of Unicode Technical Standard 39, version 13 (copyright 2020 Unicode, Inc.,
under the Unicode License): of its rows of one code point each, those that take a letter of the Latin, Greek, Cyrillic,
Armenian, Coptic or Cherokee script to an ASCII letter, both sides in normal form. Where a capital and its small letter
look like different letters, the small one counts. A text in ASCII is not changed, although 1 and l look alike. An
accented letter is taken apart, folded and composed again.
"""

from __future__ import annotations

import unicodedata

import numpy as np
from numpy.typing import NDArray

from gate.core.text import Texts

LOOK_ALIKE: dict[str, str] = {  # each Latin letter and what looks like it
    "a": "ɑαаᎪ",
    "b": "ƅβвьᏏᏴꞵ",
    "c": "сᏟᴄⲥ",
    "d": "ԁᎠᏧ",
    "e": "εеҽᎬꬲ",
    "f": "ϝքẝꞙꬵ",
    "g": "ƍɡԍցᏀᏳᶃ",
    "h": "ηнһհᎻᏂⲏ",
    "i": "ıɩɪιіӏᎥꙇ",
    "j": "ʝϳјᎫ",
    "k": "κкᏦⲕ",
    "l": "ǀᏞⲓⳑ",
    "m": "μϻмᎷⲙ",
    "n": "ոռⲛ",
    "o": "οσоօᴏᴑⲟꬽ",
    "p": "ρрᏢⲣ",
    "q": "ԛգզ",
    "r": "ʀгᎡᎱᏒᴦⲅꭇꭈ",
    "s": "ƽѕտᏕᏚꜱ",
    "t": "τтᎢⲧ",
    "u": "ʋυսᴜꞟꭎꭒ",
    "v": "νѵᏙᴠ",
    "w": "ɯѡԝաᎳᏔᴡ",
    "x": "χхⲭꭓ",
    "y": "ɣʏγуүᎩᎽᶌỿⲩꭚ",
    "z": "ζᏃᴢ",
}
_PROTOTYPES = str.maketrans({letter: latin for latin, letters in LOOK_ALIKE.items() for letter in letters})
_prototypes = np.zeros(0x110000, dtype=np.uint32)  # 0 is one that was not seen yet; no normal form holds U+0000


def fold_confusables(texts: Texts) -> Texts:
    """Replace each letter of another script that looks like a Latin one by that."""
    if texts.points.dtype == np.uint8:
        return texts
    points = texts.points.astype(np.uint32, copy=False)
    folded: NDArray[np.uint32] = np.take(_prototypes, points)
    if not folded.all():
        for point in np.unique(points[folded == 0]).tolist():
            _prototypes[point] = _prototype(point)
        folded = np.take(_prototypes, points)
    return Texts(folded, texts.starts)


def _prototype(point: int) -> int:
    parts = unicodedata.normalize("NFD", chr(point)).translate(_PROTOTYPES)
    composed = unicodedata.normalize("NFC", parts)
    return ord(composed) if len(composed) == 1 else point
