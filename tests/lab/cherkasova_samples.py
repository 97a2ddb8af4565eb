"""A corpus of random words, with a copy of one document and a longer version of another."""

from __future__ import annotations

import random

from gate.lab.truth import Corpus

DRAW = random.Random(4)
VOCABULARY = ["".join(DRAW.choices("abcdefghijklmnoprstuvwy", k=DRAW.randint(2, 9))) for _ in range(3000)]
TEXTS = [" ".join(DRAW.choices(VOCABULARY, k=size)) for size in (300, 900, 400, 1200, 700, 500)]
COPIES = [TEXTS[1].replace(" ", " x ", 20), TEXTS[3] + " and more"]
CORPUS = Corpus("made", [f"d{i}" for i in range(8)], [*TEXTS, *COPIES], clusters={"d3": "w", "d7": "w"})
