"""The table of experiments: what `gate lab` can run."""

from __future__ import annotations

from gate.lab import quality, roth_2013
from gate.lab.frame import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        quality.EXPERIMENT,
        roth_2013.EXPERIMENT,
    )
}
