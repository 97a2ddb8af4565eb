"""Print a schema as it is in the folder schemas/, so that an installed gate has it too."""

from __future__ import annotations

import json

import click

from gate.schemas import documents


def schema(name: str) -> None:
    click.echo(json.dumps(documents()[f"{name}.json"], indent=2))
