"""The frame of the command line: what is loaded when, help and completion, and what an interrupted command says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from gate.cli import main
from gate.cli.common import set_resume_hint
from gate.cli.groups import MainGroup
from gate.cli.profile_names import FOR_USE, FROM_PAPERS

HEAVY = {
    "aiokafka",
    "asyncio",
    "jellyfish",
    "mmh3",
    "msgspec",
    "numpy",
    "prometheus_client",
    "redis",
    "rich",
    "structlog",
}
# Runs the command and reports the modules that it imported, whatever its end.
REPORT = """
import atexit, sys
atexit.register(lambda: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr))
from gate.cli import main
main(prog_name="gate")
"""


def loaded(*arguments: str, **environ: str) -> tuple[str, set[str]]:
    """The output of a command, and the packages that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, set(done.stderr.split())


def completed(line: str) -> tuple[list[str], set[str]]:
    """What the shell offers for the last word of a line, and the packages that were imported for it."""
    words = line.split()
    number = len(words) if line.endswith(" ") else len(words) - 1
    output, packages = loaded(_GATE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(number))
    return [item.partition(",")[2] for item in output.splitlines()], packages


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("check", "--help"), ("index", "verify", "--help")])
def test_version_and_help_import_nothing_that_does_work(arguments: tuple[str, ...]) -> None:
    output, packages = loaded(*arguments)
    assert "gate" in output
    assert "gate" in packages
    assert not HEAVY & packages


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gate che", ["check"]),
        ("gate index ver", ["verify"]),
        ("gate check --only", ["--only-similar"]),
        ("gate check --profile rot", ["roth-2013", "roth-2011"]),
        ("gate plan --profile st", ["standard"]),
        ("gate run --set kafka_ver", ["kafka_verdict_topic="]),
        ("gate run --set redis_passw", ["redis_password_file="]),
        ("gate completion z", ["zsh"]),
        ("gate lab rot", ["roth-2011", "roth-2013"]),
    ],
)
def test_completion_offers_names_and_imports_nothing_that_does_work(line: str, offered: list[str]) -> None:
    items, packages = completed(line)
    assert items == offered
    assert not HEAVY & packages


def test_completion_of_commands_offers_all_of_them_in_order() -> None:
    assert completed("gate ")[0] == list(main.commands)


def test_a_profile_that_is_no_name_is_completed_as_a_file() -> None:
    assert (
        loaded(_GATE_COMPLETE="bash_complete", COMP_WORDS="gate check --profile my", COMP_CWORD="3")[0] == "file,my\n"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_gate_for_its_words(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert f"_GATE_COMPLETE={shell}_complete" in result.stdout


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield context.command_path, command, context
    if isinstance(command, click.Group) and context.info_name != "lab":  # experiments describe themselves
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, click.Context(below, info_name=name, parent=context))


COMMANDS = {path: (command, context) for path, command, context in walk(main, click.Context(main, info_name="gate"))}


@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_of_every_command_has_an_example(path: str) -> None:
    command, _ = COMMANDS[path]
    assert f"  {path} " in (command.help or "") or f"({path} " in (command.help or "")


@pytest.mark.parametrize("path", COMMANDS)
def test_no_help_page_names_a_profile_of_the_papers(path: str) -> None:
    command, context = COMMANDS[path]
    text = " ".join(command.get_help(context).split())
    assert not [name for name in FROM_PAPERS if f" {name}" in text and path != "gate lab"]
    if "--profile NAME|FILE.toml" in text:
        assert all(name in text for name in FOR_USE)


# What an interrupted command says


@click.group(cls=MainGroup, lazy={})
def tool() -> None:
    """A group with commands that are interrupted."""


@tool.command()
@click.option("--index")
@click.option("--resume", is_flag=True)
def work(index: str | None, resume: bool) -> None:
    set_resume_hint("half is done; continue with", option="--resume")
    raise KeyboardInterrupt


@tool.command()
def short() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["work", "--index", "a b"], "interrupted\nhalf is done; continue with:\n  gate work --index 'a b' --resume\n"),
        (["work", "--resume"], "interrupted\nhalf is done; continue with:\n  gate work --resume\n"),
        (["short"], "interrupted\n"),
    ],
)
def test_an_interrupted_command_prints_the_command_line_that_continues_it(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(tool, arguments)
    assert (result.exit_code, result.stderr) == (130, message)


def test_the_command_line_that_continues_hides_a_password() -> None:
    result = CliRunner().invoke(tool, ["work", "--index", "redis://me:sesame@host:6379/0"])
    assert "sesame" not in result.stderr
    assert "redis://***@host:6379/0" in result.stderr
