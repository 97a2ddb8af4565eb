"""`gate demo`: a small corpus with planted copies, and what the gate finds in it."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from rich.text import Text

from gate import demo as planted
from gate.cli import show, tables
from gate.cli.common import Options, emit
from gate.cli.session import load, open_gate, verdict_line
from gate.config.index import MEMORY
from gate.errors import ConfigError
from gate.model import Relation
from gate.numbers import number

NEXT = """\
What to try next:
  gate demo --write demo/                                  the same documents as files
  gate check demo/ --index demo.sqlite                     judge them, and keep the index
  gate explain inbox/bread-part.txt --index demo.sqlite    why that verdict?
  gate compare demo/archive/lighthouse.txt demo/inbox/lighthouse-edited.txt
  gate plan --documents 10000000                           what a large index costs and finds
  gate serve --demo                                        look at them in a browser"""


def demo(*, seed: int, unrelated: int, folder: Path | None, options: Options) -> None:
    """Check the demonstration corpus in, and show what the gate found."""
    settings = load(options)
    documents = planted.corpus(seed, unrelated)
    if folder is not None:
        try:
            _write(folder, documents)
        except OSError as exc:
            raise ConfigError(f"{exc.filename or folder}: cannot be written: {exc.strerror}") from exc
    with open_gate(settings, index=MEMORY) as gate:
        verdicts = gate.check_in([plant.document for plant in documents])
    if options.json:
        for verdict in verdicts:
            emit(verdict_line(verdict))
        return
    out = tables.console()
    rows = tables.table(
        out, "checked in", "what it is", "verdict", "like", "resemblance", "bits", right=("resemblance", "bits")
    )
    omitted = 0
    for plant, verdict in zip(documents, verdicts):
        if plant.expected is Relation.NEW and plant.story == "unrelated" and verdict.relation is Relation.NEW:
            omitted += 1
            continue
        best = verdict.matches[0] if verdict.matches else None
        rows.add_row(
            tables.cell(show.versioned(verdict.document_id, verdict.version)),
            Text(plant.story, style="dim"),
            show.relation(verdict.relation),
            tables.cell(best.document_id if best else None),
            show.fraction(best.resemblance if best else None),
            show.bits(best.distance if best else None),
        )
    out.print(rows)
    out.print(Text(f"{show.tally(Counter(verdict.relation for verdict in verdicts))}."))
    out.print(Text(f"{number(omitted)} unrelated ones are not shown.", style="dim"))
    out.print()
    out.print(Text(NEXT))


def _write(folder: Path, documents: list[planted.Planted]) -> None:
    """The documents as files; of a document in two versions the last is kept. All have one date, so that
    `gate check` takes them in the order of their names, however long writing them takes."""
    now = time.time()
    for plant in documents:
        path = folder / plant.document.document_id
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plant.document.text, encoding="utf-8")
        os.utime(path, (now, now))
