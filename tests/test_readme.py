"""What README.md shows is what happens. `make readme` writes the outputs of its commands anew.

In a `console` block, `$ ` begins a command, `> ` goes on with it, and the rest is its output. The commands of all
blocks that call `gate` are run by a shell, one after another, in one empty folder; `pycon` blocks are doctests.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec import structs

from gate import BUILT_IN, Limits, Relation
from gate.cli import main
from gate.config.settings import KEYS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"^```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (?P<command>.*(?:\n> .*)*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def with_outputs_anew(text: str) -> str:
    """The text, with the outputs that its commands have now."""
    with tempfile.TemporaryDirectory() as folder:
        return _BLOCK.sub(lambda block: _run_block(block, Path(folder)), text)


def _run_block(block: re.Match[str], folder: Path) -> str:
    if "$ gate" not in block["body"]:
        return block[0]
    shown = []
    for found in _COMMAND.finditer(block["body"]):
        lines = found["command"].replace("\n> ", "\n")
        done = subprocess.run(
            ["bash", "-c", lines],
            cwd=folder,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        shown.append(f"$ {found['command']}\n{done.stdout}")
    return "```console\n" + "".join(shown) + "```"


def test_every_command_of_the_readme_has_the_output_that_it_shows() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_outputs_anew(text) == text, "README.md shows other outputs than the commands have: run `make readme`"


def test_the_python_examples_of_the_readme_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 5
    assert failed == 0


def test_nothing_is_left_to_be_filled_in() -> None:
    assert "@@" not in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_stands_in_the_table_with_its_variable_and_its_default(key: str) -> None:
    [row] = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{key}` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == f"`GATE_{key.replace('.', '_').upper()}`"
    if key.startswith("limits."):
        assert cells[3] == str(structs.asdict(Limits())[key.removeprefix("limits.")])


@pytest.mark.parametrize("name", [*BUILT_IN, *(relation.value for relation in Relation)])
def test_every_profile_and_every_relation_is_told_of(name: str) -> None:
    assert f"| `{name}` |" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", main.commands)
def test_every_command_is_told_of(command: str) -> None:
    assert f"| `gate {command}" in README.read_text(encoding="utf-8")


if __name__ == "__main__":
    README.write_text(with_outputs_anew(README.read_text(encoding="utf-8")), encoding="utf-8")
