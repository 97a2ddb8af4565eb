"""A report as files: each table as CSV, each plot as PNG, everything as one Markdown file and one HTML page.

The page holds its pictures, each once for a light and once for a dark screen, so that it can be sent around by itself.
Whatever comes from a corpus (ids, names) is escaped.
"""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile

from gate.core.profile import Profile
from gate.errors import ConfigError, Unavailable
from gate.lab.experiment import Experiment, ExperimentReport, Heatmap, Plot, Proportion, Section, Table, per_cent
from gate.private_files import create_private

PAGE = "report.html"
TEXT = "report.md"
NOTES = "How it was measured"

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5a6478; --line: #e3e6ec; --page: #fff; --hover: #f4f6fa;
  --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ee; --soft: #a3acbf; --line: #353c4b; --page: #14171f;
  --hover: #1e232e; --link: #7db8f5; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 72rem;
  margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.6rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; } p, nav { max-width: 52rem; } li { max-width: 50rem; }
a { color: var(--link); } .about, .note { color: var(--soft); } .about { margin: .3rem 0; }
.note { font-size: .9rem; margin: .4rem 0; } .conclusion { font-size: 1.08rem; }
nav ol { columns: 2; column-gap: 2rem; padding-left: 1.4rem; } nav li { break-inside: avoid; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
th { text-align: left; vertical-align: bottom; border-bottom: 2px solid var(--ink); }
tbody th { border-bottom: 1px solid var(--line); font-weight: normal; color: var(--soft); }
td { vertical-align: top; border-bottom: 1px solid var(--line); } th, td { padding: .25rem .8rem .25rem 0; }
th.n, td.n { text-align: right; } td.n { white-space: nowrap; } tbody tr:hover { background: var(--hover); }
.many { font-size: .78rem; } .many th, .many td { padding-right: .5rem; } .many td { overflow-wrap: anywhere; }
.many th { min-width: 3.2rem; } .many td.n, .many td.s { overflow-wrap: normal; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .9rem; margin-bottom: .3rem; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 4px; }
"""
_MANY_COLUMNS = 9  # from so many on a table is set smaller, and long words in it are broken
_SHORT = ' class="s"'
_SHORT_WORD = 14  # letters of a word that is not

Picture = tuple[bytes, bytes]  # of a plot, on a light and on a dark page


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportHeader:
    """The head of a report: the experiment, the corpus, and by which options it was made."""

    experiment: Experiment
    corpus: str
    documents: int
    options: Mapping[str, object]

    @property
    def lines(self) -> list[str]:
        ours = self.experiment.paper == "-"
        repeats = self.experiment.repeats if ours else f"{self.experiment.paper}: {self.experiment.repeats}"
        options = ", ".join(f"{name} {format_option(value)}" for name, value in self.options.items())
        return [repeats, f"Corpus: {self.corpus}, {self.documents:,} documents.", f"Options: {options}."]


def write_report(report: ExperimentReport, about: ReportHeader, folder: Path) -> list[Path]:
    """Write everything; the paths that were written, the page first."""
    from gate.lab import draw  # drawing takes a second to load, for which only a report with plots should wait

    pictures = {
        plot.name: (draw.draw_png(plot), draw.draw_png(plot, dark=True)) for plot in report.plots if not plot.is_empty
    }
    files = {PAGE: render_page(report, about, pictures).encode(), TEXT: render_markdown(report, about).encode()}
    files |= {f"{table.name}.csv": render_csv(table).encode() for table in report.tables}
    files |= {f"{name}.png": light for name, (light, _) in pictures.items()}
    written = []
    for name, content in files.items():
        path = folder / name
        try:
            create_private(path)  # its tables name documents
            path.write_bytes(content)
        except OSError as exc:
            raise Unavailable(f"{path}: cannot be written: {exc.strerror}") from exc
        written.append(path)
    return written


def create_folder(folder: Path) -> None:
    """Before any work: a run of minutes should not fail at the end for want of a place to write to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as exc:
        raise ConfigError(f"out: {folder} cannot be written: {exc.strerror}") from exc


def decimals(values: Sequence[object]) -> int:
    """The places behind the point of the numbers of a column: as many for all of them, by the largest."""
    largest = max((abs(one) for one in values if isinstance(one, float) and isfinite(one)), default=0.0)
    return 0 if largest >= 1000 else 1 if largest >= 100 else 2 if largest >= 10 else 3


def format_value(value: object, places: int = 3) -> str:
    """A value for people."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case Proportion():
            return "-" if value.share is None else f"{per_cent(value.share, 2)} ({value.total:,})"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.{places}f}" if isfinite(value) else "-"
        case _:
            return str(value)


def format_option(value: object) -> str:
    """An option as it would be given."""
    if isinstance(value, tuple):
        return ",".join(map(format_option, value))
    if isinstance(value, bool):
        return str(value).lower()
    return value.name if isinstance(value, Profile) else str(value)


def render_csv(table: Table) -> str:
    """The table for programs: a `Proportion` is two columns, its share and the number of cases."""
    columns: list[tuple[str, str]] = []
    for column in table.columns:
        counted = any(isinstance(row.get(column), Proportion) for row in table.rows)
        columns += [(column, "share"), (column, "of")] if counted else [(column, "")]
    out = io.StringIO()
    written = csv.writer(out, lineterminator="\n")
    written.writerow([f"{column} {part}".rstrip() for column, part in columns])
    for row in table.rows:
        written.writerow([_bare(row.get(column), part) for column, part in columns])
    return out.getvalue()


def _bare(value: object, part: str) -> object:
    if isinstance(value, Proportion):
        return value.total if part == "of" else "" if value.share is None else round(value.share, 6)
    if part == "of" or value is None:
        return ""
    return round(value, 6) if isinstance(value, float) else value


def cells(table: Table) -> list[list[str]]:
    """What people see of a table: its columns' names, and the rows that are shown."""
    columns, rows = table.columns, table.rows[: table.shown]
    places = {column: decimals([row.get(column) for row in rows]) for column in columns}
    shown = [[format_value(row.get(column), places[column]) for column in columns] for row in rows]
    return [columns, *shown] if rows else []


def remarks(table: Table) -> list[str]:
    """The note of a table, and where the rows are that are not shown."""
    left_out = len(table.rows) - len(table.rows[: table.shown])
    file = f"{table.name}.csv"
    shown = f"The first {table.shown} of {len(table.rows):,} rows; all of them are in {file}."
    where = [] if not left_out else [shown if table.shown else f"{len(table.rows):,} rows, which are in {file}."]
    return [*([table.note] if table.note else []), *where]


def has_caption(section: Section, part: Table | Plot | Heatmap) -> bool:
    """Whether a part needs a title of its own, because its section has more than one of its kind."""
    return sum(isinstance(other, Table) == isinstance(part, Table) for other in section.contents) > 1


def numeric(table: Table, column: str) -> bool:
    values = [row.get(column) for row in table.rows]
    return all(isinstance(value, int | float | Proportion | None) and not isinstance(value, bool) for value in values)


def render_markdown(report: ExperimentReport, about: ReportHeader) -> str:
    parts = [f"# {about.experiment.title}", *about.lines, report.conclusion]
    for section in report.sections:
        parts.append(f"## {section.title}")
        for part in section.contents:
            parts += [f"### {part.title}"] if has_caption(section, part) else []
            if isinstance(part, Table):
                parts += [*remarks(part), *_markdown_table(part)]
            else:
                parts += [part.note] if part.note else []
                parts.append(_NOTHING_DRAWN if part.is_empty else f"![{part.title}]({part.name}.png)")
    if report.notes:
        parts += [f"## {NOTES}", "\n".join(f"- {note}" for note in report.notes)]
    return "\n\n".join(parts) + "\n"


_NOTHING_DRAWN = "There is nothing to draw: no value was measured."


def _markdown_table(table: Table) -> Iterator[str]:
    lines = cells(table)
    if lines:
        rule = ["---:" if numeric(table, column) else "---" for column in table.columns]
        yield "\n".join(_line(line) for line in (lines[0], rule, *lines[1:]))


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"


def render_page(report: ExperimentReport, about: ReportHeader, pictures: Mapping[str, Picture]) -> str:
    """One page that needs nothing else."""
    escaped = html.escape
    titles = [*(section.title for section in report.sections), *([NOTES] if report.notes else [])]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escaped(about.experiment.title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escaped(about.experiment.title)}</h1>",
        *(f'<p class="about">{escaped(line)}</p>' for line in about.lines),
        f'<p class="conclusion">{escaped(report.conclusion)}</p>',
        '<nav aria-label="Contents"><ol>',
        *(f'<li><a href="#s{number}">{escaped(title)}</a></li>' for number, title in enumerate(titles, 1)),
        "</ol></nav>",
    ]
    for number, section in enumerate(report.sections, 1):
        parts.append(f'<h2 id="s{number}">{escaped(section.title)}</h2>')
        parts += _contents(section, pictures)
    if report.notes:
        parts.append(f'<h2 id="s{len(titles)}">{NOTES}</h2>')
        parts.append("<ul>" + "".join(f"<li>{escaped(note)}</li>" for note in report.notes) + "</ul>")
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _contents(section: Section, pictures: Mapping[str, Picture]) -> Iterator[str]:
    before: str | None = None  # the note of the plot before: one that is the same is not said again
    for part in section.contents:
        own = html.escape(part.title) if has_caption(section, part) else ""
        if isinstance(part, Table):
            yield f"<h3>{own}</h3>" if own else ""
            yield from (f'<p class="note">{html.escape(remark)}</p>' for remark in remarks(part))
            yield _html_table(part)
        else:
            yield _figure(part, own, pictures, note=part.note if part.note != before else "")
            before = part.note


