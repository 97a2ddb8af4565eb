"""Options that several commands have, but not all."""

from __future__ import annotations

from typing import Any

import click

from gate.cli.common import F


def verbose(command: F) -> F:
    """Add the option that reports every problem by itself."""
    option = click.option(
        "-v", "--verbose", is_flag=True, help="Report every problem as it occurs, not a summary by reason at the end."
    )
    return option(command)


def field_names(command: F) -> F:
    """Add the options that map the fields of JSON Lines."""
    decorated: Any = command
    for option in (
        click.option("--text-field", metavar="NAME", help="JSON Lines: the field that holds the text. Default: text."),
        click.option(
            "--id-field", metavar="NAME", help="JSON Lines: the field that holds the id. Default: document_id."
        ),
    ):
        decorated = option(decorated)
    typed: F = decorated
    return typed
