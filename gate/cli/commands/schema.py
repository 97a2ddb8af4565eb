"""The command that prints the schemas of messages, topics and the service."""

from __future__ import annotations

import click

NAMES = {
    "check_in": "a document is checked in",
    "delete": "a document is deleted",
    "verdict": "the answer to a check-in",
    "dead_letter": "a message that cannot be judged",
    "asyncapi": "the topics, with their keys and headers (AsyncAPI 3)",
    "openapi": "the HTTP service (OpenAPI 3.1)",
}


@click.command()
@click.argument("name", required=False, type=click.Choice(list(NAMES)))
def schema(*, name: str | None) -> None:
    """Print the JSON Schema of a message, the AsyncAPI document of the topics, or the OpenAPI document of the service.
    Without a name, list them.

    \b
      gate schema
      gate schema check_in > check_in.json
      gate schema asyncapi
      gate schema openapi
    """
    if name is None:
        for each, meaning in NAMES.items():
            click.echo(f"{each:<13}{meaning}")
        return
    from gate.cli.schema import schema

    schema(name)
