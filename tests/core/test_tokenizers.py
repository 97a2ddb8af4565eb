"""Words, Soundex codes and their hashes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import jellyfish
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import tokenizers
from gate.core.keyed_hash import key_of
from gate.core.text import normalise
from gate.core.tokenizers import Tokens, Words, chained, find_words, fmix64, soundex_tokens, word_tokens
from tests.core import reference
from tests.core.samples import PIECES, WRITTEN, batches

pytestmark = pytest.mark.usefixtures("implementation")

SECRETS = st.sampled_from([b"", b"secret", b"another"])
NUMBERS = st.integers(0, 2**64 - 1)


def split(found: Words) -> list[list[str]]:
    data = found.data.tobytes()
    spelt = [data[b : b + n].decode() for b, n in zip(found.begins.tolist(), found.lengths.tolist())]
    return [spelt[i:j] for i, j in zip(found.starts.tolist(), found.starts[1:].tolist())]


def listed(tokens: Tokens) -> list[list[int]]:
    hashes = tokens.hashes.tolist()
    return [hashes[i:j] for i, j in zip(tokens.starts.tolist(), tokens.starts[1:].tolist())]


@given(batches)
@example(["字", "\u0301a", "字\u0301b", "\u0301字", ""])
@example(["ก", "\u0e48\u0e48", "ก\u0e48ก", "\u0e48"])
@example(["a" * 64, "b" * 65, "c" * 128, "é" * 129, "漢" * 70])
def test_the_words_of_a_batch_are_those_of_each_text(batch: list[str]) -> None:
    assert split(find_words(normalise(batch))) == [reference.words(reference.normalise(one)) for one in batch]


@given(batches, st.sampled_from(["字", "é", "\u0301", "x"]), SECRETS)
def test_a_text_has_the_same_tokens_in_any_company(batch: list[str], last: str, secret: bytes) -> None:
    key = key_of(secret)
    together = find_words(normalise([*batch, last]))
    alone = [find_words(normalise([one])) for one in batch]
    assert listed(word_tokens(together, key))[:-1] == [listed(word_tokens(one, key))[0] for one in alone]
    assert listed(soundex_tokens(together, key))[:-1] == [listed(soundex_tokens(one, key))[0] for one in alone]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't panic, x_1!", ["don", "t", "panic", "x_1"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("漢字abc漢", ["漢", "字", "abc", "漢"]),
        ("ひらがな カタ", ["ひ", "ら", "が", "な", "カ", "タ"]),
        ("ก็ที่๑๒", ["ก็", "ที่", "๑๒"]),
        ("မြန်", ["မြ", "န်"]),
        ("한국어 말", ["한국어", "말"]),
        ("العربية", ["العربية"]),
        ("👍 🇩🇪", []),
        ("\u05b0a b", ["\u05b0a", "b"]),
        ("x" * 130, ["x" * 64, "x" * 64, "x" * 2]),
    ],
)
def test_words_are_cut_as_each_script_asks(text: str, expected: list[str]) -> None:
    [found] = split(find_words(normalise([text])))
    assert found == expected


def test_a_million_marks_behind_one_letter_are_one_long_word() -> None:
    found = find_words(normalise(["字" + "\u05b0" * 1_000_000 + "a"]))
    assert found.lengths.size == -(-1_000_001 // 64) + 1


def test_a_document_of_megabytes_has_the_words_of_its_lines() -> None:
    lines = [reference.words(reference.normalise(line)) for line in WRITTEN.values()]
    [found] = split(find_words(normalise(["\n".join(WRITTEN.values()) + "\n" + "\n".join(WRITTEN.values()) * 1000])))
    assert found[: sum(map(len, lines))] == [word for line in lines for word in line]
    assert len(found) > 200_000


# Hashes


@given(st.lists(NUMBERS))
def test_fmix64_is_the_finaliser_of_murmurhash3(values: list[int]) -> None:
    assert fmix64(np.array(values, np.uint64)).tolist() == [reference.fmix64(value) for value in values]


def test_fmix64_of_more_than_fits_a_cache_is_the_same_of_every_block() -> None:
    values = np.arange(3 * 32 * 1024 + 1, dtype=np.uint64)
    mixed = fmix64(values.copy())
    for i in (0, 32 * 1024 - 1, 32 * 1024, 2 * 32 * 1024, values.size - 1):
        assert int(mixed[i]) == reference.fmix64(i)
    assert np.unique(mixed).size == values.size


@given(st.binary(max_size=200), st.data())
def test_stretches_of_bytes_are_hashed_as_the_definition_says(data: bytes, draw: st.DataObject) -> None:
    # A stretch is never empty: neither a word nor a k-gram can be.
    spans = draw.draw(st.lists(st.tuples(st.integers(0, 199), st.integers(1, 200)), max_size=10))
    spans = [(begin, min(length, len(data) - begin)) for begin, length in spans if begin < len(data)]
    padded = np.frombuffer(data + bytes(8), np.uint8)
    begins, lengths = np.array(spans, np.int64).reshape(-1, 2).T
    expected = [reference.chain(data[begin : begin + length]) for begin, length in spans]
    assert chained(padded, begins, lengths).tolist() == expected


@given(batches, SECRETS)
def test_word_tokens_are_the_hashes_of_the_words(batch: list[str], secret: bytes) -> None:
    expected = [[reference.token(w, secret) for w in reference.words(reference.normalise(t))] for t in batch]
    assert listed(word_tokens(find_words(normalise(batch)), key_of(secret))) == expected


# Soundex


@given(st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=12))
@example("ashcraft")
@example("tymczak")
@example("pfister")
@example("honeyman")
def test_soundex_is_the_american_one(word: str) -> None:
    assert jellyfish.soundex(word) == reference.soundex(word)


@given(batches, SECRETS)
def test_soundex_tokens_are_those_of_each_word(batch: list[str], secret: bytes) -> None:
    spelt = [[reference.soundex_token(w) for w in reference.words(reference.normalise(text))] for text in batch]
    expected = [[reference.token(code, secret) for code in codes] for codes in spelt]
    assert listed(soundex_tokens(find_words(normalise(batch)), key_of(secret))) == expected


def test_words_that_sound_alike_are_one_token_and_those_without_a_code_are_their_own() -> None:
    [tokens] = listed(soundex_tokens(find_words(normalise(["Robert Rupert rübert b2b привет приват x_1 漢 字"]))))
    assert len(set(tokens[:3])) == 1
    assert tokens[3:] == [reference.chain(w.encode()) for w in ("b2b", "привет", "приват", "x_1", "漢", "字")]


@pytest.fixture
def small_memo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four slots, so that words displace each other all the time."""
    monkeypatch.setattr(tokenizers._Memo, "SLOT_BITS", 2)
    tokenizers._memo_of.cache_clear()
    yield
    tokenizers._memo_of.cache_clear()


