"""Commands about an index as a whole."""

from __future__ import annotations

import click
from rich.text import Text

from gate.cli import show
from gate.cli.frame import Options, common, emit, load, open_index


@click.group()
def index() -> None:
    """Look at an index.

    \b
      gate index info --index notes.sqlite
    """


@index.command()
@common()
def info(*, options: Options) -> None:
    """Show how much an index holds.

    \b
      gate index info --index notes.sqlite
      gate index info --index notes.sqlite --json
    """
    settings = load(options)
    with open_index(settings) as gate:
        counts = gate.info()
    if options.json:
        emit({"index": str(settings.index), "profile": settings.profile.ref, **counts})
        return
    out = show.console()
    shown = show.table(out, "what", "count", right=("count",))
    for name, count in counts.items():
        shown.add_row(name.replace("_", " "), show.size_of(count) if "bytes" in name else f"{count:,}")
    out.print(Text(f"{settings.index}, profile {settings.profile.ref}", style="bold"))
    out.print(shown)
