"""Options, escapes and JSON lines that all commands share."""

from __future__ import annotations

import json

import pytest

from gate.cli.common import emit, printable
from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_control_characters_become_escapes() -> None:
    assert printable("a\x1b[31m\u202eb\nc") == "a\\x1b[31m\\u202eb\\nc"
    assert printable("a\nb\tc", keep="\n") == "a\nb\\tc"
    assert printable("漢 é") == "漢 é"


def test_bytes_are_a_line_already_and_anything_else_is_encoded(capsys: pytest.CaptureFixture[str]) -> None:
    emit(b'{"a": 1}')
    emit({"b": 2}, err=True)
    output = capsys.readouterr()
    assert output.out == '{"a": 1}\n'
    assert json.loads(output.err) == {"b": 2}


def test_an_option_of_its_own_wins_over_set() -> None:
    result = gate("config", "--set", "profile=simhash", "--profile", "minhash", "--json")
    assert json.loads(result.stdout)["profile"]["value"] == "minhash@1"
