"""The table of methods: what is signed, where it is kept and how it compares."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.bands import Probes, no_probes
from gate.core.method_parameters import Hybrid, MethodParameters, MinHash, SimHash
from gate.core.method_registry import METHODS, BodyLayout, Measures, Method, Signatures, method_of
from gate.core.profile import Profile
from gate.core.shingles import features
from gate.core.text import Texts, normalise
from gate.errors import ConfigError
from tests.core import reference
from tests.core.samples import WRITTEN, any_texts, batches

# Those of k-grams; test_sampled_methods.py has the others.
KINDS: dict[str, type[MethodParameters]] = {kind.name: kind for kind in (Hybrid, MinHash, SimHash)}
NAMES = list(KINDS)
FINGERPRINT = {"radius": st.integers(0, 5), "weights": st.sampled_from(["count", "log", "set"])}
SKETCH = {
    "bins": st.sampled_from([32, 64]),
    "bands": st.integers(1, 4),
    "rows": st.integers(1, 8),
    "family": st.sampled_from(["one-permutation", "modular", "multiplicative", "murmur3"]),
}
PROFILES = st.builds(
    Profile,
    name=st.just("p"),
    tokenizer=st.sampled_from(["characters", "words", "soundex"]),
    gram=st.integers(1, 4),
    method=st.one_of(
        st.builds(SimHash, **FINGERPRINT),
        st.builds(MinHash, **SKETCH),
        st.builds(Hybrid, **FINGERPRINT, **SKETCH),
    ),
    min_features=st.sampled_from([1, 8]),
)


def pairs_of(probes: Probes) -> list[tuple[int, int, int, int]]:
    return list(zip(*(column.tolist() for column in (probes.rows, probes.keys, probes.tags, probes.radii))))


def kept(body: bytes, profile: Profile) -> set[tuple[int, int]]:
    """Keys and tags of a body, by the definition."""
    found: set[tuple[int, int]] = set()
    own = profile.parameters()
    if own["method"] != "minhash" and body:
        fingerprint = int.from_bytes(body[:8], "little")
        found |= {(key, fingerprint) for key in reference.block_keys(fingerprint)}
    if own["method"] != "simhash" and body:
        found |= set(reference.band_keys(body[-own["bins"] :], bands=own["bands"], rows=own["rows"]))
    return found


# Signing


@pytest.mark.slow
@given(batches, PROFILES, st.sampled_from([b"", b"secret"]))
def test_the_bodies_of_a_batch_are_those_of_each_text(batch: list[str], profile: Profile, secret: bytes) -> None:
    signed = method_of(profile, secret).sign(normalise(batch))
    features = [reference.features(reference.normalise(text), profile, secret) for text in batch]
    assert signed.bodies == [reference.body(one, profile) for one in features]
    assert signed.features == [len(one) for one in features]
    assert signed.capped == [False] * len(batch)


@given(any_texts, batches, batches, PROFILES)
def test_a_text_is_signed_alike_in_any_batch(text: str, before: list[str], after: list[str], profile: Profile) -> None:
    method = method_of(profile)
    together = method.sign(normalise([*before, text, *after]))
    assert together.bodies[len(before)] == method.sign(normalise([text])).bodies[0]


@pytest.mark.parametrize("name", NAMES)
def test_texts_that_differ_in_form_only_have_one_body(name: str) -> None:
    method = method_of(Profile(name="p", method=KINDS[name](), min_features=1, tokenizer="characters"))
    forms = ["Straße im  Café", "STRASSE IM CAFE\u0301", "strasse im café\n", "ＳＴＲＡＳＳＥ\u00ad im Café"]
    assert len(set(method.sign(normalise(forms)).bodies)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_with_another_secret_bodies_have_nothing_in_common(name: str) -> None:
    profile = Profile(name="p", method=KINDS[name](), min_features=1)
    texts = normalise(list(WRITTEN.values()))
    bodies = [method_of(profile, secret).sign(texts).bodies for secret in (b"", b"a", b"b")]
    for mine, theirs in ((bodies[0], bodies[1]), (bodies[1], bodies[2])):
        measures = method_of(profile).compare(mine, theirs)
        assert measures.resemblance is None or measures.resemblance.max() < 0.2
        assert measures.distance is None or measures.distance.min() > 12


# Limits


@pytest.mark.slow
@given(batches, PROFILES, st.integers(1, 12))
def test_the_features_beyond_the_limit_are_left_out_of_the_body(batch: list[str], profile: Profile, limit: int) -> None:
    signed = method_of(profile, max_features=limit).sign(normalise(batch))
    features = [reference.features(reference.normalise(text), profile) for text in batch]
    eager = msgspec.structs.replace(profile, min_features=1)
    short = [len(one) < profile.min_features for one in features]
    expected = [b"" if cut else reference.body(one[:limit], eager) for one, cut in zip(features, short)]
    assert signed.bodies == expected
    assert signed.features == [len(one) for one in features]
    assert signed.capped == [len(one) > limit for one in features]


@pytest.mark.parametrize("name", NAMES)
def test_below_the_minimum_of_features_a_body_is_empty(name: str) -> None:
    method = method_of(Profile(name="p", method=KINDS[name](), gram=1, min_features=3))
    signed = method.sign(normalise(["", "one", "one two", "one two three", "!!!"]))
    assert [bool(body) for body in signed.bodies] == [False, False, False, True, False]
    assert signed.features == [0, 1, 2, 3, 0]


# Buckets


@given(batches, PROFILES)
def test_a_body_is_stored_and_looked_up_where_the_definition_says(batch: list[str], profile: Profile) -> None:
    method = method_of(profile)
    bodies = method.sign(normalise(batch)).bodies
    stored, probes = pairs_of(method.postings(bodies)), pairs_of(method.probes(bodies))
    for row, body in enumerate(bodies):
        mine = {(key, tag) for at, key, tag, _ in stored if at == row}
        assert mine == kept(body, profile)
        radius_of = {(key, tag): radius for at, key, tag, radius in probes if at == row}
        # Where it is kept, it finds itself; with the radius 0 not every block has to be read.
        assert bool(mine) == bool(mine & radius_of.keys())
        for (key, _), radius in radius_of.items():
            assert radius == (0 if key >> 32 >= 16 else profile.parameters()["radius"])
    assert [row for row, *_ in probes] == sorted(row for row, *_ in probes)


@pytest.mark.parametrize("name", NAMES)
def test_only_empty_bodies_are_stored_nowhere(name: str) -> None:
    method = method_of(Profile(name="p", method=KINDS[name]()))
    for bodies in ([], [b""], [b"", b"", b""]):
        assert len(method.postings(bodies)) == len(method.probes(bodies)) == 0


@pytest.mark.parametrize("name", NAMES)
def test_empty_bodies_between_others_take_no_place_in_the_buckets(name: str) -> None:
    method = method_of(Profile(name="p", method=KINDS[name](), min_features=1))
    full = method.sign(normalise(list(WRITTEN.values())[:2])).bodies
    mixed = [b"", full[0], b"", full[1], b""]
    alone = [pairs_of(method.postings([body])) for body in full]
    expected = [(1, *rest) for _, *rest in alone[0]] + [(3, *rest) for _, *rest in alone[1]]
    assert pairs_of(method.postings(mixed)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_body_has_the_size_that_its_layout_gives(name: str) -> None:
    method = method_of(Profile(name="p", method=KINDS[name](), min_features=1))
    bodies = method.sign(normalise(list(WRITTEN.values()))).bodies
    assert {len(body) for body in bodies} == {method.layout.body_bytes}
    for _, key, tag, _ in pairs_of(method.postings(bodies)):
        assert tag < 2 ** (8 * method.layout.tag_bytes.get(key >> 32, 8))


# Comparing


@pytest.mark.slow
@given(st.data(), st.sampled_from(NAMES), st.sampled_from([16, 128]))
def test_measures_are_those_of_the_definition(data: st.DataObject, name: str, bins: int) -> None:
    sketch = {} if name == "simhash" else {"bins": bins, "bands": 2, "rows": 2}
    method = method_of(Profile(name="p", method=KINDS[name](**sketch)))
    size = method.layout.body_bytes
    bodies = st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=4)
    lefts = data.draw(bodies)
    rights = [data.draw(st.sampled_from([left, left[: size // 2] + bytes(size - size // 2)])) for left in lefts]
    measures = method.compare(lefts, rights)
    for i, (left, right) in enumerate(zip(lefts, rights)):
        if name != "minhash":
            assert measures.distance is not None
            assert measures.distance[i] == sum((a ^ b).bit_count() for a, b in zip(left[:8], right[:8]))
        if name != "simhash":
            assert measures.resemblance is not None
            assert measures.left_in_right is not None
            equal = sum(a == b for a, b in zip(left[-bins:], right[-bins:])) / bins
            sizes = [max(int.from_bytes(body[-bins - 4 : -bins], "little"), 1) for body in (left, right)]
            most = min(sizes) / max(sizes)
            resemblance = min(max((equal - 1 / 256) / (255 / 256), 0.0), most)
            shared = resemblance / (1 + resemblance) * sum(sizes)
            assert measures.resemblance[i] == pytest.approx(resemblance)
            assert measures.left_in_right[i] == pytest.approx(min(shared / sizes[0], 1.0))


@pytest.mark.parametrize("kind", [MinHash, Hybrid])
def test_resemblance_is_no_higher_than_the_sizes_of_the_sets_allow(kind: type[MinHash]) -> None:
    method = method_of(Profile(name="p", method=kind()))
    [body] = method.sign(normalise([" ".join(f"word{i}" for i in range(80))])).bodies
    larger = body[:-132] + (1000).to_bytes(4, "little") + body[-128:]  # all bins agree, and that cannot be
    for measures in (method.compare([body], [larger]), method.compare([larger], [body])):
        assert measures.resemblance == pytest.approx(78 / 1000)
    part = method.compare([body], [larger])
    assert part.left_in_right == pytest.approx(1.0)
    assert part.right_in_left == pytest.approx(78 / 1000)


@pytest.mark.parametrize("kind", [MinHash, Hybrid])
def test_a_short_text_of_the_least_features_of_a_long_one_is_not_alike(kind: type[MinHash]) -> None:
    rng = Random(3)
    words = [f"w{rng.getrandbits(40):x}" for _ in range(20_000)]
    profile = Profile(name="p", method=kind())
    hashes = features(normalise([" ".join(words)]), profile).hashes
    bins = hashes >> np.uint64(32 + 25)  # the upper 7 bits: 128 bins
    least = [int(np.flatnonzero(bins == b)[np.argmin(hashes[bins == b])]) for b in range(128)]
    forged = " ".join(word for place in least for word in words[place : place + 3])
    method = method_of(profile)
    bodies = method.sign(normalise([" ".join(words), forged])).bodies
    agreeing = np.mean(np.frombuffer(bodies[0][-128:], np.uint8) == np.frombuffer(bodies[1][-128:], np.uint8))
    assert agreeing > 0.95  # the forgery is one
    measures = method.compare(bodies[:1], bodies[1:])
    assert measures.resemblance is not None
    assert measures.resemblance[0] < 0.03


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_body_is_not_compared(name: str) -> None:
    method = method_of(Profile(name="p", method=KINDS[name](), min_features=1))
    [one, two] = method.sign(normalise(["one two three four", "five six seven eight"])).bodies
    with pytest.raises(ValueError, match="too few features"):
        method.compare([b"", one], [two, b""])


@pytest.mark.parametrize("name", NAMES)
def test_no_pairs_have_no_measures(name: str) -> None:
    measures = method_of(Profile(name="p", method=KINDS[name]())).compare([], [])
    assert {len(column) for column in (measures.distance, measures.resemblance) if column is not None} == {0}


def test_a_body_with_a_fingerprint_shows_it() -> None:
    texts = normalise([WRITTEN["english"]])
    [print_] = {
        method_of(Profile(name="p", method=KINDS[name]())).fingerprint(
            method_of(Profile(name="p", method=KINDS[name]())).sign(texts).bodies[0]
        )
        for name in ("simhash", "hybrid")
    }
    assert print_ == reference.fingerprint(
        reference.features(reference.normalise(WRITTEN["english"]), Profile(name="p")), "count"
    )
    assert method_of(Profile(name="p", method=MinHash())).fingerprint(b"\x01" * 132) is None
    assert all(method_of(Profile(name="p", method=KINDS[name]())).fingerprint(b"") is None for name in NAMES)


# Parameters that do not go together


def test_parameters_of_an_unknown_method_are_refused_by_the_ones_there_are() -> None:
    with pytest.raises(ConfigError, match=r"Hybrid.*MinHash.*SimHash"):
        method_of(Profile(name="p", method=MethodParameters()))


def test_a_profile_without_a_threshold_for_what_its_method_measures_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"profile\.resemblance"):
        method_of(Profile(name="p", method=MinHash(), resemblance=None))
    for threshold in ({"resemblance": 0.5}, {"resemblance": None, "containment": 0.9}):
        method_of(Profile(name="p", method=MinHash(), **threshold))
    method_of(Profile(name="p", method=Hybrid(), resemblance=None))


def test_a_new_row_of_the_table_is_checked_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Containment(MethodParameters, frozen=True):
        name = "containment"

    class ContainmentOnly:
        layout = BodyLayout(4, {})

        def sign(self, texts: Texts) -> Signatures:
            return Signatures([], [], [])

        def postings(self, bodies: object) -> Probes:
            return no_probes()

        probes = postings

        def compare(self, lefts: object, rights: object) -> Measures:
            return Measures(left_in_right=np.ones(1), right_in_left=np.ones(1))

        def fingerprint(self, body: bytes) -> int | None:
            return None

    def row(profile: Profile, parameters: Containment, secret: bytes, max_features: int) -> Method:
        return ContainmentOnly()

    monkeypatch.setitem(METHODS, Containment, row)  # type: ignore[misc]
    method_of(Profile(name="p", method=Containment(), containment=0.5))
    with pytest.raises(ConfigError):
        method_of(Profile(name="p", method=Containment()))
