"""Which pairs are alike, the same from both sides; and the verdict that the matches of a document make."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core.judge import (
    DECIMALS,
    EXACT,
    NEARLY_ALL,
    SAME_BYTES,
    EarlierDocument,
    Likeness,
    alike,
    likeness_of_pair,
    verify,
)
from gate.core.method_parameters import (
    BswN,
    Fingerprinted,
    Hybrid,
    MinHash,
    MinN,
    ModN,
    SampleParameters,
    SimHash,
    SimilarityIndex,
    SketchN,
    WindowParameters,
)
from gate.core.method_registry import Measures, method_of
from gate.core.minhash import signatures
from gate.core.profile import Profile
from gate.core.simhash import distance
from gate.core.stored_verdict import Answer, Hit
from gate.model import Degraded, Relation
from tests.core.judged_matches import EARLIER, ME, earlier, judged, near
from tests.core.samples import packed, print_body

MIRRORED = {
    Relation.NEAR: Relation.NEAR,
    Relation.CONTAINED: Relation.CONTAINS,
    Relation.CONTAINS: Relation.CONTAINED,
}
FRACTION = st.floats(0.0, 1.0, exclude_min=True)
BINS = 16
METHODS = (
    MinHash(bins=BINS, bands=2, rows=2),
    ModN(sample=BINS, max_prints=BINS),
    MinN(sample=BINS),
    BswN(sample=BINS, max_prints=BINS),
    SketchN(sample=BINS, bands=2, rows=2),
    SimilarityIndex(),
)


@st.composite
def decided(draw: st.DrawFn) -> Profile:
    """A profile of any method with any thresholds that can decide."""
    radius = draw(st.integers(0, 16))
    prints = (SimHash(radius=radius), Hybrid(bins=BINS, bands=2, rows=2, radius=radius))
    method = draw(st.sampled_from((*METHODS, *prints)))
    resemblance = draw(st.none() | FRACTION if isinstance(method, Fingerprinted) else FRACTION)
    return Profile(
        name="p",
        method=method,
        tokenizer="characters" if isinstance(method, WindowParameters) else "words",
        resemblance=resemblance,
        containment=draw(st.none() | FRACTION),
    )


@st.composite
def bodies(draw: st.DrawFn, profile: Profile) -> tuple[bytes, bytes]:
    """Two bodies that share some of their bytes, with set sizes near or far from each other."""
    fingerprint, size = st.binary(min_size=8, max_size=8), st.integers(0, 2**32 - 1) | st.integers(0, 40)
    sketch = st.binary(min_size=BINS, max_size=BINS)
    left, right = draw(sketch), draw(sketch)
    share = draw(st.integers(0, BINS))
    right = left[:share] + right[share:]
    prints = draw(fingerprint), draw(fingerprint)
    flipped = bytes(a ^ (b & draw(st.sampled_from([0, 1, 0xFF]))) for a, b in zip(*prints))
    sizes = [draw(size).to_bytes(4, "little") for _ in range(2)]
    if isinstance(profile.method, SampleParameters):
        values = st.sets(st.integers(0, 40) | st.integers(0, 2**64 - 1), min_size=1, max_size=BINS)
        return print_body(draw(values), cut=draw(st.booleans())), print_body(draw(values), cut=draw(st.booleans()))
    return {
        "sketch-n": (4 * left, 4 * right),
        "simhash": (prints[0], flipped),
        "simindex": (b"\x01" + prints[0][1:], b"\x01" + flipped[1:]),  # 0 is no number
        "minhash": (sizes[0] + left, sizes[1] + right),
        "hybrid": (prints[0] + sizes[0] + left, flipped + sizes[1] + right),
    }[profile.method.name]


@pytest.mark.slow
@given(st.data(), decided())
def test_alike_is_symmetric_and_relations_mirror_each_other(data: st.DataObject, profile: Profile) -> None:
    left, right = data.draw(bodies(profile))
    method = method_of(profile)
    [forth] = verify(method, profile, [left], [right])
    [back] = verify(method, profile, [right], [left])
    assert (forth is None) == (back is None)
    if forth is not None and back is not None:
        assert forth.relation == MIRRORED[back.relation]
        assert (forth.distance, forth.resemblance) == (back.distance, back.resemblance)


@pytest.mark.slow
@given(st.data(), decided())
def test_whether_two_are_alike_does_not_depend_on_the_other_pairs(data: st.DataObject, profile: Profile) -> None:
    pairs = data.draw(st.lists(bodies(profile), min_size=1, max_size=5))
    method = method_of(profile)
    together = verify(method, profile, [left for left, _ in pairs], [right for _, right in pairs])
    assert together == [verify(method, profile, [left], [right])[0] for left, right in pairs]


@pytest.mark.slow
@given(st.data(), decided())
def test_a_body_is_alike_to_itself(data: st.DataObject, profile: Profile) -> None:
    body, _ = data.draw(bodies(profile))
    [found] = verify(method_of(profile), profile, [body], [body])
    assert found is not None
    assert found.relation is Relation.NEAR
    assert found.distance in (0, None)
    assert found.resemblance in (1.0, None)


def test_nothing_to_verify_is_nothing_found() -> None:
    profile = Profile(name="p")
    assert verify(method_of(profile), profile, [], []) == []


# Thresholds


def measured(**columns: float | None) -> Measures:
    values = {name: None if value is None else np.array([value]) for name, value in columns.items()}
    distance = values.pop("distance", None)
    return Measures(distance=None if distance is None else distance.astype(np.int64), **values)


@pytest.mark.parametrize(
    ("resemblance", "left_in_right", "right_in_left", "expected"),
    [
        (0.7, 0.0, 0.0, True),
        (0.69994, 0.0, 0.0, False),
        (0.69996, 0.0, 0.0, True),  # shown as .7, so it is .7
        (0.1, 0.9, 0.0, True),
        (0.1, 0.0, 0.9, True),
        (0.1, 0.89994, 0.89994, False),
    ],
)
def test_a_measure_on_its_threshold_counts(
    resemblance: float, left_in_right: float, right_in_left: float, expected: bool
) -> None:
    profile = Profile(name="p", resemblance=0.7, containment=0.9)
    measures = measured(resemblance=resemblance, left_in_right=left_in_right, right_in_left=right_in_left, distance=0)
    assert alike(measures, profile).tolist() == [expected]


def test_containment_does_not_decide_without_a_threshold_of_its_own() -> None:
    measures = measured(resemblance=0.1, left_in_right=1.0, right_in_left=0.1)
    assert alike(measures, Profile(name="p", resemblance=0.7)).tolist() == [False]


def test_the_distance_decides_only_where_nothing_else_can() -> None:
    near, far = (measured(distance=bits, resemblance=0.1, left_in_right=0.1, right_in_left=0.1) for bits in (3, 4))
    for profile, expected in (
        (Profile(name="p", method=Hybrid(radius=3)), [False, False]),
        (Profile(name="p", method=Hybrid(radius=3), resemblance=None), [True, False]),
    ):
        assert [alike(one, profile)[0] for one in (near, far)] == expected
    only = measured(distance=3)
    assert alike(only, Profile(name="p", method=SimHash(radius=3), resemblance=0.7)).tolist() == [True]


@pytest.mark.parametrize("radius", range(17))
def test_fingerprints_are_alike_within_the_radius_and_not_beyond(radius: int) -> None:
    profile = Profile(name="p", method=SimHash(radius=radius), resemblance=None)
    prints = [0, 2**radius - 1, 2 ** (radius + 1) - 1]
    stored = [value.to_bytes(8, "little") for value in prints]
    found = verify(method_of(profile), profile, [stored[0]] * 2, stored[1:])
    assert [None if one is None else one.distance for one in found] == [distance(0, prints[1]), None]


@given(st.integers(16, 1024), st.data())
def test_what_is_shown_agrees_with_what_was_decided(bins: int, data: st.DataObject) -> None:
    agreeing = data.draw(st.integers(0, bins))
    value = float(np.clip((agreeing / bins - 1 / 256) / (255 / 256), 0.0, 1.0))
    threshold = data.draw(st.sampled_from([round(value, DECIMALS), float(np.round(value, DECIMALS)), 0.5, 0.7])) or 0.5
    measures = measured(resemblance=value, left_in_right=value, right_in_left=value)
    shown = likeness_of_pair(measures, 0, Profile(name="p")).resemblance
    assert shown is not None
    assert alike(measures, Profile(name="p", resemblance=threshold)).tolist() == [shown >= threshold]


@pytest.mark.parametrize("value", [0.00035, 0.00095, 0.00115, 0.00155])
def test_halves_are_shown_as_they_were_decided(value: float) -> None:
    measures = measured(left_in_right=value, right_in_left=value)
    shown = likeness_of_pair(measures, 0, Profile(name="p")).containment
    assert shown is not None
    assert shown > round(value, DECIMALS)  # Python would round it down
    assert alike(measures, Profile(name="p", resemblance=None, containment=shown)).tolist() == [True]


# Relations


@pytest.mark.parametrize(
    ("left_in_right", "right_in_left", "relation"),
    [
        (1.0, 0.2, Relation.CONTAINED),
        (0.2, 1.0, Relation.CONTAINS),
        (NEARLY_ALL, 0.9, Relation.CONTAINED),
        (0.9, NEARLY_ALL, Relation.CONTAINS),
        (0.94, 0.5, Relation.NEAR),
        (1.0, 0.96, Relation.NEAR),  # each is nearly all of the other: a copy, not a part
        (None, None, Relation.NEAR),
    ],
)
def test_a_part_is_named_where_only_one_side_is_nearly_all_in_the_other(
    left_in_right: float | None, right_in_left: float | None, relation: Relation
) -> None:
    found = likeness_of_pair(measured(left_in_right=left_in_right, right_in_left=right_in_left), 0, Profile(name="p"))
    assert found == Likeness(distance=None, resemblance=None, containment=left_in_right, relation=relation)


@pytest.mark.parametrize(
    ("resemblance", "left_in_right", "right_in_left", "relation"),
    [
        (0.2, 0.85, 0.21, Relation.CONTAINED),
        (0.2, 0.21, 0.85, Relation.CONTAINS),
        (0.7, 0.85, 0.8, Relation.NEAR),  # alike by resemblance too: an edited copy, not a part
        (0.2, 0.7, 0.21, Relation.NEAR),  # not alike at all
    ],
)
def test_what_is_alike_by_containment_alone_is_a_part(
    resemblance: float, left_in_right: float, right_in_left: float, relation: Relation
) -> None:
    profile = Profile(name="p", resemblance=0.65, containment=0.8)
    measures = measured(resemblance=resemblance, left_in_right=left_in_right, right_in_left=right_in_left)
    assert likeness_of_pair(measures, 0, profile).relation is relation


@pytest.mark.slow
@example(900, 100)
@given(st.integers(50, 2000), st.integers(50, 2000))
def test_the_first_part_of_a_document_is_contained_in_it(whole: int, part: int) -> None:
    part = min(part, whole)
    draw = np.random.default_rng(whole * 2001 + part)
    hashes = draw.integers(0, 2**63, whole, dtype=np.uint64).tolist()
    minhash = MinHash()
    profile = Profile(name="p", method=minhash, resemblance=None, containment=0.5)
    sketches, sizes = signatures(packed([hashes, hashes[:part]]), minhash.bins)
    big, small = (int(n).to_bytes(4, "little") + row.tobytes() for n, row in zip(sizes, sketches))
    measures = method_of(profile).compare([small], [big])
    assert measures.left_in_right is not None
    assert measures.right_in_left is not None
    # With the errors of two estimates, and theirs grow the smaller the part is.
    assert abs(float(measures.right_in_left[0]) - part / whole) < 0.25
    if part > whole / 2:
        assert float(measures.left_in_right[0]) > 0.6


def test_a_profile_with_another_threshold_decides_otherwise_of_the_same_bodies() -> None:
    profile = Profile(name="p", resemblance=0.9)
    strict, loose = (msgspec.structs.replace(profile, resemblance=at) for at in (0.9, 0.5))
    measures = measured(resemblance=0.7, left_in_right=0.8, right_in_left=0.8, distance=9)
    assert not alike(measures, strict)[0]
    assert alike(measures, loose)[0]


# Verdicts


@pytest.mark.parametrize(
    ("answer", "relation"),
    [
        (judged(), Relation.NEW),
        (judged(short=True), Relation.TOO_SHORT),
        (judged(earlier_versions=True), Relation.REVISION),
        (judged(short=True, earlier_versions=True), Relation.REVISION),
        (judged(short=True, unreadable="binary"), Relation.UNREADABLE),
        (judged(empty=True), Relation.EMPTY),
        (judged(earlier(1, EXACT), empty=True, short=True, earlier_versions=True), Relation.EMPTY),
    ],
)
def test_a_document_that_nothing_is_alike_to_passes(answer: Answer, relation: Relation) -> None:
    assert answer.relation is relation
    assert not answer.similar
    assert answer.group == 0
    assert answer.hits == ()


@pytest.mark.parametrize("relation", [Relation.EXACT, Relation.NEAR, Relation.CONTAINED, Relation.CONTAINS])
def test_a_document_that_something_is_alike_to_is_called_by_its_best_match(relation: Relation) -> None:
    best, other = earlier(4, near(1.0, relation=relation)), earlier(3, near(0.8))
    for short, versions in ((False, False), (True, False), (False, True)):
        answer = judged(other, best, short=short, earlier_versions=versions)
        assert answer.similar
        assert answer.relation is relation
        assert [hit.entry for hit in answer.hits] == [4, 3]


def test_other_versions_of_a_document_do_not_count_against_it() -> None:
    answer = judged(earlier(1, EXACT, owner=ME), earlier(2, near(), owner=ME), earlier_versions=True)
    assert answer.relation is Relation.REVISION
    assert not answer.similar
    both = judged(earlier(1, EXACT, owner=ME), earlier(2, near(0.8)), earlier_versions=True)
    assert both.relation is Relation.NEAR
    assert [hit.entry for hit in both.hits] == [2]
    assert both.group == 2


# Order, caps and groups


def test_matches_come_exact_first_then_by_resemblance_then_by_distance_then_by_ticket() -> None:
    ordered = [
        earlier(10, EXACT, ticket=99),
        earlier(16, near(1.0, 0), ticket=2),
        earlier(11, near(1.0, 5), ticket=98),
        earlier(12, near(0.9, 0), ticket=97),
        earlier(13, near(0.9, 2), ticket=3),
        earlier(14, near(0.9, 2), ticket=4),
        earlier(15, near(0.2, 0), ticket=1),
    ]
    for seed in range(20):
        shuffled = random.Random(seed).sample(ordered, len(ordered))
        assert [hit.entry for hit in judged(*shuffled).hits] == [10, 16, 11, 12, 13, 14, 15]


def test_where_only_the_distance_is_known_it_orders_the_matches() -> None:
    found = [earlier(1, near(None, 3)), earlier(2, near(None, 0)), earlier(3, near(None, 2)), earlier(4, near(None, 2))]
    assert [hit.entry for hit in judged(*found).hits] == [2, 3, 4, 1]


@pytest.mark.slow
@given(EARLIER, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_in_which_matches_were_found(
    found: list[EarlierDocument], cap: int, draw: random.Random
) -> None:
    assert judged(*found, max_matches=cap) == judged(*draw.sample(found, len(found)), max_matches=cap)


@pytest.mark.slow
@given(EARLIER, st.integers(1, 5))
def test_the_group_is_the_first_by_ticket_even_if_it_is_not_among_the_matches_named(
    found: list[EarlierDocument], cap: int
) -> None:
    answer = judged(*found, max_matches=cap)
    others = [document for document in found if document.document_id != ME]
    assert answer.group == min(((document.ticket, document.entry) for document in others), default=(0, 0))[1]
    assert answer.similar == bool(others)


@pytest.mark.slow
@given(EARLIER, st.integers(1, 5))
def test_matches_beyond_the_cap_are_left_out_and_the_answer_says_so(found: list[EarlierDocument], cap: int) -> None:
    answer, whole = judged(*found, max_matches=cap), judged(*found, max_matches=100)
    assert answer.hits == whole.hits[:cap]
    assert (Degraded.MATCHES_CAPPED in answer.degraded) == (len(whole.hits) > cap)
    assert answer.relation == whole.relation


@pytest.mark.slow
@given(st.sets(st.sampled_from(list(Degraded))))
def test_every_reason_is_given_once_in_one_order(reasons: set[Degraded]) -> None:
    answer = judged(degraded=tuple(reasons))
    assert answer.degraded == tuple(sorted(reasons))
    assert answer.candidates == 7


def test_a_hit_keeps_the_measures_of_its_match() -> None:
    [hit] = judged(earlier(5, Likeness(3, 0.75, 0.5, Relation.CONTAINS))).hits
    assert hit == Hit(5, Relation.CONTAINS, 3, 0.75, 0.5)


def test_the_same_bytes_are_an_exact_copy_of_which_nothing_is_measured() -> None:
    answer = judged(earlier(1, SAME_BYTES), short=True, unreadable="binary")
    assert (answer.relation, answer.similar, answer.unreadable) == (Relation.EXACT, True, "binary")
    assert answer.hits == (Hit(1, Relation.EXACT, None, None, None),)
