"""The tables of Roth 2011, on documents with the paper's names."""

from __future__ import annotations

from gate.core.profile import Profile
from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import no_progress
from gate.lab.roth_2011 import run
from gate.lab.truth import Corpus
from tests.core.reference import normalise
from tests.core.reference_similarity_index import grams, hash_code
from tests.lab.roth_2011_samples import SHORT, table, text

WORKS = {zone: text(400).split() for zone in paper.ZONES}
ALONE = text(100)


def classics() -> Corpus:
    """Documents with the names of the paper's, of three works, and one that stands alone."""
    texts = {name: " ".join(WORKS[zone][i:]) for zone, names in paper.ZONES.items() for i, name in enumerate(names)}
    texts["Gettysburg"] = ALONE
    clusters = {name: zone for zone, names in paper.ZONES.items() for name in names}
    return Corpus("classics", list(texts), list(texts.values()), clusters=clusters)


def grams_of(written: str, gram: int) -> list[str]:
    return grams(normalise(written), Profile(name="p", tokenizer="characters", gram=gram), gram)


def test_the_report_repeats_the_papers_tables_on_its_own_documents() -> None:
    report = run(classics(), SHORT, no_progress)
    names = [one.name for one in report.tables]
    assert names[:5] == ["top", "expected_6", "expected_7", "expected_8", "paper_top"]
    assert names[5:8] == ["paper_16", "paper_17", "paper_18"]  # of 43B with k = 4, the only one of this run
    assert sum(name.startswith("zone_") for name in names) == 3 * SHORT.top
    assert len(table(report, "scores").rows) == 14 * 12 - 4
    assert [row["method"] for row in table(report, "paper_top").rows] == ["43B"]  # of the paper's five, this run's
    values = [row["score"] for row in table(report, "top").rows]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert [plot.name for plot in report.plots] == ["scores", "frequencies"]
    assert any("AddToClipboardAction.java, DeleteDocument.class" in note for note in report.notes)


def test_a_cell_of_the_paper_has_ours_beside_it_where_they_differ() -> None:
    report = run(classics(), SHORT, no_progress)
    [proverbs] = [one for one in report.tables if one.name == "paper_16"]
    assert proverbs.title == "Table 16: the paper's 43B (k = 4, w = 5), Proverbs"
    cells = [value for row in proverbs.rows for name, value in row.items() if name != "document"]
    assert len(cells) == 16
    assert set(cells) <= {"0", "1", "0, here 1", "1, here 0"}
    assert {"1"} < set(cells)


def test_every_number_of_every_document_is_in_one_table_beside_the_sizes() -> None:
    report = run(classics(), SHORT, no_progress)
    numbers, documents = table(report, "numbers"), table(report, "documents")
    assert numbers.shown == 0
    assert len(numbers.rows) == 14 * 12 - 4
    assert set(numbers.columns) == {"method", "what", "k", "w", *classics().ids}
    first = numbers.rows[0]
    assert first["Proverbs"] == sum(map(hash_code, grams_of(classics().texts[0], 4)))
    size = next(row for row in documents.rows if row["document"] == "usDOI")
    assert (size["paper: characters"], size["paper: words"]) == (8_179, 1_341)
    assert size["words"] == len(classics().texts[classics().ids.index("usDOI")].split())
