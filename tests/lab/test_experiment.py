"""What an experiment checks of a corpus before it runs."""

from __future__ import annotations

import pytest

from gate.errors import ConfigError
from gate.lab.experiment import Experiment, ExperimentReport
from gate.lab.truth import Corpus


def test_an_experiment_that_needs_labels_says_how_to_give_them() -> None:
    spec = Experiment(
        name="known",
        title="t",
        paper="-",
        repeats="r",
        run=lambda c, o, p: ExperimentReport(conclusion="", sections=[]),
        needs_labels=True,
    )
    with pytest.raises(ConfigError, match="labels: known compares with known truth, and two has none"):
        spec.check_corpus(Corpus("two", ["a", "b"], ["x", "y"]))
