"""The rows of the table that look through a window of bytes: what is stored, where it is kept, how it compares."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core import sketches
from gate.core.judge import alike
from gate.core.method import NO_LIMIT
from gate.core.method_parameters import BswN, MinN, ModN, SketchN, WindowParameters
from gate.core.method_registry import Method, method_of
from gate.core.profile import Profile
from gate.core.text import normalise
from gate.errors import ConfigError
from tests.core import reference, reference_sampling
from tests.core.samples import WRITTEN, any_texts, batches, print_body

KINDS: dict[str, type[WindowParameters]] = {kind.name: kind for kind in (BswN, MinN, ModN, SketchN)}
NAMES = list(KINDS)
SETS = ["bsw-n", "min-n", "mod-n"]
WINDOW = {"window": st.sampled_from([1, 4, 20]), "sample": st.sampled_from([4, 7, 30])}
KEYS = {"max_keys": st.sampled_from([3, 100])}
PRINTS = {"max_prints": st.sampled_from([16, 4096])}
CHUNKS = {"chunks": st.sampled_from(["smallest", "whole"])}
SAMPLES = (
    st.builds(ModN, **WINDOW, **KEYS, **PRINTS)
    | st.builds(MinN, **WINDOW, **KEYS)
    | st.builds(BswN, **WINDOW, **KEYS, **PRINTS, **CHUNKS)
)
SKETCHES = st.builds(SketchN, **WINDOW, bands=st.just(2), rows=st.just(2))
long_texts = st.lists(any_texts, min_size=3, max_size=6).map(" ".join)  # most of them have a signature


def profiles(methods: st.SearchStrategy[WindowParameters]) -> st.SearchStrategy[Profile]:
    return st.builds(
        Profile,
        name=st.just("p"),
        tokenizer=st.just("characters"),
        mask_numbers=st.booleans(),
        method=methods,
        min_features=st.sampled_from([1, 3]),
    )


PROFILES = profiles(SAMPLES | SKETCHES)


def profile_of(name: str, **changes: Any) -> Profile:
    """A profile of the method by that name, with changes of either's fields."""
    kind = KINDS[name]
    own = {field: changes.pop(field) for field in kind.__struct_fields__ if field in changes}
    bands = {"bands": 2, "rows": 4} if kind is SketchN else {}
    plain = Profile(name="p", tokenizer="characters", method=kind(**{"sample": 8} | bands | own), min_features=1)
    return msgspec.structs.replace(plain, **changes)


def paragraphs(count: int, seed: int = 1) -> str:
    draw = np.random.default_rng(seed)
    words = ["".join(map(chr, draw.integers(97, 123, size))) for size in draw.integers(2, 10, 400).tolist()]
    return " ".join(words[i] for i in draw.integers(0, 400, count).tolist())


def measured(method: Method, left: str, right: str) -> tuple[float, float | None, float | None]:
    bodies = method.sign(normalise([left, right])).bodies
    found = method.compare(bodies[:1], bodies[1:])
    assert found.resemblance is not None
    inside, around = (None if c is None else float(c[0]) for c in (found.left_in_right, found.right_in_left))
    return float(found.resemblance[0]), inside, around


# Signing


@pytest.mark.slow
@given(batches, PROFILES, st.sampled_from([b"", b"secret"]))
def test_the_bodies_of_a_batch_are_those_of_the_definition(batch: list[str], profile: Profile, secret: bytes) -> None:
    method = method_of(profile, secret)
    signed = method.sign(normalise(batch))
    expected = [reference_sampling.body(reference.normalise(text), profile, secret) for text in batch]
    assert signed.bodies == expected
    assert all(map(method.layout.holds, signed.bodies))


@given(any_texts, batches, batches, PROFILES)
def test_a_text_is_signed_alike_in_any_batch(text: str, before: list[str], after: list[str], profile: Profile) -> None:
    method = method_of(profile)
    together, alone = method.sign(normalise([*before, text, *after])), method.sign(normalise([text]))
    assert together.bodies[len(before)] == alone.bodies[0]
    assert together.features[len(before)] == alone.features[0]
    assert together.capped[len(before)] == alone.capped[0]


