"""The table of experiments that `gate lab` runs."""

from __future__ import annotations

from pathlib import Path

from gate.lab.experiments import EXPERIMENTS


def test_every_experiment_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lab.md").read_text()
    assert all(f"| `{experiment.name}` |" in page for experiment in EXPERIMENTS.values())
