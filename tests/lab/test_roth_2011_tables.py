"""The tables of Roth 2011, on documents with the paper's names."""

from __future__ import annotations

from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import no_progress
from gate.lab.roth_2011 import run
from gate.lab.truth import Corpus
from tests.lab.roth_2011_samples import SHORT, table, text


def classics() -> Corpus:
    """Documents with the names of the paper's, of three works, and one that stands alone."""
    texts: dict[str, str] = {}
    for names in paper.ZONES.values():
        own = text(400).split()
        texts |= {name: " ".join(own[i:]) for i, name in enumerate(names)}
    texts["Gettysburg"] = text(100)
    clusters = {name: zone for zone, names in paper.ZONES.items() for name in names}
    return Corpus("classics", list(texts), list(texts.values()), clusters=clusters)


def test_the_report_repeats_the_papers_tables_on_its_own_documents() -> None:
    report = run(classics(), SHORT, no_progress)
    names = [one.name for one in report.tables]
    assert names[:5] == ["top", "expected_6", "expected_7", "expected_8", "paper_top"]
    assert sum(name.startswith("zone_") for name in names) == 3 * SHORT.top
    assert len(table(report, "scores").rows) == 14 * 12 - 4
    assert [row["method"] for row in table(report, "paper_top").rows] == ["43B"]  # of the paper's five, this run's
    values = [row["score"] for row in table(report, "top").rows]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert [plot.name for plot in report.plots] == ["frequencies", "scores"]
    assert any("other editions" in note for note in report.notes)
