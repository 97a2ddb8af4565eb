"""Documents of random words, without works."""

from __future__ import annotations

import random

from gate.lab.experiment import ExperimentReport, Table
from gate.lab.roth_2011 import Roth2011Options
from gate.lab.truth import Corpus

DRAW = random.Random(1)
VOCABULARY = ["".join(DRAW.choices("abcdefghijklmnoprstuvwy", k=DRAW.randint(2, 9))) for _ in range(500)]
SHORT = Roth2011Options(grams=(4,), windows=(5,))


def text(words: int) -> str:
    return " ".join(DRAW.choices(VOCABULARY, k=words))


PLAIN = Corpus("plain", [f"d{i}" for i in range(6)], [text(120) for _ in range(6)])


def table(report: ExperimentReport, name: str) -> Table:
    [found] = [one for one in report.tables if one.name == name]
    return found
