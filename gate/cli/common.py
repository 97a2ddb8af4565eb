"""What the declarations of all commands share: options, exit codes, messages on stderr. Light to import.

A command is declared in `gate.cli.commands`: its options and its help, which completion and `--help` need. Its work is
in a module of `gate.cli`, which is imported when the command is invoked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

SOME_FAILED = 1
SOME_SIMILAR = 1
WRONG_USE = 2
UNAVAILABLE = 3
# As a shell reports a command that the signal itself has ended.
INTERRUPTED = 128 + 2
PIPE_CLOSED = 128 + 13

_RESUME = "gate.resume"  # the key of `ResumeHint` in the context's meta

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that all commands have; `flags` are settings."""

    flags: Mapping[str, object]
    config: Path | None
    json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """The files that a command writes its results to, beside what it shows."""

    html: Path | None = None
    csv: Path | None = None

    def __bool__(self) -> bool:
        return self.html is not None or self.csv is not None


@dataclass(frozen=True, slots=True)
class ResumeHint:
    """What to say of a command that was interrupted: what became of its work, and the option that continues it."""

    sentence: str
    option: str | None = None


def set_resume_hint(sentence: str, *, option: str | None = None) -> None:
    """From now on, say this after Ctrl-C, followed by the command line with the option."""
    if (context := click.get_current_context(silent=True)) is not None:
        context.meta[_RESUME] = ResumeHint(sentence, option)


def resume_hint(context: click.Context) -> ResumeHint | None:
    hint = context.meta.get(_RESUME)
    return hint if isinstance(hint, ResumeHint) else None


def common(*, index: bool = True) -> Callable[[F], F]:
    """Add the common options to a command, which gets them as `options`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_options(
            *args: Any, profile: str | None, config: Path | None, settings: dict[str, str], as_json: bool, **kwargs: Any
        ) -> Any:
            own = {"profile": profile, "index": kwargs.pop("index", None)}
            flags = {**settings, **{key: value for key, value in own.items() if value is not None}}
            return command(*args, options=Options(flags=flags, config=config, json=as_json), **kwargs)

        decorated: Any = with_options
        for option in reversed(_options(index=index)):
            decorated = option(decorated)
        typed: F = decorated
        return typed

    return decorate


def _options(*, index: bool) -> list[Callable[[Any], Any]]:
    from gate.cli.profile_names import FOR_USE

    options = [
        click.option(
            "--profile",
            metavar="NAME|FILE.toml",
            shell_complete=complete_profile,
            help=f"{', '.join(FOR_USE)}, another one that `gate profiles` lists, or a file. Default: standard.",
        ),
        click.option(
            "--config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The settings file. Default: gate.toml, if it exists.",
        ),
        click.option(
            "--set",
            "settings",
            metavar="KEY=VALUE",
            multiple=True,
            callback=_assignments,
            shell_complete=_complete_setting,
            help="Any setting by its key, as `gate config` lists them. May be repeated.",
        ),
    ]
    if index:
        options.append(
            click.option(
                "--index",
                metavar="PATH|URL",
                type=click.Path(),
                help="The index: a SQLite file, or a Redis server such as redis://host:6379/0.",
            )
        )
    options.append(click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs."))
    return options


def complete_profile(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of profiles; files where no name fits."""
    from gate.cli.profile_names import FOR_USE, FROM_PAPERS

    known = {**FOR_USE, **FROM_PAPERS}
    names = [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def _complete_setting(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from gate.config.reference import DESCRIPTIONS

    return [
        CompletionItem(f"{key}=", help=text)
        for key, text in DESCRIPTIONS.items()
        if key.startswith(incomplete) and f"{key}_file" not in DESCRIPTIONS  # a secret is no flag
    ]


def _assignments(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for value in values:
        key, separator, right = value.partition("=")
        if not separator:
            raise click.BadParameter(f"write KEY=VALUE, as in limits.max_matches=3; not {value!r}")
        settings[key.strip()] = right.strip()
    return settings


def brokers(command: F) -> F:
    """Add the option that names the brokers."""
    option = click.option(
        "--kafka", metavar="HOST:PORT,...", help="The brokers. Default: kafka_brokers of the settings."
    )
    return option(command)


def emit(value: object, *, err: bool = False) -> None:
    """One line of JSON. Bytes are a line already."""
    import msgspec  # here, as whatever completion does without

    click.echo(value if isinstance(value, bytes) else msgspec.json.encode(value), err=err)


def complain(message: str, *, kind: str = "error") -> None:
    """A line on stderr; its kind is coloured on a terminal."""
    click.secho(f"{kind}: ", err=True, nl=False, fg="red" if kind == "error" else "yellow")
    click.echo(printable(message, keep="\n"), err=True)


def printable(text: str, *, keep: str = "") -> str:
    """The text with escapes for every character that could move a cursor or hide a letter."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)
