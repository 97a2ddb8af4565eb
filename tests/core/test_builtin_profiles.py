"""The built-in profiles: each can decide, and is found by its own name."""

from __future__ import annotations

import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import METHODS, method_of
from gate.core.profile import Profile


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_built_in_profile_can_decide(name: str) -> None:
    method_of(BUILT_IN[name])


def test_a_built_in_profile_is_listed_by_its_name_in_its_first_version() -> None:
    assert {name: profile.ref for name, profile in BUILT_IN.items()} == {name: f"{name}@1" for name in BUILT_IN}


def test_there_is_a_built_in_profile_of_every_method() -> None:
    assert {type(profile.method) for profile in BUILT_IN.values()} == set(METHODS)


def test_the_standard_profile_is_the_one_of_all_defaults() -> None:
    assert BUILT_IN["standard"] == Profile(name="standard")
