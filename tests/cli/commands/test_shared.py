"""The options that several commands share, on a command of the test's own."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from gate.archive.formats import NAMES
from gate.cli.commands.shared import FORMAT_NAMES, field_names, verbose


@click.command()
@field_names
@verbose
def command(**arguments: Any) -> None:
    click.echo(sorted(arguments.items()))


def shown(*arguments: str) -> str:
    return CliRunner().invoke(command, arguments).stdout


def test_without_the_options_nothing_is_mapped_or_verbose() -> None:
    assert shown() == "[('field_names', FieldNames(document_id=None, text=None, date=None)), ('verbose', False)]\n"


def test_the_names_of_fields_reach_the_command_under_their_own_names() -> None:
    assert shown("--id-field", "key", "--text-field", "body") == (
        "[('field_names', FieldNames(document_id='key', text='body', date=None)), ('verbose', False)]\n"
    )


@pytest.mark.parametrize("flag", ["-v", "--verbose"])
def test_every_problem_by_itself_has_a_short_and_a_long_flag(flag: str) -> None:
    assert "('verbose', True)" in shown(flag)


def test_help_names_the_id_before_the_text() -> None:
    page = shown("--help")
    assert page.index("--id-field") < page.index("--text-field")


def test_every_format_of_archives_can_be_named() -> None:
    assert FORMAT_NAMES == NAMES
