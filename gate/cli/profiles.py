"""`gate profiles`: the built-in profiles in one line each."""

from __future__ import annotations

from rich.text import Text

from gate.cli import tables
from gate.cli.common import emit
from gate.cli.profile_names import FOR_USE, FROM_PAPERS

GROUPS = {"for use": FOR_USE, "from the papers": FROM_PAPERS}


def profiles(*, as_json: bool) -> None:
    """List the profiles, those for use first."""
    if as_json:
        for group, members in GROUPS.items():
            for name, description in members.items():
                emit({"name": name, "group": group, "description": description})
        return
    out = tables.console()
    for group, members in GROUPS.items():
        if group != "for use":
            tables.gap(out)
        table = tables.table(out, group, "what it is")
        for name, description in members.items():
            table.add_row(Text(name, style="bold"), description)
        out.print(table)
