"""The table of experiments: what `gate lab` can run."""

from __future__ import annotations

from gate.lab import azgomi, bergillos, cherkasova, containment, quality, roth_2011, roth_2013
from gate.lab.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        quality.EXPERIMENT,
        roth_2011.EXPERIMENT,
        roth_2013.EXPERIMENT,
        bergillos.EXPERIMENT,
        azgomi.EXPERIMENT,
        cherkasova.EXPERIMENT,
        containment.EXPERIMENT,
    )
}
