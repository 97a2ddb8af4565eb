"""Texts that find the places where code points, words and documents meet."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from gate.core.shingles import Features

# Pieces that interact: case, compatibility, composition, marks in the wrong order, marks without a base, invisible
# code points, scripts without spaces, digits of several scripts, stop words, numbers, and every kind of white space.
PIECES = (
    "the", "The", "of", "don't", "a", "I", "x_1", "hello", "WORLD", "yourselves", "antidisestablishmentarianism",
    "Robert", "rupert", "Ashcraft", "Tymczak", "12", "3.14", "2024-01-02", "007", "b2b", "!", ",", "—", "-", "'",
    "Strasse", "Straße", "ﬁne", "ＦＵＬＬ", "Ⅷ", "½", "²", "İ", "ı", "ñandú", "crème", "Ångström", "Å", "ö",
    "é", "e\u0301", "e\u0323\u0301", "e\u0301\u0323", "\u0301", "n\u0303a\u030b", "a\u0323\u0304", "\u00a8", "\u00b4a",
    "\u0345", "α\u0345\u0301", "ΐ", "ς", "Σ", "Привет", "МИР", "й", "и\u0306", "العربية", "مَرحبا", "٣٤", "\u064b",
    "\u00ad", "\u200b", "\u200d", "\ufeff", "\u034f", "\x00", "\x1c", "\x7f", "ש\u05c1\u05bc", "हिन्दी", "\u093f",
    "\U00011099\U000110ba", "한국어", "\u1112\u1161\u11ab", "하\u11ab", "\u1112", "\u1161", "\u11ab", "\u3164",
    "ﾊﾟ", "は\u309a", "パソコン", "ひらがな", "漢字", "的", "々", "\u3099", "𠀀", "\U0002f800", "ｶﾞ",
    "สวัสดี", "ก็", "\u0e48", "๑๒", "ພາສາ", "ខ្មែរ", "မြန်မာ",
    "👍", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "\U0001f44d\U0001f3fd", "a" * 70, "é" * 65, "漢" * 3, "\u0301" * 66,
)  # fmt: skip
GAPS = ("", "", " ", " ", " ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u2003", "\u3000", "\x1c", "\x85", ". ")

UNICODE = st.characters(exclude_categories=["Cs"])

joined = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), max_size=25).map(
    lambda parts: "".join(piece + gap for piece, gap in parts)
)
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=40)
any_texts = st.one_of(joined, joined, st.text(UNICODE, max_size=40), ascii_texts)
batches = st.lists(any_texts, max_size=6)

# Languages as they are written; each is long enough for features of every tokenizer and size.
WRITTEN = {
    "english": "The quick brown fox jumps over the lazy dog; the dog, by the way, didn't mind it in 2024.",
    "german": "Über dem grünen Wald ziehen große weiße Wolken, und die Straße führt weiter nach Süden.",
    "french": "Où l'élève a-t-il trouvé ce cœur naïf ? À Noël, près du château, vers 18 h 30.",
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. Это было в 1998 году.",
    "arabic": "كان الطقس جميلاً في الصباح ثم هطل المطر بعد الظهر سنة ٢٠٢٤ في المدينة القديمة.",
    "chinese": "春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。二〇二四年一月",
    "japanese": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。ｶﾞｷﾞｸﾞ ２０２４",
    "thai": "ภาษาไทยเขียนติดกันโดยไม่เว้นวรรคระหว่างคำ และมีวรรณยุกต์ พ.ศ. ๒๕๖๗",
    "hindi": "सभी मनुष्य जन्म से स्वतंत्र हैं और गरिमा तथा अधिकारों में समान हैं।",
    "korean": "모든 사람은 태어날 때부터 자유롭고, 존엄과 권리에 있어서 평등하다. \u1112\u1161\u11ab\u1100\u116e\u11a8",
    "mixed": "Release 2.0: größer & schneller 🚀 (сборка №42) — 東京で公開, by café ☕ owners! a\u0323\u0304 e\u0301",
    "code": "def f(x_1, y2):  # returns nothing\n\treturn x_1 + y2 * 0x1F if x_1 else None\n" * 2,
}

# Hashes of features: any number, and small ones, so that documents share and repeat them.
hashes = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 6)), max_size=40)
feature_batches = st.lists(hashes, max_size=6)


def packed(batch: list[list[int]]) -> Features:
    """Documents given by their feature hashes."""
    starts = np.cumsum([0, *map(len, batch)], dtype=np.int64)
    return Features(np.array([value for one in batch for value in one], np.uint64), starts)


def print_body(values: Iterable[int], *, cut: bool = False) -> bytes:
    """What is stored of a set of fingerprints of windows."""
    ordered = sorted(set(values))
    head = len(ordered) | (1 << 31 if cut else 0)
    return head.to_bytes(4, "little") + b"".join(value.to_bytes(8, "little") for value in ordered)
