"""Normalisation and content ids."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import text
from gate.core.text import (
    LONGEST_FOLD,
    Texts,
    content_id_of_bytes,
    content_ids,
    encoded,
    fold,
    folded_lengths,
    normalise,
)
from gate.errors import BadDocument
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import validate_document
from tests.core import reference
from tests.core.samples import PIECES, WRITTEN, any_texts, batches

pytestmark = pytest.mark.usefixtures("implementation")


def decoded(texts: Texts) -> list[str]:
    return [data.decode() for data in encoded(texts)]


@given(batches)
@example(["", "a", "", "\u0301b", "\u00ad", " ", "ﬁ"])
@example(["e", "\u0301", "\u1112", "\u1161"])
@example(["a ", " \u0301", "\u00a8", "\u00a8"])
@example(["\u0301", "\u0301", "e\u0301", "\u0301\u0301a\u0301\u0301", "\u0301"])
@example(["x \u00ad", "\u00ad y", "\u00a8", "\u00ad \u00ad", "z \u00ad"])
def test_a_batch_is_normalised_as_the_definition_says_of_each_text(batch: list[str]) -> None:
    assert decoded(normalise(batch)) == [reference.normalise(one) for one in batch]


@given(any_texts)
def test_normalising_twice_changes_nothing(one: str) -> None:
    once = decoded(normalise([one]))
    assert decoded(normalise(once)) == once


@given(any_texts, batches, batches)
def test_a_text_is_normalised_alike_in_any_company(one: str, before: list[str], after: list[str]) -> None:
    assert decoded(normalise([*before, one, *after]))[len(before)] == decoded(normalise([one]))[0]


@given(st.lists(st.text(st.characters(max_codepoint=127)), max_size=6))
def test_ascii_is_normalised_alike_with_and_without_the_table(batch: list[str]) -> None:
    assert decoded(normalise([*batch, "é"]))[:-1] == decoded(normalise(batch))


# Every assigned code point but Han, Hangul and the like, tens of thousands that fold to themselves.
LETTERS = [
    letter
    for letter in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(letter) not in ("Cn", "Co", "Cs")
    and not unicodedata.name(letter, "").startswith(("CJK UNIFIED", "HANGUL SYLLABLE", "TANGUT"))
]


def test_every_code_point_is_folded_as_unicode_derives_it_and_stays_folded() -> None:
    for letter in LETTERS:
        folded = fold(ord(letter))
        assert folded.split() == reference.nfkc_casefold(letter).split(), hex(ord(letter))
        assert all(fold(ord(c)) == c for c in folded), hex(ord(letter))


@pytest.mark.slow
def test_every_code_point_between_others_is_normalised_as_the_definition_says() -> None:
    batch = [f"a{letter}\u0323\u0301" for letter in LETTERS]
    for one, found in zip(batch, decoded(normalise(batch))):
        assert found == reference.normalise(one), ascii(one)


def test_every_code_point_that_can_be_composed_is_composed() -> None:
    whole = [c for c in map(chr, range(sys.maxunicode + 1)) if len(unicodedata.normalize("NFD", c)) > 1]
    parts = [unicodedata.normalize("NFD", c) for c in whole]
    batch = [unicodedata.normalize("NFC", one[:-1]) + one[-1] for one in parts]
    for one, found in zip(batch, decoded(normalise(batch))):
        assert found == reference.normalise(one), ascii(one)


@pytest.mark.parametrize("marks", ["\u05c1\u05bc", "\u0651\u064e", "\u0e49\u0e38"])
def test_marks_that_compose_with_nothing_are_put_in_order_too(marks: str) -> None:
    found = decoded(normalise([f"x{marks}", f"x{marks[::-1]}", "x", marks]))
    assert found == [f"x{marks[::-1]}"] * 2 + ["x", marks[::-1]]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Straße", "STRASSE"),
        ("e\u0301", "É"),
        ("ﬁﬂ", "fifl"),
        ("ＡＢＣ　１２３", "abc 123"),
        ("co\u00adop\u200bera\u2060tion", "cooperation"),
        ("ｶﾞ", "ガ"),
        ("\u1112\u1161\u11ab", "한"),
        ("a\u0323\u0302", "a\u0302\u0323"),
        ("ΜΆΪΟΣ", "μάϊος"),
        (" \t\n x \u2003\u3000 y\x85", "x y"),
        ("w\u200aor\u2800ds\ufffc", "words"),
        ("\x00a\x01\x7f b\x80", "a b"),
        ("\ufff9w\ufffao\ufffbrd\U00013430s\u0604", "words"),
        ("o\ufdd0n\uffffe\U0001fffe", "one"),
        ("s\u0336t\u0332r\u20dd\u0489ai\ufe2fn", "strain"),
        ("за\u0301мок", "замок"),
        ("e\u0305\u0301", "é"),
        ("\u0627\u0301\u0653", "آ"),
        ("か\u20dd\u3099", "が"),
        ("❤\ufe0f", "❤"),
    ],
)
def test_texts_that_differ_in_form_only_are_one(left: str, right: str) -> None:
    assert decoded(normalise([left])) == decoded(normalise([right]))


SCRIPTS = {
    "arabic": "كِتَابٌ جَمِيلٌ هٰذَا",
    "hebrew": "בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "thai": "ผู้ใหญ่ที่นี่ก็รู้จัก",
    "hindi": "हिन्दी में स्त्री क़लम",
    "bengali": "বাংলা ভাষা ক্ষুদ্র",
    "tamil": "தமிழ் மொழி கொள்",
    "burmese": "မြန်မာဘာသာ",
    "khmer": "ភាសាខ្មែរ",
    "tibetan": "བོད་སྐད་ཡིག་གི",
    "japanese": "ガギグ\u3099 か\u309a",
    "vietnamese": "tiếng việt đã được chuẩn hoá",
    "polish": "zażółć gęślą jaźń",
    "greek": "ᾄδω ὑπὸ τῇ",
}


@pytest.mark.parametrize("language", sorted(SCRIPTS))
def test_the_marks_of_a_language_stay(language: str) -> None:
    written = unicodedata.normalize("NFC", SCRIPTS[language])
    [found] = decoded(normalise([unicodedata.normalize("NFD", written)]))
    marks = [c for c in unicodedata.normalize("NFD", written) if unicodedata.category(c)[0] == "M" and c != "\u0345"]
    assert [c for c in unicodedata.normalize("NFD", found) if unicodedata.category(c)[0] == "M"] == marks
    assert len(marks) > 2


@pytest.mark.parametrize("bad", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_a_lone_surrogate_is_a_bad_document(bad: str) -> None:
    with pytest.raises(BadDocument, match="surrogate") as raised:
        normalise(["fine", bad])
    assert raised.value.code == "bad_text"


def test_halves_of_a_pair_in_two_texts_do_not_make_a_character() -> None:
    with pytest.raises(BadDocument):
        normalise(["\ud83d", "\ude00"])


@pytest.mark.parametrize("batch", [[], [""], ["", ""], [" "], ["\u00ad"], ["\u00ad", "\n", ""]])
def test_texts_of_nothing_are_empty(batch: list[str]) -> None:
    normal = normalise(batch)
    assert len(normal) == len(batch)
    assert normal.points.size == 0
    assert normal.starts.tolist() == [0] * (len(batch) + 1)


def test_texts_that_fold_to_ascii_are_kept_as_ascii() -> None:
    assert normalise(["ＡＢＣ", "x\u00ad"]).points.dtype == np.uint8


def test_a_document_of_megabytes_is_normalised_as_its_lines_are() -> None:
    lines = [reference.normalise(line) for line in WRITTEN.values()]
    many = [line for _ in range(1200) for line in lines]
    whole = "\n".join(line for _ in range(1200) for line in WRITTEN.values())
    assert len(whole) > 1_000_000
    assert decoded(normalise([whole])) == [" ".join(many)]


def test_half_a_million_marks_in_the_wrong_order_are_put_in_order() -> None:
    # By unicodedata alone this would take an hour: one such document would hold up the gate.
    n = 250_000
    assert decoded(normalise(["ש" + "\u05bc\u05b0" * n])) == ["ש" + "\u05b0" * n + "\u05bc" * n]
    assert decoded(normalise(["a" + "\u0301\u0323" * n])) == ["ạ"]
    assert decoded(normalise(["a" + "\u0301" * n + "\u0323" * n])) == ["ạ"]


def test_threads_that_learn_code_points_together_normalise_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = [*PIECES, *WRITTEN.values(), *map(chr, range(0xA0, 0x3000))]
    expected = decoded(normalise(batch))
    monkeypatch.setattr(text, "_table", np.full(0x110000, text._UNSEEN, dtype=np.uint32))
    monkeypatch.setattr(text, "_expansions", np.empty(0, dtype=np.uint32))
    with ThreadPoolExecutor(4) as threads:
        assert all(decoded(found) == expected for found in threads.map(normalise, [batch] * 8))


# Content ids


@given(batches, st.sampled_from([b"", b"secret", b"s" * 64, b"s" * 65]))
def test_content_ids_are_those_of_the_definition(batch: list[str], secret: bytes) -> None:
    expected = [reference.content_id(reference.normalise(one), secret) for one in batch]
    assert content_ids(normalise(batch), secret) == expected


def test_a_content_id_without_a_secret_is_what_b2sum_prints() -> None:
    # printf "strasse und wasser" | b2sum -l 128
    assert [one.hex() for one in content_ids(normalise(["Strasse  und WASSER"]))] == [
        "8a634498fddd54624aa873691a095216"
    ]


@given(any_texts, any_texts)
def test_content_ids_are_equal_exactly_if_the_normalised_texts_are(left: str, right: str) -> None:
    normal = normalise([left, right])
    for secret in (b"", b"secret"):
        ids = content_ids(normal, secret)
        assert (ids[0] == ids[1]) == (reference.normalise(left) == reference.normalise(right))


def test_every_secret_has_content_ids_of_its_own() -> None:
    normal = normalise(["the same text"])
    secrets = [b"", b"a", b"b", b"x" * 64, b"x" * 65, b"x" * 66]
    assert len({content_ids(normal, secret)[0] for secret in secrets}) == len(secrets)


def test_files_without_text_have_ids_that_no_text_has() -> None:
    data = b"the same text"
    digest = hashlib.sha256(data).digest()
    ids = [content_id_of_bytes(digest, secret) for secret in (b"", b"a", b"x" * 65)]
    texts = normalise([data.decode(), digest.hex()])
    ids += [one for secret in (b"", b"a", b"x" * 65) for one in content_ids(texts, secret)]
    ids.append(hashlib.blake2b(digest, digest_size=16).digest())  # of a text whose UTF-8 were the digest
    assert len(set(ids)) == len(ids)


@pytest.mark.no_cover  # a million calls
def test_no_code_point_becomes_longer_than_the_longest() -> None:
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    assert max(len(fold(point)) for point in points) == LONGEST_FOLD
    whole = [point for point in points if len(unicodedata.normalize("NFKC", chr(point)).casefold()) > LONGEST_FOLD]
    assert [fold(point) for point in whole] == list(map(chr, whole)) == ["\ufdfa", "\ufdfb"]


def test_the_folded_length_counts_what_compatibility_forms_become() -> None:
    assert folded_lengths(["ab\u3316"]) == [8]
    assert folded_lengths(["x" * 200_000 + "\ufb03" * 3]) == [200_009]


@given(batches)
def test_folded_lengths_and_texts_are_the_same_for_tables_that_are_filled_in_any_order(batch: list[str]) -> None:
    expected, lengths = decoded(normalise(batch)), folded_lengths(batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_table", np.full(0x110000, text._UNSEEN, dtype=np.uint32))
        patch.setattr(text, "_expansions", np.empty(0, dtype=np.uint32))
        assert folded_lengths(batch[::-1]) == lengths[::-1]
        assert decoded(normalise(batch)) == expected


@given(batches)
@example(["", "\ufb03", "", "\u00ad\u3316", "a\ud800", "e\u0301"])
def test_folded_lengths_are_those_of_the_definition(batch: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_PIECE", 3)
        every = "".join(batch).isascii()
        assert folded_lengths(batch) == [
            len(one) if every else sum(len(fold(ord(letter))) for letter in one) for one in batch
        ]


# Marks of many classes, some of which compose with a letter before them, between letters and what folds to marks.
MARKS = ["\u0301", "\u0323", "\u0327", "\u0345", "\u05b0", "\u0651", "\u3099", "\u0344", "\u0f73", "\uff9e"]
RUNS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*MARKS, "a", "\u1ead", "\u304b", " "]), min_size=1, max_size=4), st.integers(1, 40)
    ),
    max_size=6,
).map(lambda parts: "".join("".join(letters) * times for letters, times in parts))


@given(RUNS)
def test_crafted_runs_of_marks_are_normalised_as_the_definition_says(one: str) -> None:
    assert decoded(normalise([one])) == [reference.normalise(one)]


@given(RUNS)
def test_unicodedata_is_given_marks_in_order_only(one: str) -> None:
    assert disorder_of_normalised(one) == 0


def test_a_long_document_of_alternating_marks_is_validated_and_normalised_without_disorder() -> None:
    assert disorder_of_normalised("a" + 140_000 * "\u0301\u0323") == 0


def disorder_of_normalised(one: str) -> int:
    """How many neighbours in the wrong order `unicodedata.normalize` is given: each costs it the length of its run."""
    disorder = 0
    normalize = unicodedata.normalize

    def counted(form: Any, given: str) -> str:
        nonlocal disorder
        if len(given) > LONGEST_FOLD:
            classes = list(map(unicodedata.combining, given))
            disorder += sum(left > right > 0 for left, right in pairwise(classes))
        return normalize(form, given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unicodedata, "normalize", counted)
        validate_document(CheckIn(document_id="a", text=one), Limits(max_document_chars=4 * len(one) + 1))
        normalise([one])
    return disorder
