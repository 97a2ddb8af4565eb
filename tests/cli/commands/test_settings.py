"""What the commands about settings take, and the scripts of completion."""

from __future__ import annotations

import pytest

from gate.cli.commands.settings import SHELLS
from tests.cli.command import done, gate

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_completes_the_command_gate(shell: str) -> None:
    script = done("completion", shell).stdout
    assert f"_GATE_COMPLETE={shell}_complete" in script
    assert "gate" in script.replace("_GATE_COMPLETE", "")


def test_a_shell_that_is_not_supported_is_refused_with_those_that_are() -> None:
    result = gate("completion", "tcsh")
    assert result.exit_code == 2
    assert all(shell in result.stderr for shell in SHELLS)


@pytest.mark.parametrize("number", ["-1", str(10**12 + 1), "many"])
def test_a_plan_is_for_a_number_of_documents_within_bounds(number: str) -> None:
    result = gate("plan", "--documents", number)
    assert result.exit_code == 2
    assert "'--documents'" in result.stderr


@pytest.mark.parametrize("command", ["plan", "profiles"])
def test_a_command_that_reads_no_index_takes_none(command: str) -> None:
    result = gate(command, "--index", "kept.sqlite")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
