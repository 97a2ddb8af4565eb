"""The parameters of each method: their bounds, and what does not go together."""

from __future__ import annotations

import msgspec
import pytest

from gate.core.method_parameters import (
    BswN,
    Hybrid,
    MethodParameters,
    MinHash,
    MinN,
    ModN,
    SimHash,
    SimilarityIndex,
    SketchN,
    WindowParameters,
)
from gate.core.method_registry import METHODS, method_of
from gate.core.profile import Profile
from gate.errors import ConfigError


@pytest.mark.parametrize("kind", [MinHash, Hybrid])
def test_more_rows_of_bands_than_bins_are_refused(kind: type[MinHash]) -> None:
    with pytest.raises(ConfigError, match="bins"):
        method_of(Profile(name="p", method=kind(bands=33, rows=4)))
    method_of(Profile(name="p", method=kind(bands=32, rows=4)))


@pytest.mark.parametrize("kind", [ModN, MinN, BswN, SketchN])
def test_windows_of_bytes_know_no_words(kind: type[WindowParameters]) -> None:
    with pytest.raises(ConfigError, match=r"profile\.tokenizer.*characters"):
        method_of(Profile(name="p", method=kind()))


def test_more_rows_of_bands_than_values_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"profile\.sample"):
        method_of(Profile(name="p", tokenizer="characters", method=SketchN(sample=8, bands=3, rows=3)))
    method_of(Profile(name="p", tokenizer="characters", method=SketchN(sample=8, bands=2, rows=4)))


def test_words_cannot_be_counted_among_characters() -> None:
    profile = Profile(name="p", method=SimilarityIndex(si_method=13), tokenizer="characters")
    with pytest.raises(ConfigError, match=r"si_method: 13"):
        method_of(profile)
    method_of(msgspec.structs.replace(profile, tokenizer="words"))


def test_a_super_shingle_of_one_would_never_end() -> None:
    with pytest.raises(ConfigError, match=r"profile\.gram"):
        method_of(Profile(name="p", method=SimilarityIndex(si_method=14), gram=1))


@pytest.mark.parametrize("kind", METHODS, ids=str)
def test_the_defaults_of_every_method_go_together(kind: type[MethodParameters]) -> None:
    assert not kind().problems(tokenizer="characters", gram=3)


def test_every_method_has_a_name_of_its_own() -> None:
    assert len({kind.name for kind in METHODS}) == len(METHODS)


@pytest.mark.parametrize("kind", METHODS, ids=str)
def test_what_a_method_has_no_use_for_are_fields_of_a_profile(kind: type[MethodParameters]) -> None:
    assert kind.unused.keys() <= set(Profile.__struct_fields__)


def test_a_value_out_of_bounds_is_refused_when_parameters_are_read() -> None:
    with pytest.raises(msgspec.ValidationError, match="radius"):
        msgspec.convert({"radius": 17}, SimHash)
    with pytest.raises(msgspec.ValidationError, match="bins"):
        msgspec.convert({"bins": 8}, Hybrid)
