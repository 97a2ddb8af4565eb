"""k-grams with every tokenizer under every variation are those of the reference."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import shingles
from gate.core.profile import Profile, Tokenizer
from gate.core.shingles import Features, features, representatives
from gate.core.text import normalise
from tests.core import reference
from tests.core.samples import WRITTEN, any_texts, batches, feature_batches, packed

pytestmark = pytest.mark.usefixtures("implementation")

TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)
GRAMS = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 64])
SECRETS = st.sampled_from([b"", b"secret", b"another"])


def listed(found: Features) -> list[list[int]]:
    hashes = found.hashes.tolist()
    return [hashes[i:j] for i, j in zip(found.starts.tolist(), found.starts[1:].tolist())]


def of(batch: list[str], secret: bytes = b"", **shape: Any) -> list[list[int]]:
    return listed(features(normalise(batch), Profile(name="p", **shape), secret))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    return Profile(
        name="p",
        tokenizer=draw(st.sampled_from(TOKENIZERS)),
        gram=draw(GRAMS),
        stop_words=draw(st.sampled_from([(), ("hello", "漢", "é")])),
        drop_stop_words=draw(st.booleans()),
        drop_vowels=draw(st.booleans()),
        drop_repeats=draw(st.booleans()),
        mask_numbers=draw(st.booleans()),
        fold_confusables=draw(st.booleans()),
    )


@pytest.mark.slow
@given(batches, profiles(), SECRETS)
@example(["", "a", "é", "漢字", "x" * 20, "aé"], Profile(name="p", tokenizer="characters", gram=2), b"")
@example(["one two", "three", "", "four five six"], Profile(name="p", gram=2), b"secret")
def test_the_features_of_a_batch_are_those_of_each_text(batch: list[str], profile: Profile, secret: bytes) -> None:
    expected = [reference.features(reference.normalise(one), profile, secret) for one in batch]
    assert listed(features(normalise(batch), profile, secret)) == expected


@pytest.mark.slow
@given(any_texts, batches, batches, profiles())
def test_a_text_has_the_same_features_in_any_company(
    text: str, before: list[str], after: list[str], profile: Profile
) -> None:
    together = listed(features(normalise([*before, text, *after]), profile))
    assert together[len(before)] == listed(features(normalise([text]), profile))[0]


@pytest.mark.slow
@given(batches, profiles())
def test_another_secret_has_no_feature_in_common(batch: list[str], profile: Profile) -> None:
    one, two, none = (
        {value for found in listed(features(normalise(batch), profile, secret)) for value in found}
        for secret in (b"a", b"b", b"")
    )
    assert one.isdisjoint(two | none)
    assert two.isdisjoint(none)


@pytest.mark.parametrize("language", sorted(WRITTEN))
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_every_language_has_features_with_every_tokenizer(language: str, tokenizer: str) -> None:
    [found] = of([WRITTEN[language]], tokenizer=tokenizer, gram=3)
    assert len(set(found)) >= 8


def test_texts_shorter_than_a_k_gram_have_no_features() -> None:
    assert of(["", "one", "one two", "one two three"], gram=3)[:3] == [[], [], []]
    assert of(["", "ab", "abc", "é", "éa"], tokenizer="characters", gram=3) == [
        [],
        [],
        of(["abc"], tokenizer="characters")[0],
        [],
        [],
    ]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("secret", [b"", b"secret"])
def test_stop_words_are_known_under_a_secret_too(tokenizer: str, secret: bytes) -> None:
    with_them, without = "the quick fox of these brown woods", "quick fox brown woods"
    [left], [plain] = (
        of([one], secret, tokenizer=tokenizer, gram=2, drop_stop_words=True) for one in (with_them, without)
    )
    assert left == plain


def test_words_in_another_order_are_another_k_gram() -> None:
    assert of(["one two"], gram=2) != of(["two one"], gram=2)
    assert of(["one one two"], gram=3) != of(["one two one"], gram=3)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_document_of_megabytes_has_the_features_of_its_beginning_and_its_end(tokenizer: Tokenizer) -> None:
    line = " ".join(WRITTEN.values())
    profile = Profile(name="p", tokenizer=tokenizer)
    found = features(normalise([" ".join([line] * 1500)]), profile).hashes
    head = reference.features(reference.normalise(line), profile)
    assert found[: len(head)].tolist() == head
    assert found[-len(head) :].tolist() == head
    # What lies between repeats itself, seam and all.
    period = (found.size - len(head)) // 1499
    assert np.array_equal(found[:-period], found[period:])


# Equal hashes within a document


def check_representatives(batch: list[list[int]]) -> None:
    found = packed(batch)
    representative = representatives(found.hashes, found.starts).tolist()
    for begin, hashes in zip(found.starts.tolist(), batch):
        places = representative[begin : begin + len(hashes)]
        assert all(hashes[place - begin] == value for place, value in zip(places, hashes))
        assert len(set(places)) == len(set(hashes))
        assert all(representative[place] == place for place in places)


@given(feature_batches)
@example([[], [1, 1], [1], [], [2, 1, 2, 1]])
def test_one_of_equal_hashes_represents_all_of_them_in_its_document(batch: list[list[int]]) -> None:
    check_representatives(batch)


@given(feature_batches, st.integers(0, 2))
def test_hashes_that_share_a_cell_in_every_round_are_kept_apart(batch: list[list[int]], rounds: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingles, "_ROUNDS", rounds)
        check_representatives([[value & 3 for value in one] + one for one in batch])


def test_a_document_of_a_million_hashes_has_as_many_representatives_as_distinct_hashes() -> None:
    hashes = np.arange(1_000_000, dtype=np.uint64) % np.uint64(300_000)
    representative = representatives(hashes, np.array([0, hashes.size]))
    assert np.unique(representative).size == 300_000
    assert np.array_equal(hashes[representative], hashes)
