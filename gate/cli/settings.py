"""Commands about settings: which are in force, and what a profile costs and finds."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from rich.text import Text

from gate.cli import show
from gate.cli.common import Options, common, emit, load, load_with_origins
from gate.config.profiles import changed_profile
from gate.core.method_parameters import (
    BswN,
    Fingerprinted,
    MinHash,
    SampleParameters,
    SimilarityIndex,
    SketchN,
    WindowParameters,
)
from gate.core.method_registry import parameters_by_name
from gate.core.plan import bands_for, changed
from gate.core.plan import plan as planned
from gate.core.profile import Profile
from gate.errors import ConfigError

DEFAULT_RECALL = 0.95
TRIED = "tried"  # the name of a profile that has been changed by hand, to see what would happen


@click.command(short_help="Tell what a profile costs and finds.")
@click.option(
    "--documents",
    metavar="N",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(0, 10**12),
    help="How many to plan for.",
)
@click.option("--method", metavar="NAME", help=f"Try another method: {', '.join(parameters_by_name())}.")
@click.option("--radius", metavar="BITS", type=int, help="Try: fingerprints within so many bits are sure to meet.")
@click.option("--bins", metavar="N", type=int, help="Try: the length of the MinHash sketch.")
@click.option("--bands", metavar="N", type=int, help="Try: how many bands of it are looked up; more find more.")
@click.option("--rows", metavar="N", type=int, help="Try: bins in a band; more bring fewer strangers, and find less.")
@click.option("--gram", metavar="N", type=int, help="Try: words (or characters) in a shingle.")
@click.option("--at", metavar="SHARE", type=float, help="Choose bands and rows that find pairs of this resemblance.")
@click.option("--recall", metavar="SHARE", type=float, help="How many of them, with --at; .95 if nothing is said.")
@common(index=False)
def plan(
    *, documents: int, at: float | None, recall: float | None, options: Options, **tried: int | str | None
) -> None:
    """Tell what a profile costs and finds, before the first document is in.

    \b
      gate plan
      gate plan --documents 50000000 --profile simhash
      gate plan --bands 24 --rows 5                    what if?
      gate plan --at .8 --recall .99                   which bands find 99 % of pairs of resemblance .8?

    The figures follow from the parameters alone; how texts of yours behave, only a measurement can tell. "Changed" is
    the share of words that may be replaced, here and there, until two texts are as little alike as the line says.
    """
    profile = _varied(load(options).profile, {name: value for name, value in tried.items() if value is not None})
    if at is not None or recall is not None:
        profile = _banded(profile, at, DEFAULT_RECALL if recall is None else recall)
    expected = planned(profile, documents)
    words = "characters" if profile.tokenizer == "characters" else "words"
    unit = profile.method.window if isinstance(profile.method, WindowParameters) else profile.gram
    if options.json:
        told: dict[str, Any] = msgspec.to_builtins(expected)
        told["recall"] = [
            {"resemblance": alike, "changed": round(changed(alike, unit), 4), "found": found}
            for alike, found in expected.recall
        ]
        emit({**told, "total_bytes": expected.total_bytes, "parameters": profile.parameters()})
        return
    out = show.console()
    out.print(Text(f"Profile {expected.profile}, {documents:,} documents", style="bold"))
    out.print(Text(_parameters(profile), style="dim"))
    show.plan(out, expected, changed=lambda alike: changed(alike, unit), words=words)


def _varied(profile: Profile, tried: dict[str, int | str]) -> Profile:
    """The profile with other parameters, under another name; whatever does not go together is told."""
    if not tried:
        return profile
    return changed_profile(profile, {"name": TRIED, **tried})


def _banded(profile: Profile, at: float | None, recall: float) -> Profile:
    """The profile with bands that find so many of the pairs of that resemblance."""
    if at is None:
        raise ConfigError("--recall: says how many, but not of which pairs; give their resemblance by --at")
    method = profile.method
    if not isinstance(method, MinHash):
        raise ConfigError(f"--at: {method.name} has no bands; choose a profile of the method minhash or hybrid")
    bands, rows = bands_for(at, bins=method.bins, recall=recall)
    return _varied(profile, {"bands": bands, "rows": rows})


def _parameters(profile: Profile) -> str:
    """A profile in one line: what was looked at, how it is found, what counts."""
    method = profile.method
    parts = [
        f"windows of {method.window} bytes"
        if isinstance(method, WindowParameters)
        else f"{profile.tokenizer} in {profile.gram}s"
    ]
    if isinstance(method, Fingerprinted):
        parts.append(f"weights {method.weights}")
    parts.append(f"method {method.name}")
    if isinstance(method, Fingerprinted):
        parts.append(f"radius {method.radius}")
    if isinstance(method, MinHash):
        family = "" if method.family == "one-permutation" else f" by {method.family} hash functions"
        parts.append(f"{method.bands} bands of {method.rows} of {method.bins} bins{family}")
    if isinstance(method, SimilarityIndex):
        parts.append(f"number {method.si_method} of Roth 2011, window {method.si_window}")
    if isinstance(method, WindowParameters):
        parts.append(f"n {method.sample}")
    if isinstance(method, BswN):
        parts.append(f"chunks {method.chunks}")
    if isinstance(method, SketchN):
        parts.append(f"{method.bands} bands of {method.rows}")
    if isinstance(method, SampleParameters):
        parts.append(f"{method.max_keys} keys at most")
    return ", ".join(parts)


@click.command()
@common()
def config(*, options: Options) -> None:
    """Show the settings in force, and where each came from. Secrets are hidden.

    \b
      gate config
      gate config --config gate.toml --profile simhash --json
      GATE_LIMITS_MAX_MATCHES=3 gate config

    Settings come from gate.toml (or the file that --config or GATE_CONFIG names), from the environment and from flags;
    the later wins. A setting `limits.max_matches` is max_matches under [limits] in the file, GATE_LIMITS_MAX_MATCHES
    in the environment and --set limits.max_matches=3 as a flag. All that is wrong is told at once (exit code 2).
    """
    settings, origins = load_with_origins(options)
    parameters = settings.profile.parameters()
    if options.json:
        told: dict[str, Any] = {name: {"value": one.value, "source": one.source} for name, one in origins.items()}
        told["profile"]["parameters"] = parameters
        emit(told)
        return
    out = show.console()
    shown = show.table(out, "setting", "value", "from")
    for name, one in origins.items():
        shown.add_row(
            name,
            show.cell(_written(one.value), style="" if one.source == "default" else "bold"),
            Text(show.printable(one.source), style="dim" if one.source == "default" else "cyan"),
        )
    out.print(shown)
    show.gap(out)
    out.print(Text(f"Profile {settings.profile.ref}", style="bold"))
    shown = show.table(out, "parameter", "value")
    for name, value in parameters.items():
        shown.add_row(name, show.cell(_written(value)))
    out.print(shown)


def _written(value: object) -> str | None:
    """A value as it would be written in TOML, or nearly so; None is what is not set."""
    return None if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
