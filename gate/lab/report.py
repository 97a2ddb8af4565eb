"""A report as files: each table as CSV, each plot as PNG, everything as one Markdown file and one HTML page.

The page holds its pictures, so that it can be sent around by itself. Whatever comes from a corpus (ids, names) is
escaped.
"""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from gate.core.profile import Profile
from gate.errors import ConfigError, Unavailable
from gate.lab.experiment import Experiment, ExperimentReport, Proportion, Table
from gate.private_files import create_private

PAGE = "report.html"
TEXT = "report.md"

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2330; background: #fff; max-width: 76rem; margin: 2rem auto;
  padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; }
p, ul { max-width: 52rem; } .about, .note { color: #5a6478; } .note { font-size: .9rem; margin: .4rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th { text-align: left; vertical-align: bottom; border-bottom: 2px solid #1d2330; }
td { border-bottom: 1px solid #e3e6ec; } th, td { padding: .25rem .8rem .25rem 0; }
th.n, td.n { text-align: right; } td.n { white-space: nowrap; } tbody tr:hover { background: #f4f6fa; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; border: 1px solid #e3e6ec; border-radius: 4px; }
"""


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

    pictures = {plot.name: draw.draw_png(plot) for plot in report.plots}
    files = {PAGE: render_page(report, about, pictures).encode(), TEXT: render_markdown(report, about).encode()}
    files |= {f"{table.name}.csv": render_csv(table).encode() for table in report.tables}
    files |= {f"{name}.png": picture for name, picture in pictures.items()}
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


def format_value(value: object) -> str:
    """A value for people."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case Proportion():
            return f"{format_percent(value.share)} % ({value.total:,})" if value.total else "-"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 100 else f"{value:.3f}"
        case _:
            return str(value)


def format_percent(share: float | None) -> str:
    """Two places, rounded down: 99.996 is not 100."""
    return "-" if share is None else f"{int(share * 10_000 + 1e-9) / 100:.2f}"


def format_option(value: object) -> str:
    """An option as it would be given."""
    if isinstance(value, tuple):
        return ",".join(map(format_option, value))
    if isinstance(value, bool):
        return str(value).lower()
    return value.name if isinstance(value, Profile) else str(value)


def render_csv(table: Table) -> str:
    """The table for programs: a `Found` is two columns, its share and the number of cases."""
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


def render_markdown(report: ExperimentReport, about: ReportHeader) -> str:
    parts = [f"# {about.experiment.title}", *about.lines]
    if report.notes:
        parts.append("\n".join(f"- {note}" for note in report.notes))
    for table in report.tables:
        parts += [f"## {table.title}", *([table.note] if table.note else []), _markdown_table(table)]
    for plot in report.plots:
        parts += [f"## {plot.title}", *([plot.note] if plot.note else []), f"![{plot.title}]({plot.name}.png)"]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    columns = table.columns
    rule = ["---:" if numeric(table, column) else "---" for column in columns]
    cells = [[format_value(row.get(column)) for column in columns] for row in table.rows]
    return "\n".join(_line(line) for line in (columns, rule, *cells))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def numeric(table: Table, column: str) -> bool:
    values = [row.get(column) for row in table.rows]
    return all(isinstance(value, int | float | Proportion | None) and not isinstance(value, bool) for value in values)


def render_page(report: ExperimentReport, about: ReportHeader, pictures: Mapping[str, bytes]) -> str:
    """One page that needs nothing else."""
    escaped = html.escape
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escaped(about.experiment.title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escaped(about.experiment.title)}</h1>",
        *(f'<p class="about">{escaped(line)}</p>' for line in about.lines),
    ]
    if report.notes:
        parts.append("<ul>" + "".join(f"<li>{escaped(note)}</li>" for note in report.notes) + "</ul>")
    for plot in report.plots:
        picture = base64.b64encode(pictures[plot.name]).decode()
        parts.append(f"<h2>{escaped(plot.title)}</h2>")
        parts += [f'<p class="note">{escaped(plot.note)}</p>'] if plot.note else []
        parts.append(f'<figure><img alt="{escaped(plot.title)}" src="data:image/png;base64,{picture}"></figure>')
    for table in report.tables:
        parts.append(f"<h2>{escaped(table.title)}</h2>")
        parts += [f'<p class="note">{escaped(table.note)}</p>'] if table.note else []
        parts.append(_html_table(table))
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _html_table(table: Table) -> str:
    kinds = {column: ' class="n"' if numeric(table, column) else "" for column in table.columns}
    head = "".join(f"<th{kind}>{html.escape(column)}</th>" for column, kind in kinds.items())
    lines = (
        "<tr>"
        + "".join(f"<td{kind}>{html.escape(format_value(row.get(column)))}</td>" for column, kind in kinds.items())
        for row in table.rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{"".join(lines)}</tbody></table></div>'
