"""Commands about settings: which are in force, and what a profile costs and finds."""

from __future__ import annotations

import click
import msgspec
from rich.text import Text

from gate.cli import show
from gate.cli.frame import Options, common, emit, load
from gate.core.plan import plan as planned


@click.command()
@click.option(
    "--documents", default=1_000_000, show_default=True, type=click.IntRange(0, 10**12), help="How many to plan for."
)
@common(index=False)
def plan(*, documents: int, options: Options) -> None:
    """Tell what a profile costs and finds, before the first document is in.

    \b
      gate plan
      gate plan --documents 50000000 --profile simhash

    The figures follow from the parameters alone; how texts of yours behave, only a measurement can tell.
    """
    expected = planned(load(options).profile, documents)
    if options.json:
        emit({**msgspec.to_builtins(expected), "total_bytes": expected.total_bytes})
        return
    out = show.console()
    out.print(Text(f"Profile {expected.profile}, {documents:,} documents", style="bold"))
    show.plan(out, expected)


@click.command()
@common()
def config(*, options: Options) -> None:
    """Show the settings in force, and where each came from. Secrets are hidden.

    \b
      gate config
      gate config --config gate.toml --profile simhash --json
    """
    told = load(options).told
    if options.json:
        emit({one.name: {"value": one.value, "source": one.source} for one in told})
        return
    out = show.console()
    shown = show.table(out, "setting", "value", "from")
    for one in told:
        shown.add_row(
            one.name,
            show.cell(_written(one.value), style="" if one.source == "default" else "bold"),
            Text(show.printable(one.source), style="dim" if one.source == "default" else "cyan"),
        )
    out.print(shown)


def _written(value: object) -> str | None:
    """A value as it would be written in TOML, or nearly so; None is what is not set."""
    return None if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
