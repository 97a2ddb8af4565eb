"""The report of a run as one page of HTML that needs nothing beside it: no server, no other file, no network.

What adds up to few numbers is in the page as HTML, so that it reads without scripts too. The documents are in it as
data, a list for each column, and the table of them draws only the rows that are in view. The page forbids itself to
load anything (a Content-Security-Policy with the hashes of its own style and script), and whatever comes from outside
is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Any

import msgspec

from gate.model import Relation
from gate.numbers import counted, number
from gate.report import totals
from gate.report.markup import bars_over_time, name_cell, number_cell, section, share_bar, table
from gate.report.pairs import ShownPair
from gate.report.results import Result, Results
from gate.report.totals import Count, Family

MAX_ROWS = 100_000  # documents in the table; of more, the copies first
SHOWN_FOLDERS = 20
MAX_FOLDERS = 500
SHOWN_FAMILIES = 10
MAX_FAMILIES = 50
MAX_MEMBERS = 100  # of a family, that are named
SIMILAR = (Relation.EXACT, Relation.NEAR, Relation.CONTAINED, Relation.CONTAINS)

_STYLE, _SCRIPT = (files(__package__).joinpath("page", name).read_text("utf-8") for name in ("report.css", "report.js"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What a report is about, and how it came about."""

    title: str
    profile: str
    made_at: datetime
    notes: tuple[str, ...] = ()
    meanings: Mapping[Relation, str]


