"""What every command shares: the common options, settings, the gate, exit codes, and errors without a traceback."""

from __future__ import annotations

import asyncio
import functools
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import msgspec

from gate import wire
from gate.api import Gate
from gate.cli import show
from gate.config.index import MEMORY
from gate.config.settings import EffectiveSetting, Settings, load_settings
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import BadDocument, ConfigError, Unavailable
from gate.index.redis.url import hide_credentials, is_redis_url
from gate.index.tools.transfer import is_empty
from gate.model import Verdict

HELP_WIDTH = 110
SOME_FAILED = 1
SOME_SIMILAR = 1
WRONG = 2
AWAY = 3
# As a shell reports a command that the signal itself has ended.
INTERRUPTED = 128 + 2
PIPE_CLOSED = 128 + 13

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that all commands have; `flags` are settings."""

    flags: Mapping[str, object]
    config: Path | None
    json: bool


def load(options: Options, **flags: object) -> Settings:
    """The settings in force; a command adds the flags that it alone has."""
    return load_with_origins(options, **flags)[0]


def load_with_origins(options: Options, **flags: object) -> tuple[Settings, dict[str, EffectiveSetting]]:
    given = {key: value for key, value in flags.items() if value is not None}
    return load_settings({**options.flags, **given}, os.environ, options.config)


class Later(click.Command):
    """The place of a command whose module, named like it, is loaded when it is asked for: no other waits for that."""


class Commands(click.Group):
    """Commands in the order they were added, and expected errors as a sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if isinstance(self.commands.get(cmd_name), Later):
            self.commands[cmd_name] = getattr(import_module(f"gate.cli.{cmd_name}"), cmd_name)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter gets it spelled out
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
            complain(f"{exc}; try again: what was answered before is answered the same")
            ctx.exit(AWAY)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _leave_quietly(ctx)


def _leave_quietly(ctx: click.Context) -> NoReturn:
    """The reader has had enough, as `head` does. What is still buffered goes nowhere, lest the exit complain of it."""
    with suppress(OSError, ValueError):  # ValueError: a stream without a number, under test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    ctx.exit(PIPE_CLOSED)


def common(*, index: bool = True) -> Callable[[F], F]:
    """Add the common options to a command; it gets them as `options`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_options(
            *args: Any, profile: str | None, config: Path | None, given: dict[str, str], as_json: bool, **kwargs: Any
        ) -> Any:
            own = {"profile": profile, "index": kwargs.pop("index", None)}
            flags = {**given, **{key: value for key, value in own.items() if value is not None}}
            return command(*args, options=Options(flags=flags, config=config, json=as_json), **kwargs)

        decorated: Any = with_options
        for option in reversed(_options(index=index)):
            decorated = option(decorated)
        typed: F = decorated
        return typed

    return decorate


def _options(*, index: bool) -> list[Callable[[Any], Any]]:
    made = [
        click.option(
            "--profile", metavar="NAME|FILE.toml", help=f"{', '.join(BUILT_IN)}, or a file with one. Default: standard."
        ),
        click.option(
            "--config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Settings. Default: gate.toml, if it is there.",
        ),
        click.option(
            "--set",
            "given",
            metavar="KEY=VALUE",
            multiple=True,
            callback=_assignments,
            help="Any setting by its name, as `gate config` shows it. May be repeated.",
        ),
    ]
    if index:
        made.append(
            click.option(
                "--index",
                metavar="PATH|URL",
                help="Where the index is kept: a SQLite file, or a Redis, as in redis://host:6379/0.",
            )
        )
    made.append(click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs."))
    return made


def _assignments(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    given = {}
    for value in values:
        key, separator, right = value.partition("=")
        if not separator:
            raise click.BadParameter(f"write KEY=VALUE, as in limits.max_matches=3; not {value!r}")
        given[key.strip()] = right.strip()
    return given


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
def open_gate(settings: Settings, *, index: str) -> Iterator[Gate]:
    """The gate under these settings, closed at the end whatever happens."""
    with Gate(
        settings.profile,
        index=None if index == MEMORY else index,
        secret=settings.secret.value,
        limits=settings.limits,
        redis=settings.redis,
    ) as gate:
        yield gate


@contextmanager
def open_index(settings: Settings) -> Iterator[Gate]:
    """The gate on an index that is there already."""
    need_index(settings)
    if is_redis_url(settings.index):
        from gate.index.redis.connect import index_exists  # most commands start without

        found = asyncio.run(index_exists(settings.index, profile_ref=settings.profile.ref, settings=settings.redis))
        missing = f"index of profile {settings.profile.ref} at {hide_credentials(settings.index)}"
    else:
        found, missing = Path(settings.index).is_file(), settings.index
    if not found:
        raise ConfigError(f"index: there is no {missing}; `gate check` and `gate run` make one")
    with open_gate(settings, index=settings.index) as gate:
        yield gate


def need_index(settings: Settings) -> None:
    if settings.index == MEMORY:
        raise ConfigError("index: this command needs one; name it with --index PATH|URL, or in gate.toml")


@contextmanager
def open_empty(settings: Settings, *, resume: bool) -> Iterator[Gate]:
    """The gate on an index that is new, or, to go on with what was cut off, on one that holds something already."""
    need_index(settings)
    with open_gate(settings, index=settings.index) as gate:
        if not resume and not gate.with_store(is_empty):
            raise ConfigError(
                f"index: {shown_index(settings)} holds documents already: name a new one, or go on with what was cut "
                "off by --resume"
            )
        yield gate


def shown_index(settings: Settings) -> str:
    """The name of the index, for people."""
    return hide_credentials(settings.index) if is_redis_url(settings.index) else settings.index
