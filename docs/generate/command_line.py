"""The page of the command line: every command with its help, arguments and options, from the tree of click."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from docs.generate.markdown import GENERATED, code, table
from gate.cli import main

HEAD = f"""\
# Command line

{GENERATED}\
Every command prints this text with `--help`, and answers in JSON with `--json`. The options that most commands
share are listed once, under [common options](#common-options).

"""

COMMON = ("profile", "config", "settings", "index", "as_json")
_PREFORMATTED = "\b"


def page() -> str:
    commands = list(_walk(main, click.Context(main, info_name="gate")))
    overview = table(
        ["command", "what it does"],
        ((_link(context), command.get_short_help_str(limit=200)) for command, context in commands[1:]),
    )
    parts = [HEAD, overview, "\n", _help(main), _common_options(commands)]
    parts += (_section(command, context) for command, context in commands[1:])
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip("\n") + "\n"


def _walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """The command, then those below it, each with its context."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _walk(below, click.Context(below, info_name=name, parent=context))


def _link(context: click.Context) -> str:
    return f"[{code(context.command_path)}](#{context.command_path.replace(' ', '-')})"


def _section(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    level = "#" * (context.command_path.count(" ") + 1)
    parts = [f"\n{level} {context.command_path}\n\n```text\n{usage}\n```\n\n", _help(command)]
    own = [
        option
        for option in command.get_params(context)
        if isinstance(option, click.Option)
        and not option.hidden
        and option.name not in COMMON
        and "--help" not in option.opts
    ]
    if own:
        parts.append("\n" + _options(own, context))
    shared = [one for one in command.get_params(context) if isinstance(one, click.Option) and one.name in COMMON]
    if shared:
        listed = ", ".join(code(max(option.opts, key=len)) for option in shared)
        parts.append(f"\nAnd the [common options](#common-options) {listed}.\n")
    return "".join(parts)


def _common_options(commands: list[tuple[click.Command, click.Context]]) -> str:
    found: dict[str, str] = {}
    for command, context in commands:
        for option in command.get_params(context):
            if isinstance(option, click.Option) and option.name in COMMON and option.name not in found:
                found[option.name] = _options([option], context)
    rows = "".join(found[name].split("\n", 2)[2] for name in COMMON if name in found)
    return "\n## Common options\n\n" + table(["option", "meaning"], []) + rows


def _options(options: list[click.Option], context: click.Context) -> str:
    records = (option.get_help_record(context) for option in options)
    return table(["option", "meaning"], ((code(record[0]), record[1]) for record in records if record))


def _help(command: click.Command) -> str:
    """The help as Markdown. A preformatted paragraph becomes a block; its first line, if not indented, a sentence."""
    parts = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if not paragraph.startswith(_PREFORMATTED):
            parts.append(" ".join(paragraph.split()) + "\n\n")
            continue
        lines = paragraph.split("\n")[1:]
        if not lines[0].startswith(" "):
            parts.append(lines.pop(0) + "\n\n")
        parts.append("```text\n" + inspect.cleandoc("\n".join(["", *lines])) + "\n```\n\n")
    return "".join(parts)