@pytest.mark.parametrize("name", NAMES)
def test_with_another_secret_bodies_have_nothing_in_common(name: str) -> None:
    profile = profile_of(name, min_features=1)
    texts = normalise([paragraphs(200)])
    bodies = [method_of(profile, secret).sign(texts).bodies for secret in (b"", b"a", b"b")]
    for mine, theirs in ((bodies[0], bodies[1]), (bodies[1], bodies[2])):
        found = method_of(profile).compare(mine, theirs).resemblance
        assert found is not None
        assert found[0] == 0


@pytest.mark.parametrize("name", ["mod-n", "bsw-n"])
def test_of_more_fingerprints_than_are_stored_the_smallest_are_and_the_signature_is_capped(name: str) -> None:
    text = paragraphs(300)
    every = method_of(profile_of(name)).sign(normalise([text]))
    few = method_of(profile_of(name, max_prints=20)).sign(normalise([text]))
    values = sorted(int.from_bytes(every.bodies[0][at : at + 8], "little") for at in range(4, len(every.bodies[0]), 8))
    assert few.bodies == [print_body(values[:20], cut=True)]
    assert (every.capped, few.capped) == ([False], [True])
    assert few.features == every.features == [len(values)]


def test_to_keep_few_of_many_is_what_min_n_and_sketch_n_are_for() -> None:
    for name in ("min-n", "sketch-n"):
        signed = method_of(profile_of(name)).sign(normalise([paragraphs(300)]))
        assert signed.capped == [False]


@pytest.mark.parametrize("name", NAMES)
def test_windows_beyond_the_limit_are_left_out_of_the_body(name: str) -> None:
    text = paragraphs(100)
    limited = method_of(profile_of(name), max_features=150).sign(normalise([text, text[:60]]))
    first = method_of(profile_of(name)).sign(normalise([text[: 150 + 19]]))
    assert limited.capped == [True, False]
    assert limited.bodies[0] == first.bodies[0]


@pytest.mark.parametrize("name", NAMES)
def test_below_the_minimum_of_features_a_body_is_empty(name: str) -> None:
    text = paragraphs(100)
    counted = method_of(profile_of(name)).sign(normalise([text])).features[0]
    for least, has in ((counted, True), (counted + 1, False)):
        signed = method_of(profile_of(name, min_features=least)).sign(normalise([text, "too short", ""]))
        assert [bool(body) for body in signed.bodies] == [has, False, False]


# Buckets


@given(batches, profiles(SAMPLES))
def test_a_set_is_stored_under_its_smallest_fingerprints(batch: list[str], profile: Profile) -> None:
    method, most = method_of(profile), profile.parameters()["max_keys"]
    bodies = method.sign(normalise(batch)).bodies
    stored = method.postings(bodies)
    for row, body in enumerate(bodies):
        values = [int.from_bytes(body[at : at + 8], "little") for at in range(4, len(body), 8)]
        mine = [(k, t) for r, k, t in zip(*(c.tolist() for c in (stored.rows, stored.keys, stored.tags))) if r == row]
        assert mine == [reference_sampling.print_key(value, profile) for value in values[:most]]
    assert stored.rows.tolist() == sorted(stored.rows.tolist())
    assert stored.keys.tolist() == method.probes(bodies).keys.tolist()
    assert not stored.radii.any()
    assert all(
        tag < 2 ** (8 * method.layout.tag_bytes[key >> 32])
        for key, tag in zip(stored.keys.tolist(), stored.tags.tolist())
    )


def test_a_sketch_is_stored_under_the_bands_of_its_lowest_bytes() -> None:
    profile = profile_of("sketch-n")
    method = method_of(profile)
    bodies = [b"", *method.sign(normalise(list(WRITTEN.values()))).bodies]
    stored = method.postings(bodies)
    for row, body in enumerate(bodies):
        found = [(k, t) for r, k, t in zip(*(c.tolist() for c in (stored.rows, stored.keys, stored.tags))) if r == row]
        expected = reference.band_keys(body[::4], bands=2, rows=4) if body else []
        assert found == expected


@pytest.mark.parametrize("name", NAMES)
def test_empty_bodies_are_stored_nowhere_and_not_compared(name: str) -> None:
    method = method_of(profile_of(name))
    [body] = method.sign(normalise([paragraphs(50)])).bodies
    for bodies in ([], [b""], [b"", b""]):
        assert len(method.postings(bodies)) == len(method.probes(bodies)) == 0
    assert set(method.postings([b"", body, b""]).rows.tolist()) == {1}
    for pair in ((b"", body), (body, b"")):
        with pytest.raises(ValueError, match="too few features"):
            method.compare([pair[0]], [pair[1]])


