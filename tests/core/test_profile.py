"""A profile: its flat parameters, and a digest that covers what shapes a signature, and nothing else."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import pytest
from msgspec import structs

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import BswN, Hybrid, MethodParameters, MinHash, MinN, ModN, SimHash, SketchN
from gate.core.method_registry import METHODS
from gate.core.profile import BY_FINGERPRINT, NOT_SHAPING, Profile, decides_by_bits, with_threshold

Struct = TypeVar("Struct", bound=msgspec.Struct)
OTHERS: dict[str, object] = {
    "family": "murmur3",
    "length_filter": "weighted",
    "chunks": "whole",
    "tokenizer": "soundex",
    "weights": "set",
    "method": MinHash(),
    "stop_words": ("a",),
    "resemblance": 0.5,
    "containment": 0.5,
    "index": "all",
    "revisions": "replace",
    "name": "q",
}


def other(struct: Struct, field: str) -> Struct:
    """The struct with another value of the field."""
    value = getattr(struct, field)
    if isinstance(value, bool | int):
        value = not value if isinstance(value, bool) else value + 1
    return structs.replace(struct, **{field: OTHERS.get(field, value)})


@pytest.mark.parametrize("field", Profile.__struct_fields__)
def test_what_shapes_a_signature_is_in_the_digest_and_what_judges_it_is_not(field: str) -> None:
    plain = Profile(name="p")
    same = other(plain, field).digest() == plain.digest()
    assert same == (field in NOT_SHAPING)


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind in METHODS for field in kind.__struct_fields__], ids=str
)
def test_every_parameter_of_a_method_that_shapes_a_signature_is_in_the_digest(
    kind: type[MethodParameters], field: str
) -> None:
    plain = Profile(name="p", method=kind())
    changed = Profile(name="p", method=other(kind(), field))
    assert (changed.digest() == plain.digest()) == (field in NOT_SHAPING)


@pytest.mark.parametrize("field", Profile.__struct_fields__)
def test_a_field_that_is_not_in_the_digest_is_a_decision_or_a_name(field: str) -> None:
    plain = Profile(name="p")
    is_decision = other(plain, field).decisions() != plain.decisions()
    assert is_decision == (field in NOT_SHAPING and field not in ("name", "version"))


def test_what_means_nothing_to_a_method_is_no_decision() -> None:
    by_bits = Profile(name="p", method=SimHash(), resemblance=0.9, containment=0.8)
    assert by_bits.decisions() == BY_FINGERPRINT


def test_a_difference_of_decisions_names_both_values() -> None:
    index = Profile(name="p", resemblance=0.65).decisions()
    own = Profile(name="p", resemblance=0.8, containment=0.9, index="all").decisions()
    assert index.differences(index) == []
    assert index.differences(own) == [
        "resemblance 0.65, and this profile has 0.8",
        "containment none, and this profile has 0.9",
        "index originals, and this profile has all",
    ]


def test_profiles_of_two_methods_have_two_digests() -> None:
    digests = {Profile(name="p", method=kind()).digest() for kind in METHODS}
    assert len(digests) == len(METHODS)


def test_a_secret_is_part_of_the_digest() -> None:
    plain = Profile(name="p")
    assert len({plain.digest(), plain.digest(b"a"), plain.digest(b"b")}) == 3


def test_parameters_are_flat_and_have_those_of_the_method_alone() -> None:
    flat = Profile(name="p", method=SimHash(radius=5)).parameters()
    assert (flat["name"], flat["method"], flat["radius"], flat["weights"]) == ("p", "simhash", 5, "count")
    assert not {"bins", "bands", "rows", "window", "si_method", "resemblance"} & flat.keys()
    assert {"bins", "bands", "rows", "radius", "resemblance"} <= Profile(name="p").parameters().keys()


@pytest.mark.parametrize("kind", [ModN, MinN, BswN, SketchN])
def test_a_method_of_windows_has_no_size_of_grams(kind: type[MethodParameters]) -> None:
    profile = Profile(name="p", tokenizer="characters", method=kind())
    assert "gram" not in profile.parameters()
    assert structs.replace(profile, gram=9).digest() == profile.digest()


def test_a_profile_of_a_fingerprint_alone_takes_a_threshold_as_bits() -> None:
    assert with_threshold(BUILT_IN["simhash"], 0.9).method == SimHash(radius=6)
    assert with_threshold(BUILT_IN["simhash"], 0.7).method == SimHash(radius=19)
    assert with_threshold(Profile(name="p", resemblance=None), 0.625).method == Hybrid(radius=24)


def test_a_threshold_that_lets_more_bits_differ_than_mean_anything_is_refused() -> None:
    for threshold in (0.609, 0.5, 0.1):
        with pytest.raises(
            ValueError, match=r"bits differ, and unrelated texts differ in about 32; give 0\.625 or more"
        ):
            with_threshold(BUILT_IN["roth-2013"], threshold)


@pytest.mark.parametrize(
    ("profile", "by_bits"),
    [("simhash", True), ("roth-2013", True), ("standard", False), ("minhash", False), ("roth-2011", False)],
)
def test_a_fingerprint_decides_where_no_other_threshold_does(profile: str, by_bits: bool) -> None:
    assert decides_by_bits(BUILT_IN[profile]) == by_bits
    without = structs.replace(BUILT_IN[profile], resemblance=None, containment=None)
    assert decides_by_bits(without) == (profile in ("simhash", "roth-2013", "standard"))


def test_any_other_profile_takes_a_threshold_as_it_is() -> None:
    standard, containment = with_threshold(BUILT_IN["standard"], 0.9), with_threshold(BUILT_IN["containment"], 0.9)
    assert (standard.resemblance, standard.containment, standard.method) == (0.9, None, BUILT_IN["standard"].method)
    assert (containment.resemblance, containment.containment) == (0.9, 0.9)


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1])
def test_a_threshold_outside_of_0_to_1_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="is not allowed; give a number above 0 and at most 1"):
        with_threshold(BUILT_IN["standard"], threshold)
