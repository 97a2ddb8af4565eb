"""Groups of commands: each command loaded when it is needed, and expected errors as a sentence and an exit code."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from gate.cli.common import INTERRUPTED, PIPE_CLOSED, SOME_FAILED, UNAVAILABLE, WRONG_USE, complain, resume_hint
from gate.cli.termination import TERMINATED, Terminated
from gate.errors import BadDocument, ConfigError, Unavailable, UsageError

HELP_WIDTH = 110
_ARGUMENTS = "gate.arguments"  # the key of the command line in the context's meta
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")


class UnloadedCommand(click.Command):
    """The name and the short help of a command that has not been imported yet."""

    def __init__(self, name: str, home: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._name = name
        self._module, _, self._function = home.partition(":")

    def load(self) -> click.Command:
        module = import_module(self._module)
        loaded: click.Command = (
            getattr(module, self._function)(self._name) if self._function else getattr(module, self._name)
        )
        return loaded


class LazyGroup(click.Group):
    """Commands in the order of `lazy`, which maps a name to its home and its short help.

    The home is a module that has the command as an attribute of that name, or `module:function`, where the function
    makes the command of a name. Listing and completing names imports none of them.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands.update({name: UnloadedCommand(name, *where) for name, where in lazy.items()})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self.commands.get(cmd_name)
        if isinstance(command, UnloadedCommand):
            loaded = command.load()
            loaded.short_help = command.short_help
            self.commands[cmd_name] = loaded
            return loaded
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(width)) for name, one in self.commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(name, help=command.get_short_help_str())
            for name, command in self.commands.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


class MainGroup(LazyGroup):
    """The whole command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a letter that the terminal lacks becomes an escape
        try:
            return super().invoke(ctx)
        except ConfigError as exc:
            for problem in exc.problems:
                complain(problem)
            ctx.exit(WRONG_USE)
        except UsageError as exc:  # an option that the library refuses: a threshold, a fingerprint
            complain(str(exc))
            ctx.exit(WRONG_USE)
        except BadDocument as exc:
            complain(str(exc))
            ctx.exit(SOME_FAILED)
        except Unavailable as exc:
            complain(f"{exc}; try again: what was answered before is answered the same")
            ctx.exit(UNAVAILABLE)
        except Terminated:
            click.echo("terminated", err=True)
            _say_how_to_resume(ctx)
            ctx.exit(TERMINATED)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            _say_how_to_resume(ctx)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _leave_quietly(ctx)


def _say_how_to_resume(ctx: click.Context) -> None:
    hint = resume_hint(ctx)
    if hint is None:
        return
    arguments = [_CREDENTIALS.sub("***@", argument) for argument in ctx.meta[_ARGUMENTS]]
    if hint.option is not None and hint.option not in arguments:
        arguments.append(hint.option)
    click.echo(f"{hint.sentence}:\n  {shlex.join(['gate', *arguments])}", err=True)


def _leave_quietly(ctx: click.Context) -> NoReturn:
    """End as a command whose reader has closed its end, as `head` does. What is still buffered is written nowhere, or
    the exit would complain of it."""
    with suppress(OSError, ValueError):  # ValueError: a stream without a number, under test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    ctx.exit(PIPE_CLOSED)
