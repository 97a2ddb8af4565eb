"""A report is written whole: tables for programs and for people, pictures, and a page that needs nothing else."""

from __future__ import annotations

import csv
import io
import re
import stat
from pathlib import Path

import pytest

from gate.errors import ConfigError, Unavailable
from gate.lab import report
from gate.lab.experiment import Experiment, ExperimentReport, Plot, Proportion, Section, Series, Table, per_cent
from tests.lab.report_samples import NASTY, PLOT, PNG

TABLE = Table(
    name="things",
    title="Things",
    rows=[
        {"name": NASTY, "count": 1234567, "share": Proportion(2, 3), "big": 12345.678, "small": 0.12345, "ok": True},
        {"name": "b", "count": None, "share": Proportion(0, 0), "more": "yes"},
    ],
)
EMPTY = Plot(name="void", title="Nothing", x_label="x", y_label="y", series=[Series(label="none", x=[], y=[])])
LONG = Table(name="long", title="Many", rows=[{"row": number} for number in range(30)], shown=3)
OUTCOME = ExperimentReport(
    conclusion="It works.",
    sections=[Section("Things and lines", [PLOT, TABLE]), Section("Much and nothing", [EMPTY, LONG])],
    notes=["A note."],
)


def about() -> report.ReportHeader:
    spec = Experiment(name="try", title="A try", paper="Author 1999", repeats="Table 3", run=lambda c, o, p: OUTCOME)
    return report.ReportHeader(
        experiment=spec, corpus=NASTY, documents=12, options={"seed": 1, "grams": (1, 2), "fast": True}
    )


def test_everything_is_written_under_the_names_of_the_tables_and_plots(tmp_path: Path) -> None:
    written = report.write_report(OUTCOME, about(), tmp_path)
    assert written[0].name == "report.html"
    assert {path.name for path in written} == {
        "report.html",
        "report.md",
        "things.csv",
        "long.csv",
        "line.png",
    }
    assert (tmp_path / "line.png").read_bytes().startswith(PNG)
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}


def test_a_program_reads_numbers_as_they_are_and_a_share_with_its_number_of_cases() -> None:
    header, first, second = csv.reader(io.StringIO(report.render_csv(TABLE)))
    assert header == ["name", "count", "share share", "share of", "big", "small", "ok", "more"]
    assert first == [NASTY, "1234567", "0.666667", "3", "12345.678", "0.12345", "True", ""]
    assert second == ["b", "", "", "0", "", "", "", "yes"]


def test_people_read_rounded_numbers_and_a_dash_for_none() -> None:
    values = [1234567, 12345.678, 123.4, 0.12345, Proportion(2, 3), Proportion(0, 0), None, True, "word"]
    assert list(map(report.format_value, values)) == [
        "1,234,567", "12,345.678", "123.400", "0.123", "66.67 % (3)", "-", "-", "yes", "word",
    ]  # fmt: skip


def test_the_numbers_of_a_column_have_as_many_places_each() -> None:
    columns = {"big": [12345.678, 0.5], "middle": [123.456, 0.05], "small": [0.12345, 0.5], "tens": [15.0, 1.2345]}
    rows = [{name: values[row] for name, values in columns.items()} for row in (0, 1)]
    assert report.cells(Table(name="n", title="n", rows=rows)) == [
        ["big", "middle", "small", "tens"],
        ["12,346", "123.5", "0.123", "15.00"],
        ["0", "0.1", "0.500", "1.23"],
    ]


def test_people_see_the_first_rows_of_a_long_table_and_where_the_others_are() -> None:
    assert len(report.cells(LONG)) == 1 + 3
    assert report.remarks(LONG) == ["The first 3 of 30 rows; all of them are in long.csv."]
    assert report.render_csv(LONG).count("\n") == 31


def test_a_page_begins_with_the_conclusion_and_the_contents_and_ends_with_the_notes() -> None:
    page = report.render_page(OUTCOME, about(), {"line": (PNG, PNG)})
    places = [page.index(text) for text in ("It works.", "<nav", "Things and lines</h2>", "Much and nothing</h2>")]
    assert [*places, page.index("A note.")] == sorted([*places, page.index("A note.")])
    assert re.findall(r'href="#(\w+)"', page) == re.findall(r'<h2 id="(\w+)"', page) == ["s1", "s2", "s3"]


def test_a_plot_stands_before_its_table_under_one_title() -> None:
    page = report.render_page(OUTCOME, about(), {"line": (PNG, PNG)})
    section = page[page.index('<h2 id="s1"') : page.index('<h2 id="s2"')]
    assert section.index("<img") < section.index("<table")
    assert "<h3>" not in section
    assert "<figcaption>" not in section


def test_a_plot_without_a_point_is_not_drawn(tmp_path: Path) -> None:
    page = report.write_report(OUTCOME, about(), tmp_path)[0].read_text()
    assert page.count("<img") == 1
    assert "There is nothing to draw" in page
    assert not (tmp_path / "void.png").exists()


def test_a_dark_screen_gets_a_dark_picture(tmp_path: Path) -> None:
    page = report.write_report(OUTCOME, about(), tmp_path)[0].read_text()
    [dark] = re.findall(r'media="\(prefers-color-scheme: dark\)" srcset="([^"]*)"', page)
    [light] = re.findall(r'<img alt="[^"]*" src="([^"]*)"', page)
    assert dark.startswith("data:image/png;base64,")
    assert dark != light


def test_a_share_is_rounded_to_the_nearest_but_only_all_is_100_and_only_nothing_is_0() -> None:
    assert [per_cent(share, 2) for share in (0.99996, 0.99999, 1.0)] == ["99.99 %", "99.99 %", "100.00 %"]
    assert [per_cent(share, 2) for share in (0.0, 0.00001, 0.0133761)] == ["0.00 %", "0.01 %", "1.34 %"]
    assert [per_cent(share, 0) for share in (0.5, 0.996, 0.001)] == ["50 %", "99 %", "1 %"]
    assert per_cent(0.9484) == "94.8 %"


def test_a_bar_in_a_name_breaks_no_table_of_markdown() -> None:
    lines = report.render_markdown(OUTCOME, about()).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4 + 5
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows[:4]} == {8}


def test_what_comes_from_a_corpus_is_escaped_in_the_page() -> None:
    page = report.render_page(OUTCOME, about(), {"line": (PNG, PNG)})
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = report.write_report(OUTCOME, about(), tmp_path)[0].read_text()
    sources = re.findall(r'(?:src|srcset|href)="([^#"][^"]*)"', page)
    assert len(sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "url(" not in page


def test_the_head_names_the_paper_the_corpus_and_every_option() -> None:
    text = report.render_markdown(OUTCOME, about())
    for said in ("# A try", "Author 1999: Table 3", "12 documents", "seed 1, grams 1,2, fast true", "- A note."):
        assert said in text


def test_a_folder_that_cannot_be_made_is_reported_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"out: .*file/out cannot be written"):
        report.create_folder(tmp_path / "file" / "out")


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "things.csv").mkdir()
    with pytest.raises(Unavailable, match=r"things\.csv: cannot be written"):
        report.write_report(OUTCOME, about(), tmp_path)
