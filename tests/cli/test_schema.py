"""`gate schema`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import main
from gate.cli.commands.schema import NAMES
from gate.schemas import documents


def test_every_schema_is_listed_with_what_it_describes() -> None:
    done = CliRunner().invoke(main, ["schema"])
    assert [line.split()[0] for line in done.output.splitlines()] == list(NAMES)
    assert {f"{name}.json" for name in NAMES} == set(documents())


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_printed_as_it_is_in_its_folder(name: str) -> None:
    done = CliRunner().invoke(main, ["schema", name])
    assert done.exit_code == 0
    assert json.loads(done.output) == documents()[f"{name}.json"]
    assert done.output == Path(f"schemas/{name}.json").read_text(encoding="utf-8")


def test_an_unknown_schema_is_refused_with_the_names_there_are() -> None:
    done = CliRunner().invoke(main, ["schema", "verdcit"])
    assert done.exit_code == 2
    assert "'verdict'" in done.output


@pytest.mark.slow
def test_a_schema_is_printed_away_from_the_checkout(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gate", "schema", "verdict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["$id"] == "urn:checkin-gate:schema:verdict:1"
