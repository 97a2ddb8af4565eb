"""What the loaders of all settings share: reading files, converting values, and words for what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from gate.config.sources import (
    Layer,
    Setting,
    convert_setting,
    describe_type,
    quote,
    read_text,
    read_toml,
    suggest,
)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (bool, "give true or false"),
        (int, "give a whole number"),
        (Annotated[int, Meta(ge=1, le=64)], "give a whole number at least 1 and at most 64"),
        (Annotated[float, Meta(gt=0, lt=1.5)], "give a number above 0 and below 1.5"),
        (Literal["wait", "pass"], "choose one of pass, wait"),
        (tuple[str, ...], "give a list of words"),
        (Annotated[float, Meta(gt=0)] | None, "give a number above 0, or false for none"),
        (Annotated[str, Meta(pattern="^[a-z]+$")], "give text like ^[a-z]+$"),
        (str, "give text"),
    ],
)
def test_every_type_of_setting_is_described_by_what_it_allows(kind: Any, words: str) -> None:
    assert describe_type(kind) == words


@pytest.mark.parametrize(("layer", "value"), [(Layer.FILE, None), (Layer.ENVIRONMENT, 7), (Layer.FLAG, 7)])
def test_only_the_environment_and_flags_may_give_a_number_as_its_digits(layer: Layer, value: int | None) -> None:
    problems: list[str] = []
    assert convert_setting("n", Setting("7", "there", layer, Path()), int, problems) == value
    assert problems == ([] if value else ["n (there): '7' is not allowed; give a whole number"])


def test_a_misspelled_key_gets_the_nearest_one_suggested_and_a_far_one_all() -> None:
    assert suggest("profil", ("index", "profile")) == "did you mean `profile`?"
    assert suggest("zzz", ("profile", "index")) == "known are index, profile"


def test_a_long_value_is_cut_in_a_message() -> None:
    assert quote("x" * 100) == "'" + "x" * 56 + "..."
    assert quote(Path("a b")) == "'a b'"


def test_a_byte_order_mark_is_no_part_of_a_settings_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x = 1", encoding="utf-8-sig")
    problems: list[str] = []
    assert read_toml(tmp_path / "a.toml", "config", problems) == {"x": 1}
    assert problems == []


def test_a_file_that_cannot_be_read_is_a_problem_and_not_an_error(tmp_path: Path) -> None:
    problems: list[str] = []
    assert read_text(tmp_path / "none", "config", problems) == ""
    assert problems == [f"config: {tmp_path}/none cannot be read: no such file or directory"]
