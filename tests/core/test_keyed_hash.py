"""Hashes under a secret: as the definition says, without collisions that one can make, and not to be undone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core.builtin_profiles import BUILT_IN
from gate.core.keyed_hash import PRIME, Key, hash_numbers, hash_windows, key_of, token_values
from gate.core.method_registry import method_of
from gate.core.text import normalise
from tests.core import reference

pytestmark = pytest.mark.usefixtures("implementation")

SECRETS = st.sampled_from([b"s", b"secret", b"x" * 64])
BELOW_P = st.one_of(st.integers(0, PRIME - 1), st.sampled_from([0, 1, PRIME - 1, PRIME - 2, 2**31, 2**31 - 1, 2**60]))
NUMBERS = st.integers(0, 2**64 - 1)
WORD = "a "


def key_from(secret: bytes) -> Key:
    key = key_of(secret)
    assert key is not None
    return key


def test_there_is_no_key_without_a_secret_and_another_with_every_other() -> None:
    assert key_of(b"") is None
    keys = [key_from(secret) for secret in (b"a", b"b", b"x" * 64, b"x" * 63)]
    parts = [part for key in keys for part in (key.token_point, key.window_point, *key.sip)]
    assert len(set(parts)) == len(parts)


@pytest.mark.parametrize(
    ("data", "answer"),
    [(b"", "d1fba762150c532c"), (b"siphash", "8264ceeccb16bcbe"), (b"digest-sip_hash", "ce31007e34130c0a")],
)
def test_the_reference_is_siphash_1_3(data: bytes, answer: str) -> None:
    assert f"{reference.siphash(data, bytes(16)):016x}" == answer


@given(st.lists(NUMBERS, max_size=30), NUMBERS, NUMBERS)
@example([2**64 - 1, 0, 1], 2**64 - 1, 2**64 - 1)
def test_numbers_are_hashed_by_siphash(values: list[int], first: int, second: int) -> None:
    raw = first.to_bytes(8, "little") + second.to_bytes(8, "little")
    found = hash_numbers(np.array(values, np.uint64), Key(1, 1, (first, second)))
    assert found.tolist() == [reference.siphash(value.to_bytes(8, "little"), raw) for value in values]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=10), SECRETS)
@example([b"\0", b"\0\0", b"a", b"a\0", b"\xff" * 7, b"\xff" * 256], b"secret")
def test_tokens_have_the_values_of_the_definition(tokens: list[bytes], secret: bytes) -> None:
    data = np.frombuffer(b"".join(tokens) + bytes(8), np.uint8)
    lengths = np.array([len(token) for token in tokens], np.int64)
    found = token_values(data, np.cumsum(lengths) - lengths, lengths, key_from(secret)).tolist()
    assert found == [reference.keyed_token(token, secret) for token in tokens]
    assert len(set(found)) == len(set(tokens))


@given(st.lists(BELOW_P, max_size=80), st.sampled_from([1, 2, 3, 4, 5, 7, 8, 20, 40, 64]), SECRETS)
@example([PRIME - 1] * 64, 64, b"secret")
def test_windows_are_hashed_as_the_definition_says(values: list[int], width: int, secret: bytes) -> None:
    found = hash_windows(np.array(values, np.uint64), width, key_from(secret))
    assert found.tolist() == reference.keyed_windows(values, width, secret)


@pytest.mark.parametrize("point", [0, 1, PRIME - 1, 2**60, 2**31 - 1, 2**61 - 2**31])
def test_products_at_the_limits_do_not_overflow(point: int) -> None:
    values = [PRIME - 1, PRIME - 2, 2**60, 2**31, 2**31 - 1, 0]
    found = hash_windows(np.array(values, np.uint64), 2, Key(0, point, (0, 0))).tolist()
    exact = [(left + point * right) % PRIME for left, right in pairwise(values)]
    assert found == hash_numbers(np.array(exact, np.uint64), Key(0, 0, (0, 0))).tolist()


def test_more_than_fits_a_cache_is_hashed_as_its_blocks_are() -> None:
    key, values = key_from(b"secret"), np.arange(40_000, dtype=np.uint64)
    whole = hash_windows(values, 3, key)
    for first in (0, 16 * 1024 - 2, 16 * 1024 - 1, 16 * 1024, 32 * 1024, values.size - 3):
        assert whole[first] == hash_windows(values[first : first + 3], 3, key)[0]
    assert np.array_equal(hash_numbers(values, key)[-3:], hash_numbers(values[-3:], key))
    data, begins = np.zeros(40_008, np.uint8), np.arange(40_000)
    assert np.unique(token_values(data, begins, np.ones_like(begins), key)).size == 1


# What is published of a text with a single feature


def unmixed(value: int) -> int:
    """The number whose fmix64 it is: an xor with a right shift by 33 undoes itself, and odd factors have inverses."""
    value ^= value >> 33
    value = value * pow(0xC4CEB9FE1A85EC53, -1, 2**64) % 2**64
    value ^= value >> 33
    value = value * pow(0xFF51AFD7ED558CCD, -1, 2**64) % 2**64
    return value ^ value >> 33


def published(profile: str, text: str, secret: bytes) -> int:
    method = method_of(BUILT_IN[profile], secret)
    found = method.fingerprint(method.sign(normalise([text])).bodies[0])
    assert found is not None
    return found


def token_of_repeated_word(fingerprint: int, gram: int) -> int:
    """The attack: of one word over and over, the fingerprint is the hash of the single k-gram; undone, the token's."""
    factor = sum(reference.Q**j for j in range(gram))
    inverse: int = pow(factor, -1, 2**64)
    return unmixed(fingerprint) * inverse % 2**64


@pytest.mark.parametrize("profile", ["standard", "simhash"])
def test_the_fingerprint_of_a_repeated_word_gives_the_word_without_a_secret_and_nothing_with_one(profile: str) -> None:
    undone = unmixed(token_of_repeated_word(published(profile, WORD * 12, b""), 3))
    assert undone.to_bytes(8, "little").rstrip(b"\0") == b"a"
    secret = b"correct horse"
    token = token_of_repeated_word(published(profile, WORD * 12, secret), 3)
    # Neither what stood there while a secret was a seed, nor anything that the hashes depend on now.
    key = key_from(secret)
    seed = unmixed(token) ^ ord("a")
    values = {ord("a"), reference.chain(b"a"), reference.keyed_token(b"a", secret)}
    assert not {token, unmixed(token), seed} & {*values, key.token_point, key.window_point, *key.sip}
    assert published(profile, "b " * 12, secret) != predicted(seed, b"b", gram=3)
    assert published(profile, "b " * 12, b"") == predicted(0, b"b", gram=3)


def predicted(seed: int, word: bytes, *, gram: int) -> int:
    """What an attacker who knows a seed expects of another word."""
    token = reference.fmix64(seed ^ int.from_bytes(word, "little"))
    feature: int = reference.fmix64(sum(pow(reference.Q, j) for j in range(gram)) * token % 2**64)
    return feature


def test_the_fingerprint_of_a_repeated_character_is_undone_without_a_secret_only() -> None:
    text = "a" * 40
    assert unmixed(published("roth-2013", text, b"")) == int.from_bytes(b"aaaa", "little")
    seed = unmixed(published("roth-2013", text, b"secret")) ^ int.from_bytes(b"aaaa", "little")
    other = reference.fmix64(seed ^ int.from_bytes(b"bbbb", "little"))
    assert published("roth-2013", "b" * 40, b"secret") != other
