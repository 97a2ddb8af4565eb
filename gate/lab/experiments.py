"""The table of experiments: what `gate lab` can run."""

from __future__ import annotations

from gate.lab import roth_2013
from gate.lab.frame import Experiment

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (roth_2013.EXPERIMENT,)}
