"""The pages of the reference are what the code says, and leave nothing out."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from docs.generate import messages, profiles
from docs.generate.pages import FOLDER, PAGES
from gate.cli import main
from gate.config.settings import KEYS, SECRETS
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import parameters_by_name
from gate.core.profile import Profile
from gate.errors import REASONS
from gate.limits import Limits
from gate.model import Degraded, Relation
from gate.schemas import schemas


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_as_generated(name: str) -> None:
    assert read(name) == PAGES[name](), "run: make reference"


def test_no_page_of_the_reference_is_left_of_a_subject_that_is_gone() -> None:
    assert {page.name for page in FOLDER.glob("*.md")} == set(PAGES)


def command_paths(command: click.Command, path: str) -> Iterator[str]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from command_paths(below, f"{path} {name}")


@pytest.mark.parametrize("path", [path for path in command_paths(main, "gate") if path != "gate"])
def test_every_command_has_a_heading(path: str) -> None:
    assert f"# {path}\n" in read("command-line.md")


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_has_a_row_with_its_variable_and_its_default(key: str) -> None:
    [row] = [line for line in read("settings.md").splitlines() if line.startswith(f"| `{key}`<br>")]
    assert f"`GATE_{key.replace('.', '_').upper()}`" in row
    if key.startswith("limits."):
        assert f"default: `{getattr(Limits(), key.removeprefix('limits.'))}` |" in row


@pytest.mark.parametrize("key", SECRETS)
def test_every_secret_has_a_row_with_its_variable_alone(key: str) -> None:
    assert f"| `GATE_{key.upper()}` |" in read("settings.md")


@pytest.mark.parametrize("name", [*BUILT_IN, *parameters_by_name()])
def test_every_profile_and_every_method_is_on_the_page(name: str) -> None:
    assert f"| `{name}` |" in read("profiles.md") or f"### {name}\n" in read("profiles.md")


def test_every_field_of_a_profile_and_every_parameter_of_a_method_is_described_and_no_other() -> None:
    parameters = {field for kind in parameters_by_name().values() for field in kind.__struct_fields__}
    assert set(profiles.FIELDS) == set(Profile.__struct_fields__)
    assert set(profiles.PARAMETERS) == parameters


def test_every_field_of_every_message_is_on_the_page() -> None:
    page = read("messages.md")
    for schema in schemas().values():
        for definition in schema["$defs"].values():
            for field in definition.get("properties", ()):
                assert f"| `{field}` |" in page


def test_every_relation_and_every_reason_of_a_degraded_verdict_is_described() -> None:
    assert set(messages.RELATIONS) == set(Relation)
    assert set(messages.DEGRADED) == set(Degraded)


def test_every_reason_of_a_dead_letter_is_described() -> None:
    assert set(messages.REASONS) == {*REASONS, "too_large_for_topic"}  # the latter is counted by `gate replay` alone
