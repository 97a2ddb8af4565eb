"""Commands about the HTTP service: run it, and make tokens for it."""

from __future__ import annotations

from typing import Any

import click

from gate.cli.common import common


@click.command()
@click.option("--host", metavar="ADDRESS", help="The address to listen on. Default: 127.0.0.1, this machine only.")
@click.option("--port", metavar="PORT", type=int, help="The port to listen on. Default: 8400.")
@click.option(
    "--tokens", metavar="FILE", type=click.Path(), help="The tokens that are accepted; needed beyond this machine."
)
@click.option("--workers", metavar="N", type=int, help="Number of processes, on an index in Redis. Default: 1.")
@click.option("--demo", is_flag=True, help="Begin with the documents of `gate demo`, in memory.")
@common()
def serve(**arguments: Any) -> None:
    """Serve the gate over HTTP: check-ins and previews as JSON, and what is known of documents.

    \b
      gate serve --demo
      gate serve --index gate.sqlite
      gate serve --index redis://localhost:6379/0 --workers 2 --host 0.0.0.0 --tokens tokens.toml

    \b
    Then, for example:
      curl -s localhost:8400/v1/check-ins -H 'Content-Type: application/json' \\
           -d '{"document_id": "a", "text": "The ferry leaves at nine and returns before dark."}'

    Concurrent requests are judged together, in batches. /openapi.json describes every operation, /readyz says whether
    the index answers. Without an index the documents are kept in memory, until the service ends.

    On an address that other machines can reach, requests need a token (`gate token`). SIGTERM lets the requests in
    progress end.
    """
    from gate.cli.service import serve

    serve(**arguments)


@click.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["read", "write", "delete"]),
    multiple=True,
    help="What the token allows; may be repeated. Default: read and write.",
)
def token(**arguments: Any) -> None:
    """Make a token for the HTTP service.

    \b
      gate token ingest >> tokens.toml
      gate token dashboard --scope read >> tokens.toml

    The token is shown once, on stderr; what is appended to the file is its hash. A service that runs takes the changed
    file within a second.
    """
    from gate.cli.service import token

    token(**arguments)