def _figure(plot: Plot | Heatmap, caption: str, pictures: Mapping[str, Picture], *, note: str) -> str:
    note = f'<p class="note">{html.escape(note)}</p>' if note else ""
    head = f"<figcaption>{caption}</figcaption>" if caption else ""
    if plot.is_empty:
        return f'{note}<figure>{head}<p class="note">{_NOTHING_DRAWN}</p></figure>'
    light, dark = (f"data:image/png;base64,{base64.b64encode(one).decode()}" for one in pictures[plot.name])
    return (
        f'{note}<figure>{head}<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img alt="{html.escape(plot.title)}" src="{light}"></picture></figure>'
    )


def _html_cell(value: str, kind: str) -> str:
    is_short = max(map(len, value.split()), default=0) <= _SHORT_WORD
    return f"<td{kind or (_SHORT if is_short else '')}>{html.escape(value)}</td>"


def _html_table(table: Table) -> str:
    lines = cells(table)
    if not lines:
        return ""
    columns = table.columns
    if len(lines) == 2 and len(columns) > 4:  # one row of much: a line for each column
        rows = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in zip(*lines))
        return f'<div class="wide"><table><tbody>{"".join(rows)}</tbody></table></div>'
    kinds = [' class="n"' if numeric(table, column) else "" for column in columns]
    head = "".join(f"<th{kind}>{html.escape(column)}</th>" for column, kind in zip(columns, kinds))
    body = "".join("<tr>" + "".join(map(_html_cell, line, kinds)) + "</tr>" for line in lines[1:])
    many = ' class="many"' if len(columns) >= _MANY_COLUMNS else ""
    return f'<div class="wide"><table{many}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'
