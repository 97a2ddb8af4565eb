"""Commands about settings: which are in force, and what a profile costs and finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from rich.text import Text

from gate.cli import show, tables
from gate.cli.common import Options, emit, printable
from gate.cli.session import load, load_with_origins
from gate.config.profiles import vary_profile
from gate.config.reference import describe_settings
from gate.config.settings import Settings
from gate.core.document_details import bytes_of_details
from gate.core.method_parameters import (
    BswN,
    Fingerprinted,
    MinHash,
    SampleParameters,
    SimilarityIndex,
    SketchN,
    WindowParameters,
)
from gate.core.native import loader
from gate.core.plan import bands_for, replaced_share
from gate.core.plan import plan as planned
from gate.core.profile import Profile
from gate.core.unrelated import UnrelatedDistance
from gate.errors import ConfigError
from gate.numbers import number

DEFAULT_RECALL = 0.95
TRIED = "tried"  # the name of a profile that has been changed by hand, to see what would happen


def plan(
    *,
    documents: int,
    at: float | None,
    recall: float | None,
    corpus: Path | None,
    options: Options,
    **tried: int | str | None,
) -> None:
    """Show the expected costs and recall of a profile."""
    settings = load(options)
    profile = _varied(settings.profile, {name: value for name, value in tried.items() if value is not None})
    if at is not None or recall is not None:
        profile = _banded(profile, at, DEFAULT_RECALL if recall is None else recall)
    unrelated = None if corpus is None else _measured(corpus, profile, settings)
    expected = planned(profile, documents, unrelated)
    words = "characters" if profile.tokenizer == "characters" else "words"
    unit = profile.method.window if isinstance(profile.method, WindowParameters) else profile.gram
    details = bytes_of_details(settings.limits) if settings.keep_details else None
    if options.json:
        row: dict[str, Any] = msgspec.to_builtins(expected)
        row["recall"] = [
            {"resemblance": alike, "changed": round(replaced_share(alike, unit), 4), "found": found}
            for alike, found in expected.recall
        ]
        emit({**row, "total_bytes": expected.total_bytes, "details_bytes": details, "parameters": profile.parameters()})
        return
    out = tables.console()
    out.print(Text(f"Profile {expected.profile}, {number(documents)} documents", style="bold"))
    out.print(Text(_parameters(profile), style="dim"))
    show.plan(out, expected, changed=lambda alike: replaced_share(alike, unit), words=words, details=details)


def _measured(corpus: Path, profile: Profile, settings: Settings) -> UnrelatedDistance:
    """How far apart the fingerprints of unrelated documents of a corpus are."""
    from gate.cli.lab import corpus_of  # reading archives takes a while to load
    from gate.lab.unrelated import measure_unrelated

    return measure_unrelated(corpus_of(corpus, limits=settings.limits), profile)


def _varied(profile: Profile, tried: dict[str, int | str]) -> Profile:
    """The profile with other parameters, under another name; ConfigError says what does not go together."""
    if not tried:
        return profile
    return vary_profile(profile, {"name": TRIED, **tried})


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


def config(*, describe: bool, options: Options) -> None:
    """Show the settings in force, or describe all that there are."""
    if describe:
        _describe(as_json=options.json)
        return
    settings, origins = load_with_origins(options)
    parameters = settings.profile.parameters()
    if options.json:
        rows: dict[str, Any] = {name: {"value": one.value, "source": one.source} for name, one in origins.items()}
        rows["profile"]["parameters"] = parameters
        rows["kernel"] = {"value": loader.implementation(), "source": loader.origin()}
        emit(rows)
        return
    out = tables.console()
    table = tables.table(out, "setting", "value", "from")
    for name, one in origins.items():
        table.add_row(
            name,
            tables.cell(_in_toml(one.value), style="" if one.source == "default" else "bold"),
            Text(printable(one.source), style="dim" if one.source == "default" else "cyan"),
        )
    out.print(table)
    tables.gap(out)
    out.print(Text(f"Signing: {printable(loader.describe())}"))
    tables.gap(out)
    out.print(Text(f"Profile {settings.profile.ref}", style="bold"))
    table = tables.table(out, "parameter", "value")
    for name, value in parameters.items():
        table.add_row(name, tables.cell(_in_toml(value)))
    out.print(table)


def _describe(*, as_json: bool) -> None:
    rows = describe_settings()
    if as_json:
        for row in rows:
            emit(row._asdict())
        return
    out = tables.console()
    table = tables.table(out, "setting", "type", "default", "description")
    for row in rows:
        table.add_row(Text(row.key, style="bold"), row.type, Text(row.default), Text(row.description, style="dim"))
    out.print(table)


def _in_toml(value: object) -> str | None:
    """A value as it would be written in TOML, or nearly so; None is what is not set."""
    return None if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