# Comparing


@pytest.mark.slow
@given(long_texts, long_texts, PROFILES)
def test_measures_are_the_same_from_both_sides_and_within_bounds(left: str, right: str, profile: Profile) -> None:
    method = method_of(profile)
    bodies = method.sign(normalise([left, right])).bodies
    if not all(bodies):
        return
    forth, back = method.compare(bodies[:1], bodies[1:]), method.compare(bodies[1:], bodies[:1])
    for one, other in ((forth.resemblance, back.resemblance), (forth.left_in_right, back.right_in_left)):
        if one is None or other is None:
            assert one is other is None
        else:
            assert one[0] == other[0]
            assert 0 <= one[0] <= 1
    decided = msgspec.structs.replace(profile, resemblance=0.5, containment=0.5)
    assert alike(forth, decided)[0] == alike(back, decided)[0]


@pytest.mark.slow
@given(long_texts, PROFILES)
def test_a_text_resembles_itself_wholly(text: str, profile: Profile) -> None:
    method = method_of(profile)
    [body] = method.sign(normalise([text])).bodies
    if not body:
        return
    found = method.compare([body], [body])
    assert found.resemblance is not None
    assert found.resemblance[0] == 1
    assert found.left_in_right is None or found.left_in_right[0] == 1


@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_near_the_share_of_windows_in_common(name: str) -> None:
    """But for BSW_n: chunks that a passage cuts are neither in the one text nor in the other."""
    shared, mine, theirs = paragraphs(1500, 1), paragraphs(300, 2), paragraphs(300, 3)
    left, right = f"{shared} {mine}", f"{shared} {theirs}"
    sides = [set(sketches.windows(normalise([text]), 20).prints.tolist()) for text in (left, right)]
    true = len(sides[0] & sides[1]) / len(sides[0] | sides[1])
    sample = 400 if name in ("min-n", "sketch-n") else 8
    found, inside, _ = measured(method_of(profile_of(name, sample=sample)), left, right)
    assert abs(found - true) < 0.09
    if inside is not None:
        assert abs(inside - len(sides[0] & sides[1]) / len(sides[0])) < 0.09


@pytest.mark.parametrize("name", ["mod-n", "bsw-n"])
@pytest.mark.parametrize("most", [64, 4096])
def test_a_chapter_is_contained_in_its_book_even_where_the_book_was_cut(name: str, most: int) -> None:
    chapters = [paragraphs(400, seed) for seed in range(1, 9)]
    book, chapter = " ".join(chapters), chapters[5]
    method = method_of(profile_of(name, max_prints=most, min_features=4))
    resemblance, inside, around = measured(method, chapter, book)
    assert inside is not None
    assert around is not None
    assert inside > 0.9
    assert around < 0.3
    assert resemblance < 0.3


def test_the_smallest_of_a_part_say_nothing_of_its_whole() -> None:
    for name in ("min-n", "sketch-n"):
        _, inside, around = measured(method_of(profile_of(name)), paragraphs(50), paragraphs(60))
        assert inside is around is None


def test_two_fingerprints_of_two_are_no_containment() -> None:
    """Of a book that was cut, hardly any fingerprint may lie where those of its chapter do."""
    method = method_of(profile_of("mod-n", min_features=8, max_prints=16))
    book, chapter = print_body(range(16), cut=True), print_body([3, 9, *range(100, 120)])
    found = method.compare([chapter], [book])
    assert found.left_in_right is not None
    assert found.left_in_right[0] == 2 / 8


# Parameters


@pytest.mark.parametrize("name", SETS)
def test_a_profile_without_a_threshold_for_what_its_method_measures_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"profile\.resemblance"):
        method_of(profile_of(name, resemblance=None))
    if name == "min-n":
        with pytest.raises(ConfigError, match=r"profile\.resemblance"):
            method_of(profile_of(name, resemblance=None, containment=0.8))
    else:
        method_of(profile_of(name, resemblance=None, containment=0.8))


def test_there_is_no_fingerprint_to_show() -> None:
    for name in NAMES:
        method = method_of(profile_of(name), max_features=NO_LIMIT)
        assert method.fingerprint(method.sign(normalise([paragraphs(50)])).bodies[0]) is None