def test_the_memo_knows_a_hash_by_all_of_its_bits() -> None:
    memo = tokenizers._Memo()
    known = 0x0123456789ABCDEF
    asked = np.array([known, known ^ 1, 0, known ^ 1 << 63], np.uint64)
    assert memo.look_up(asked)[1].tolist() == [0, 1, 2, 3]
    memo.learn(asked[:1], np.array([7], np.uint64))
    values, missing = memo.look_up(asked)
    assert missing.tolist() == [1, 2, 3]
    assert values[0] == 7


@pytest.mark.usefixtures("small_memo")
def test_the_memo_of_codes_forgets_without_a_mistake() -> None:
    spelt = ["robert", "漢", "smith", "b2b", "é", "jackson", "yourselves", "antidisestablishmentarianism"] * 2
    for secret in (b"", b"secret", b""):
        expected = [reference.token(reference.soundex_token(word), secret) for word in spelt]
        assert soundex_tokens(find_words(normalise([" ".join(spelt)])), key_of(secret)).hashes.tolist() == expected


@pytest.mark.usefixtures("small_memo")
def test_threads_that_share_the_memo_get_the_codes_of_their_own_words() -> None:
    batches = [find_words(normalise([" ".join(f"{piece}{chr(97 + n)}" for piece in PIECES)])) for n in range(16)]

    def sign(n: int) -> list[int]:
        return [int(value) for value in soundex_tokens(batches[n % 16], key_of(b"x" * (n % 2))).hashes]

    alone = [sign(n) for n in range(16)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(sign, range(128))) == alone * 8
