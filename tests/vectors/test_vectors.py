"""What is stored today is what was stored before."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import SimilarityIndex, WindowParameters
from gate.core.profile import Profile
from tests.core import reference, reference_sampling, reference_similarity_index
from tests.vectors import generate

pytestmark = pytest.mark.slow

MIGRATION = (
    "What the gate stores has changed. That is a migration: documents signed before do not meet those signed after. "
    "If it is not meant, undo it. If it is, give every profile that it touches a new version, tell it in CHANGELOG.md, "
    "and run `python tests/vectors/generate.py`."
)


def leaves(tree: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {path: tree}
    return {place: value for key, branch in tree.items() for place, value in leaves(branch, f"{path}/{key}").items()}


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("file", sorted(generate.ANSWERS))
def test_known_answers_are_given_again(file: str) -> None:
    before, now = leaves(generate.read(file)), leaves(generate.ANSWERS[file]())
    changed = [place for place in before if place not in now or now[place] != before[place]]
    assert not changed, f"{MIGRATION}\n{len(changed)} of {len(before)} answers in {file}.json, first {changed[:5]}"
    added = sorted(now.keys() - before.keys())
    assert not added, f"{file}.json does not pin {added[:5]}; run `python tests/vectors/generate.py`"


def test_every_tokenizer_variation_and_built_in_profile_is_pinned_with_and_without_a_secret() -> None:
    pinned = generate.read("features")
    for name, _ in generate.shapes():
        assert {name, f"{name} secret"} <= pinned.keys()
    for profile in BUILT_IN.values():
        assert {profile.ref, f"{profile.ref} secret"} <= generate.read("profiles").keys()


def test_every_variation_changes_the_answer_for_some_text() -> None:
    """A vector that a switch does not move would not notice if the switch broke."""
    pinned = generate.read("features")
    assert len({tuple(answers.values()) for answers in pinned.values()}) == len(pinned)


@pytest.mark.parametrize("label", sorted(generate.SECRETS))
@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=list(BUILT_IN))
def test_the_plain_definition_gives_the_known_bodies(profile: Profile, label: str) -> None:
    known = generate.read("profiles")[profile.ref + label]
    for name, text in generate.texts().items():
        assert plain_body(reference.normalise(text), profile, generate.SECRETS[label]).hex() == known[name]["body"], (
            name
        )


def plain_body(normal: str, profile: Profile, secret: bytes) -> bytes:
    if isinstance(profile.method, SimilarityIndex):
        found: bytes = reference_similarity_index.body(normal, profile, secret)
    elif isinstance(profile.method, WindowParameters):
        found = reference_sampling.body(normal, profile, secret)
    else:
        found = reference.body(reference.features(normal, profile, secret), profile)
    return found


def test_the_plain_definition_gives_the_known_families() -> None:
    known = generate.read("families")
    for family, (label, secret) in product(generate.FAMILIES, generate.SECRETS.items()):
        for name, text in generate.texts().items():
            features = reference.features(reference.normalise(text), Profile(name="p"), secret)
            assert reference.signature(features, generate.BINS, family).hex() == known[family + label][name], name


@pytest.mark.no_cover  # the definition is slow enough without
@pytest.mark.parametrize("label", sorted(generate.SECRETS))
@pytest.mark.parametrize("shape", [name for name, _ in generate.number_shapes()])
def test_the_plain_definition_gives_the_known_numbers(shape: str, label: str) -> None:
    profile, window = dict(generate.number_shapes())[shape], generate.NUMBERS_WINDOW
    secret = generate.SECRETS[label]
    for name, text in generate.texts().items():
        for method, answer in enumerate(generate.read("numbers")[shape + label][name].split(), 1):
            if answer != "-":
                own = msgspec.structs.replace(profile, method=SimilarityIndex(si_method=method))
                prints = reference_similarity_index.prints(reference.normalise(text), own, secret)
                found = reference_similarity_index.number(prints, method, gram=own.gram, window=window, secret=secret)
                assert str(found) == answer, (name, method)
