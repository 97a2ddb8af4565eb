"""Pieces of HTML: sections, tables, bars. Text that comes in is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gate.numbers import number
from gate.report.totals import Period

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 900, 190, 46, 8, 24  # of the chart
_LABELS = 9  # times that are written below it


def section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>\n"


def table(label: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str]) -> str:
    """Rows of cells that are HTML already. A table that is too wide for the screen scrolls, by keys too."""
    kinds = ["n" if name in right else escape(name.lower()) for name in heads]
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>' if name else "<td></td>"
        for name, kind in zip(heads, kinds)
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    rows_of_html = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">{rows_of_html}</div>'


def name_cell(text: str) -> str:
    return f'<th scope="row">{escape(text)}</th>'


def number_cell(text: str) -> str:
    return f'<td class="n">{escape(text)}</td>'


def share_bar(share: float, *, is_copy: bool) -> str:
    kind = "copies" if is_copy else "bar"
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" y="3" width="100" height="4"/>'
        f'<rect class="{kind}" y="3" width="{100 * share:.1f}" height="4"/></svg>'
    )


def bars_over_time(periods: Sequence[Period]) -> str:
    """A section with a bar for the documents of each time and the copies among them; the same numbers as a table."""
    if not periods:
        return ""
    most = max(counted.documents for _, counted in periods)
    step = (_WIDTH - _LEFT) / len(periods)
    scale = (_HEIGHT - _BOTTOM - _TOP) / most
    drawn = []
    for value in (0, most):
        y = _HEIGHT - _BOTTOM - value * scale
        drawn.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text class="axis" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    for place, (name, counted) in enumerate(periods):
        x, width = _LEFT + (place + 0.12) * step, 0.76 * step
        for value, kind in ((counted.documents, "bar"), (counted.copies, "copies")):
            height = value * scale
            y = _HEIGHT - _BOTTOM - height
            drawn.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>')
        if place % -(-len(periods) // _LABELS) == 0:
            at = f'x="{x:.1f}"' if place < len(periods) * 0.9 else f'x="{x + width:.1f}" text-anchor="end"'
            drawn.append(f'<text class="axis" {at} y="{_HEIGHT - 6}">{escape(name)}</text>')
    label = "Documents and copies by their time; the numbers are in the table below"
    chart = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(drawn)}</svg>'
    legend = '<figcaption class="legend"><span>all documents</span><span>copies</span></figcaption>'
    rows = [
        [
            name_cell(name),
            number_cell(number(counted.documents)),
            number_cell(number(counted.copies)),
            number_cell(number(counted.share, "%") if counted.documents else "-"),
        ]
        for name, counted in periods
    ]
    numbers = table(
        "Over time", ("Time (UTC)", "Documents", "Copies", "Share"), rows, right=("Documents", "Copies", "Share")
    )
    return section(
        "Over time", f"<figure>{chart}{legend}</figure><details><summary>The numbers</summary>{numbers}</details>"
    )
