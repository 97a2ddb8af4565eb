"""Bearer tokens: who may use the service, and for what. Kept as SHA-256 hashes in a TOML file of their own.

    [ingest]
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    scopes = ["read", "write"]

A token is 256 random bits (`gate token` makes one), so its plain hash says nothing about it. The file is looked at
again every RELOAD_SECONDS: a token is added or revoked without a restart, wherever the file is mounted from. A file
that cannot be read leaves the tokens as they were, and is reported.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from gate.errors import ConfigError

Scope = Literal["read", "write", "delete"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
RELOAD_SECONDS = 1.0
PREFIX = "gate_"  # so that scanners for leaked secrets, and people, recognise one
_BEARER = re.compile(r"[Bb]earer +(?P<token>[A-Za-z0-9._~+/-]+=*) *")


class Token(NamedTuple):
    """A token that is accepted. `name` is for logs and limits."""

    name: str
    digest: bytes
    scopes: frozenset[Scope]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$")]
    scopes: Annotated[list[Scope], Meta(min_length=1)]


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def token_table(name: str, token: str, scopes: tuple[Scope, ...]) -> str:
    """The lines that a tokens file needs for a token."""
    listed = ", ".join(f'"{scope}"' for scope in scopes)
    return f'[{name}]\nsha256 = "{digest_of(token).hex()}"\nscopes = [{listed}]\n'


def read_tokens(path: Path) -> tuple[Token, ...]:
    """ConfigError names every problem of the file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        reason = (exc.strerror or "no reason given").lower()
        raise ConfigError(f"api_tokens_file: {path} cannot be read: {reason}") from exc
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise ConfigError(
            f"api_tokens_file: {path} is not TOML: correct it, or make a table with `gate token`"
        ) from exc
    return _tokens(path, tables)


def _tokens(path: Path, tables: Mapping[str, object]) -> tuple[Token, ...]:
    tokens: list[Token] = []
    problems: list[str] = []
    for name, table in tables.items():
        try:
            row = msgspec.convert(table, _Row)
        except msgspec.ValidationError as exc:
            problems.append(f"api_tokens_file: {path}: [{name}]: {str(exc).replace('`', '')}")
        else:
            tokens.append(Token(name, bytes.fromhex(row.sha256), frozenset(row.scopes)))
    if not tables:
        problems.append(f"api_tokens_file: {path} names no token; make a table with `gate token NAME`")
    if len({token.digest for token in tokens}) < len(tokens):
        problems.append(f"api_tokens_file: {path} has one token under two names; give each its own")
    if problems:
        raise ConfigError(*problems)
    return tuple(tokens)


class TokenFile:
    """The tokens of a file, as it is now."""

    def __init__(
        self,
        path: Path,
        *,
        on_reload: Callable[[int], None] = lambda tokens: None,
        on_problem: Callable[[ConfigError], None] = lambda problem: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """ConfigError: the file holds no valid tokens. `on_reload` gets their number, `on_problem` what is wrong."""
        self._path = path
        self._on_reload = on_reload
        self._on_problem = on_problem
        self._clock = clock
        self._state = self._stat()
        self._tokens = read_tokens(path)
        self._look_at = clock() + RELOAD_SECONDS

    def find(self, authorization: str) -> Token | None:
        """The token that an Authorization header holds, if it is accepted.

        Every hash is compared, in constant time: how long it takes says nothing about any of them."""
        self._reload()
        match = _BEARER.fullmatch(authorization)
        if match is None:
            return None
        digest = digest_of(match["token"])
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def _reload(self) -> None:
        if (now := self._clock()) < self._look_at:
            return
        self._look_at = now + RELOAD_SECONDS
        if (state := self._stat()) == self._state:
            return
        self._state = state
        try:
            self._tokens = read_tokens(self._path)
        except ConfigError as exc:
            self._on_problem(exc)
        else:
            self._on_reload(len(self._tokens))

    def _stat(self) -> tuple[int, int, int] | None:
        """What changes with the file, also where a mount replaces it by another one."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ino, stat.st_size
