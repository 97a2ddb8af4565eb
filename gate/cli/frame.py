"""What every command shares: the common options, settings, the gate, exit codes, and errors without a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from gate import wire
from gate.cli import show
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError, Unavailable
from gate.limits import Limits
from gate.model import Verdict
from gate.service import Gate

HELP_WIDTH = 110
SOME_FAILED = 1
SOME_SIMILAR = 1
WRONG = 2
AWAY = 3

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that all commands have."""

    profile: str | None
    config: Path | None
    index: Path | None
    json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings in force."""

    profile: Profile
    limits: Limits
    index: Path | None
    secret: bytes
    told: tuple[Told, ...]


class Told(NamedTuple):
    """A setting for people to see: its value, and where it came from."""

    name: str
    value: object
    source: str


def load(options: Options) -> Loaded:
    from gate.core.profiles import BUILT_IN

    return Loaded(
        profile=BUILT_IN[options.profile or "standard"], limits=Limits(), index=options.index, secret=b"", told=()
    )


class Commands(click.Group):
    """Commands in the order they were added, and expected errors as a sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as exc:
            for problem in exc.problems:
                complain(problem)
            ctx.exit(WRONG)
        except BadDocument as exc:
            complain(str(exc))
            ctx.exit(SOME_FAILED)
        except Unavailable as exc:
            complain(f"{exc}; nothing was decided, so try again")
            ctx.exit(AWAY)


def common(*, index: bool = True) -> Callable[[F], F]:
    """Add the common options to a command; it gets them as `options`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_options(*args: Any, profile: str | None, config: Path | None, as_json: bool, **kwargs: Any) -> Any:
            options = Options(profile=profile, config=config, index=kwargs.pop("index", None), json=as_json)
            return command(*args, options=options, **kwargs)

        decorated: Any = with_options
        for option in reversed(_options(index=index)):
            decorated = option(decorated)
        typed: F = decorated
        return typed

    return decorate


def _options(*, index: bool) -> list[Callable[[Any], Any]]:
    made = [
        click.option("--profile", metavar="NAME|FILE.toml", help="A built-in profile, or a file with one."),
        click.option(
            "--config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="A file of settings (gate.toml by default).",
        ),
    ]
    if index:
        made.append(
            click.option(
                "--index", metavar="PATH", type=click.Path(path_type=Path), help="The SQLite file that keeps the index."
            )
        )
    made.append(click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs."))
    return made


def emit(value: object) -> None:
    """One line of JSON. Bytes are a line already."""
    line = value if isinstance(value, bytes) else msgspec.json.encode(value)
    click.echo(line)


def verdict_line(verdict: Verdict) -> bytes:
    return wire.encode(wire.VerdictEvent.of(verdict))


def complain(message: str, *, kind: str = "error") -> None:
    """A line on stderr; red on a terminal."""
    click.secho(f"{kind}: ", err=True, nl=False, fg="red" if kind == "error" else "yellow")
    click.echo(show.printable(message, keep="\n"), err=True)


@contextmanager
def open_gate(loaded: Loaded, *, index: Path | None, must_exist: bool = False) -> Iterator[Gate]:
    """The gate under these settings, closed at the end whatever happens."""
    if must_exist and index is not None and not index.is_file():
        raise ConfigError(f"{show.printable(str(index))}: there is no such index; `gate check --index` makes one")
    with Gate(loaded.profile, index=index, secret=loaded.secret, limits=loaded.limits) as gate:
        yield gate


@contextmanager
def open_index(loaded: Loaded) -> Iterator[Gate]:
    """The gate on an index that is there already."""
    if loaded.index is None:
        raise ConfigError("this command needs an index; name its file with --index PATH")
    with open_gate(loaded, index=loaded.index, must_exist=True) as gate:
        yield gate
