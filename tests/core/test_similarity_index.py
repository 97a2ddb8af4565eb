"""The similarity index: the sixteen sums, and that whatever is alike shares a bucket."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core.judge import alike
from gate.core.method_parameters import SimilarityIndex
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.similarity_index import MAX_HASHES, MAX_WORDS, buckets, likeness, numbers
from gate.core.text import normalise
from tests.core import reference
from tests.core import reference_similarity_index as plain
from tests.core.samples import WRITTEN, any_texts, batches
from tests.core.similarity_index_samples import METHODS, PROFILES, codes, packed


def body_of(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


# The sixteen sums


@pytest.mark.slow
@given(st.lists(codes, max_size=5), METHODS, st.integers(2, 5), st.integers(1, 9))
@example([[], [25], [], [1, 2, 3], [50, -50], []], 3, 2, 1)
@example([[7], [], [1, 1, 0], [0, 0, 0, 0], [3] * 9], 5, 2, 4)
def test_the_numbers_of_a_batch_are_those_of_the_definition(
    batch: list[list[int]], method: int, gram: int, window: int
) -> None:
    found = numbers(packed(batch), method, gram=gram, window=window)
    assert found.tolist() == [plain.number(one, method, gram=gram, window=window) for one in batch]


@pytest.mark.parametrize("method", range(1, 17))
def test_documents_longer_than_a_sketch_are_cut_as_the_definition_says(method: int) -> None:
    draw = np.random.default_rng(method)
    batch = [
        draw.integers(-(2**31), 2**31, size).tolist() for size in (MAX_HASHES - 1, MAX_HASHES + 300, 0, 2 * MAX_HASHES)
    ]
    batch.append(draw.integers(0, 2 * MAX_WORDS, 5 * MAX_WORDS).tolist())
    found = numbers(packed(batch), method, gram=4, window=25)
    assert found.tolist() == [plain.number(one, method, gram=4, window=25) for one in batch]


def test_a_random_third_is_drawn_anew_for_each_document_and_a_fixed_third_is_not() -> None:
    own = [1 << place for place in range(30)]  # a sum of them shows which were kept
    batch = packed([own, own, [*own[:-1], 1 << 30]])
    for method, as_before in ((11, False), (15, True)):
        first, same, changed = (numbers(batch, method, gram=4, window=25) & (2**29 - 1)).tolist()
        assert first == same
        assert (first == changed) == as_before


def test_a_super_shingle_hashes_as_java_hashes_an_array() -> None:
    assert numbers(packed([[1, -2, 3]]), 14, gram=3, window=1).tolist() == [30693]


@pytest.mark.slow
@given(batches, PROFILES, st.sampled_from([b"", b"secret"]))
def test_the_bodies_of_a_batch_are_those_of_each_text(batch: list[str], profile: Profile, secret: bytes) -> None:
    signed = method_of(profile, secret).sign(normalise(batch))
    normal = [reference.normalise(text) for text in batch]
    assert signed.bodies == [plain.body(text, profile, secret) for text in normal]
    assert signed.features == [len(plain.prints(text, profile, secret)) for text in normal]


@given(any_texts, batches, batches, PROFILES)
def test_a_text_is_signed_alike_in_any_batch(text: str, before: list[str], after: list[str], profile: Profile) -> None:
    method = method_of(profile)
    together = method.sign(normalise([*before, text, *after]))
    assert together.bodies[len(before)] == method.sign(normalise([text])).bodies[0]


def test_of_a_text_with_too_many_features_only_the_first_count() -> None:
    profile = Profile(name="p", method=SimilarityIndex(si_method=1), gram=1, min_features=1)
    words = WRITTEN["english"].split()
    long, short = normalise([" ".join(words)]), normalise([" ".join(words[:5])])
    capped = method_of(profile, max_features=5).sign(long)
    assert capped.bodies == method_of(profile).sign(short).bodies
    assert capped.capped == [True]


# What is alike


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@example(102, 72)
@example(0, 0)
@example(-(2**63), 2**63 - 1)
def test_likeness_is_the_same_from_both_sides(left: int, right: int) -> None:
    pair = np.array([left]), np.array([right])
    [forth], [back] = likeness(*pair).tolist(), likeness(*pair[::-1]).tolist()
    assert forth == back
    expected = min(abs(left), abs(right)) / max(abs(left), abs(right), 1) if (left > 0) == (right > 0) else 0.0
    assert forth == pytest.approx(expected)


@pytest.mark.parametrize(
    ("other", "similar"), [(100, True), (70, True), (69, False), (142, True), (143, False), (-100, False)]
)
def test_alike_are_two_of_which_one_is_within_30_per_cent_of_the_other(other: int, similar: bool) -> None:
    profile = Profile(name="p", method=SimilarityIndex(), resemblance=0.7)
    measures = method_of(profile).compare([body_of(100)], [body_of(other)])
    assert alike(measures, profile).tolist() == [similar]


numbers_of_any_size = st.integers(0, 62).flatmap(lambda bits: st.integers(-(2 << bits), (2 << bits) - 1)).filter(bool)


@given(numbers_of_any_size, st.floats(0.5, 2.0), st.sampled_from([0.05, 0.5, 0.7, 0.95, 1.0]))
@example(-(2**63), 1.0, 0.7)
@example(2**63 - 1, 0.7, 0.7)
@example(1, 1.4285714, 0.7)
def test_every_number_that_is_alike_is_in_a_probed_bucket(number: int, ratio: float, threshold: float) -> None:
    profile = Profile(name="p", method=SimilarityIndex(), resemblance=threshold)
    method = method_of(profile)
    for factor in (ratio, threshold, 1 / threshold, threshold - 4e-5):
        other = min(max(int(number * factor), -(2**63)), 2**63 - 1)
        if not other or not alike(method.compare([body_of(number)], [body_of(other)]), profile)[0]:
            continue
        kept, sought = method.postings([body_of(other)]), method.probes([body_of(number)])
        assert set(kept.keys.tolist()) <= set(sought.keys.tolist())


@given(st.lists(st.integers(1, 2**63), min_size=2, max_size=30))
@example([1, 2, 3, 15, 16, 17, 31, 32, 33])
def test_buckets_rise_with_numbers(sizes: list[int]) -> None:
    found = buckets(np.array(sorted(sizes), np.uint64)).tolist()
    assert found == sorted(found)
    assert max(found) < 1 << 10


def test_a_look_up_within_30_per_cent_reads_some_twenty_buckets() -> None:
    method = method_of(Profile(name="p", method=SimilarityIndex(), resemblance=0.7))
    draw = np.random.default_rng(1)
    bodies = [body_of(int(number)) for number in draw.integers(-(2**50), 2**50, 200)]
    assert np.bincount(method.probes(bodies).rows).max() <= 20
    assert len(method.postings(bodies)) == 200


def test_a_sketch_that_is_empty_or_adds_up_to_nothing_is_no_number() -> None:
    profile = Profile(name="p", method=SimilarityIndex(si_method=3), gram=1, min_features=1)
    signed = method_of(profile).sign(normalise(["a"]))  # 97 is not divided by 25
    assert signed.bodies == [b""]
    assert signed.features == [1]


def test_numbers_under_another_secret_are_other_numbers() -> None:
    profile = Profile(name="p", method=SimilarityIndex(si_method=1), gram=2, min_features=1)
    texts = normalise(list(WRITTEN.values()))
    found = [method_of(profile, secret).sign(texts).bodies for secret in (b"", b"a", b"b")]
    assert not set(found[0]) & set(found[1])
    assert not set(found[1]) & set(found[2])


# As the index asks of every method


def test_only_numbers_are_stored_and_empty_bodies_have_no_posting() -> None:
    method = method_of(Profile(name="p", method=SimilarityIndex()))
    for bodies in ([], [b""], [b"", b""]):
        assert len(method.postings(bodies)) == len(method.probes(bodies)) == 0
    kept = method.postings([b"", body_of(7), b"", body_of(-7)])
    assert kept.rows.tolist() == [1, 3]
    assert kept.keys[0] != kept.keys[1]
    assert not kept.tags.any()
    assert method.layout.tag_bytes == {int(key) >> 32: 0 for key in kept.keys}
    assert method.layout.holds(body_of(7))


def test_an_empty_body_is_not_compared_and_no_pairs_have_no_measures() -> None:
    method = method_of(Profile(name="p", method=SimilarityIndex()))
    with pytest.raises(ValueError, match="too few features"):
        method.compare([b"", body_of(1)], [body_of(2), b""])
    measures = method.compare([], [])
    assert measures.resemblance is not None
    assert not len(measures.resemblance)
    assert measures.distance is None
    assert measures.left_in_right is None


def test_the_fingerprint_is_the_number() -> None:
    method = method_of(Profile(name="p", method=SimilarityIndex()))
    assert method.fingerprint(body_of(-1)) == 2**64 - 1
    assert method.fingerprint(b"") is None


def test_below_the_minimum_of_features_there_is_no_number() -> None:
    method = method_of(Profile(name="p", method=SimilarityIndex(si_method=1), gram=1, min_features=3))
    signed = method.sign(normalise(["", "one", "one two", "one two three", "!!!"]))
    assert [bool(body) for body in signed.bodies] == [False, False, False, True, False]
    assert signed.features == [0, 1, 2, 3, 0]