def render_page(
    results: Results, header: RunHeader, pairs: Sequence[ShownPair] = (), *, max_rows: int = MAX_ROWS
) -> str:
    """The whole page."""
    total = totals.total(results)
    rows = _rows(results, total, max_rows)
    data = msgspec.json.encode(_data(rows, header, pairs)).decode().replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = (
        _cards(total, totals.unreadable(results)),
        _by_relation(results, total, header.meanings),
        bars_over_time(totals.over_time(results)),
        _by_folder(totals.by_folder(results, most=MAX_FOLDERS)),
        _families(totals.largest_families(results, most=MAX_FAMILIES, members=MAX_MEMBERS)),
        _unreadable(totals.unreadable(results)),
        _documents(total, len(rows)),
    )
    about = [f"Made on {header.made_at:%Y-%m-%d at %H:%M} UTC under profile {header.profile}.", *header.notes]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(header.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<a class="skip" href="#documents">To the table of documents</a>
<header>
<h1>{escape(header.title)}</h1>
{"".join(f'<p class="soft">{escape(line)}</p>' for line in about)}
</header>
<main>
{"".join(parts)}
</main>
<script type="application/json" id="data">{data}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# What is counted.


def _cards(total: Count, unreadable: Sequence[totals.UnreadableCount]) -> str:
    missing = sum(reason.files for reason in unreadable)
    cards = [
        ("Documents", number(total.documents), number(total.size_bytes, "B")),
        ("Copies", number(total.copies), f"{number(total.share, '%')} of the documents"),
        ("Space of the copies", number(total.copied_bytes, "B"), f"of {number(total.size_bytes, 'B')}"),
        ("Not read", number(missing), "see below" if missing else "every file could be read"),
    ]
    items = "".join(f"<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>" for name, value, note in cards)
    return f'<dl class="cards">{items}</dl>\n'


def _by_relation(results: Results, total: Count, meanings: Mapping[Relation, str]) -> str:
    rows = [
        [
            name_cell(relation.value),
            number_cell(number(count.documents)),
            f"<td>{share_bar(count.documents / total.documents, is_copy=relation in SIMILAR)}</td>",
            number_cell(number(count.documents / total.documents, "%")),
            number_cell(number(count.size_bytes, "B")),
            f'<td class="meaning soft">{escape(meanings[relation])}</td>',
        ]
        for relation, count in totals.by_relation(results).items()
    ]
    heads = ("Verdict", "Documents", "", "Share", "Size", "Meaning")
    return section("By verdict", table("By verdict", heads, rows, right=("Documents", "Share", "Size"))) if rows else ""


def _by_folder(folders: Sequence[totals.FolderCount]) -> str:
    if len(folders) < 2:
        return ""
    heads = ("Folder", "Documents", "Copies", "", "Share", "Space of the copies")
    right = ("Documents", "Copies", "Share", "Space of the copies")
    rows = [
        [
            name_cell(folder),
            number_cell(number(count.documents)),
            number_cell(number(count.copies)),
            f"<td>{share_bar(count.share, is_copy=True)}</td>",
            number_cell(number(count.share, "%")),
            number_cell(number(count.copied_bytes, "B")),
        ]
        for folder, count in folders
    ]
    body = table("By folder", heads, rows[:SHOWN_FOLDERS], right=right)
    if len(rows) > SHOWN_FOLDERS:
        more = table("More folders", heads, rows[SHOWN_FOLDERS:], right=right)
        body += f"<details><summary>{counted(len(rows) - SHOWN_FOLDERS, 'more folder')}</summary>{more}</details>"
    if len(rows) == MAX_FOLDERS:
        body += f'<p class="soft">The {number(MAX_FOLDERS)} folders with most copies; there may be more.</p>'
    return section("By folder", body)


def _families(families: Sequence[Family]) -> str:
    if not families:
        return ""
    shown = "".join(map(_family, families[:SHOWN_FAMILIES]))
    if rest := families[SHOWN_FAMILIES:]:
        shown += f"<details><summary>{len(rest)} more</summary>{''.join(map(_family, rest))}</details>"
    note = "Each family is an original and the documents that are like it; its documents need not be like each other."
    return section("Largest families", f'<p class="soft">{note}</p>{shown}')


def _family(family: Family) -> str:
    first = family.first
    rows = [
        [
            name_cell(family.original),
            "<td>original</td>",
            number_cell("-"),
            number_cell("-" if first is None or first.size_bytes is None else number(first.size_bytes, "B")),
        ],
        *(
            [
                name_cell(member.document),
                f"<td>{member.relation.value}</td>",
                number_cell("-" if member.resemblance is None else number(member.resemblance, "%")),
                number_cell("-" if member.size_bytes is None else number(member.size_bytes, "B")),
            ]
            for member in family.members
        ),
    ]
    members = table(
        family.original, ("Document", "Verdict", "Resemblance", "Size"), rows, right=("Resemblance", "Size")
    )
    if family.copies > len(family.members):
        members += f'<p class="soft">The first {number(len(family.members))} of {number(family.copies)} copies.</p>'
    copies = "1 copy" if family.copies == 1 else f"{number(family.copies)} copies"
    space = f", {number(family.copied_bytes, 'B')}" if family.copied_bytes else ""
    return f"<details><summary>{escape(family.original)}: {copies}{space}</summary>{members}</details>"


def _unreadable(reasons: Sequence[totals.UnreadableCount]) -> str:
    if not reasons:
        return ""
    parts = []
    for reason in reasons:
        items = "".join(f"<li>{escape(message)}</li>" for _, message in reason.examples)
        rest = reason.files - len(reason.examples)
        more = f'<p class="soft">and {number(rest)} more</p>' if rest else ""
        summary = f"{escape(reason.reason)}: {counted(reason.files, 'file')}"
        parts.append(f"<details><summary>{summary}</summary><ul>{items}</ul>{more}</details>")
    return section("Not read, by reason", "".join(parts))


# The table of documents.


def _documents(total: Count, rows: int) -> str:
    if not total.documents:
        return ""
    cut = ""
    if rows < total.documents:
        cut = (
            f'<p class="soft">{number(rows)} of {number(total.documents)} documents are in this page, copies first.</p>'
        )
    return f"""<p id="no-script">The table of all documents needs JavaScript, which does not run here.</p>
<section id="documents" hidden>
<h2>Documents</h2>
{cut}<div class="filters">
<label>Search in names <input id="search" type="search" autocomplete="off" spellcheck="false"></label>
<label>Verdict <select id="verdict"><option value="">all</option><option value="similar">copies</option>\
<option value="pairs">with passages</option></select></label>
<label>Folder <select id="folder"><option value="">all</option></select></label>
</div>
<p class="count" id="count" role="status"></p>
<div id="rows"><table role="grid" tabindex="0" aria-label="Documents">
<colgroup><col><col width="110"><col><col width="130"><col width="66"><col width="100"><col width="156"></colgroup>
<thead><tr><th></th></tr></thead><tbody></tbody></table></div>
<p class="soft">A row opens by a click, or by Enter; the arrow keys move.</p>
</section>
<dialog id="one" aria-labelledby="one-name">
<div class="dialog-head"><h2 id="one-name"></h2><form method="dialog"><button>Close</button></form></div>
<div class="dialog-body"><div id="one-body"></div>
<div class="dialog-foot"><button type="button" id="one-before">Previous</button>
<button type="button" id="one-after">Next</button>
<button type="button" id="one-family">Show its family</button></div></div>
</dialog>
"""


def _rows(results: Results, total: Count, most: int) -> list[Result]:
    if total.documents <= most:
        return list(results)
    chosen = results.select(
        "JOIN (SELECT number AS chosen FROM results ORDER BY similar DESC, number LIMIT ?) ON number = chosen "
        "ORDER BY number",
        most,
    )
    return list(chosen)


def _data(rows: Sequence[Result], header: RunHeader, pairs: Sequence[ShownPair]) -> dict[str, Any]:
    folders: dict[str, int] = {}
    for folder in sorted({row.folder for row in rows}):
        folders[folder] = len(folders)
    places = {relation: place for place, relation in enumerate(Relation)}
    return {
        "columns": {
            "document": [row.document for row in rows],
            "relation": [places[row.relation] for row in rows],
            "best": [row.best for row in rows],
            "original": [row.original for row in rows],
            "gone": [row.best_gone + 2 * row.original_gone for row in rows],
            "resemblance": [row.resemblance for row in rows],
            "containment": [row.containment for row in rows],
            "distance": [row.distance for row in rows],
            "size": [row.size_bytes for row in rows],
            "time": [None if row.dated is None else int(row.dated.timestamp()) for row in rows],
            "folder": [folders[row.folder] for row in rows],
        },
        "relations": [
            {"name": relation.value, "similar": relation in SIMILAR, "meaning": header.meanings[relation]}
            for relation in Relation
        ],
        "folders": list(folders),
        "pairs": [
            {
                "copy": pair.copy,
                "best": pair.best,
                "sides": [
                    [[part.text, int(part.shared), part.left_out, part.after] for part in side] for side in pair.sides
                ],
                "cut": pair.cut,
            }
            for pair in pairs
        ],
        "labels": {
            "same": "Both have the same text, but for case, width and white space.",
            "absent": "The two texts are not in this report; `gate compare` shows them side by side.",
        },
    }
