"""The names of the experiments, as help and completion know them without the lab."""

from __future__ import annotations

from gate.cli.commands.lab import COMMANDS
from gate.lab.experiments import EXPERIMENTS
from tests.cli.command import gate


def test_every_experiment_has_a_command_and_no_other_has() -> None:
    assert sorted(COMMANDS) == sorted(EXPERIMENTS)


def test_without_a_command_the_help_lists_every_experiment() -> None:
    shown = gate("lab")
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in COMMANDS)


def test_an_unknown_experiment_is_a_wrong_use() -> None:
    result = gate("lab", "roth-2012")
    assert result.exit_code == 2
    assert "roth-2012" in result.stderr
