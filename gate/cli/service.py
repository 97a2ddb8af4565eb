"""`gate serve` and `gate token`: the HTTP service, and tokens for it."""

from __future__ import annotations

import re
import sys

import click

from gate.cli.common import Options
from gate.cli.session import load
from gate.config.index import MEMORY
from gate.errors import ConfigError
from gate.http.settings import DEFAULT_PORT
from gate.http.tokens import Scope, new_token, token_table

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a bare key of TOML


def serve(
    *,
    host: str | None,
    port: int | None,
    tokens: str | None,
    workers: int | None,
    demo: bool,
    options: Options,
) -> None:
    """Serve until stopped."""
    from gate.serve_main import serve  # it imports all that a service needs, and few commands do

    own: dict[str, object] = {"api_host": host, "api_port": port, "api_tokens_file": tokens, "workers": workers}
    settings = load(options, **own)
    if settings.service.port is None:
        settings = load(options, **own | {"api_port": DEFAULT_PORT})
    if demo and settings.index != MEMORY:
        raise ConfigError("--demo: its documents are kept in memory; leave out --index")
    sys.exit(serve(settings, demo=demo))


def token(*, name: str, scopes: tuple[Scope, ...]) -> None:
    """Make a token: the table for the file on stdout, the token itself on stderr."""
    if not _NAME.fullmatch(name):
        raise ConfigError("NAME: use letters, digits, dashes and underscores")
    made = new_token()
    click.echo(f"the token of {name}, shown this once: {made}", err=True)
    click.echo(token_table(name, made, tuple(dict.fromkeys(scopes)) or ("read", "write")), nl=False)
