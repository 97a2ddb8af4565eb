"""`gate tune`: a profile for your own documents, chosen by measuring."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from msgspec import structs
from rich.text import Text

from gate.cli import tables
from gate.cli.common import SOME_FAILED, complain, emit, set_resume_hint
from gate.cli.groups import HELP_WIDTH
from gate.cli.lab import Bar, corpus_of, flag, options_of
from gate.cli.progress import progress
from gate.config.profiles import resolve_profile
from gate.errors import ConfigError, Unavailable
from gate.lab import draw, report
from gate.lab import tune as lab
from gate.lab.tune import TuneOptions, TuningResult


@click.command(context_settings={"max_content_width": HELP_WIDTH})
@click.argument("corpus", metavar="CORPUS", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="DIR",
    default="tuned",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the profile and its report are written.",
)
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs.")
def tune(corpus: Path, *, out: Path, quiet: bool, as_json: bool, **flags: Any) -> None:
    """Choose a profile for your own documents: edits are planted in a sample, many profiles measured, and the cheapest
    that finds enough of them and errs seldom enough is written as a file that --profile takes.

    \b
      gate tune notes/ --recall .95 --at .8
      gate tune events.jsonl --at .7 --budget bytes --out tuned/
      gate check notes/ --profile tuned/tuned.toml

    CORPUS is a folder of plain texts, or a file of JSON Lines. It takes minutes. The exit code is 1 if no profile
    reaches the recall and the precision that are asked for; the best one is written all the same.
    """
    options = options_of(TuneOptions, flags)
    set_resume_hint("nothing was written; start again with")
    lab.check(options)
    draw.require_matplotlib()
    documents = corpus_of(corpus)
    lab.EXPERIMENT.check_corpus(documents)
    report.create_folder(out)
    with progress(quiet=quiet or as_json, unit="done") as bars:
        tuned = lab.tune(documents, options, Bar(bars))
    about = report.ReportHeader(
        experiment=lab.EXPERIMENT, corpus=documents.name, documents=len(documents), options=structs.asdict(options)
    )
    written = report.write_report(tuned.report, about, out)
    profile = _written(tuned, out / f"{options.name}.toml")
    for caution in tuned.cautions:
        complain(caution, kind="warning")
    if as_json:
        emit(
            {
                "profile": tuned.profile.parameters(),
                "reached": tuned.reached,
                "reasons": tuned.reasons,
                "cautions": tuned.cautions,
                "curve": [{"from": low, "found": found.count, "of": found.total} for low, found in tuned.curve],
                "files": [str(path) for path in (profile, *written)],
            }
        )
    else:
        console = tables.console()
        for reason in tuned.reasons:
            console.print(Text(reason))
        console.print(Text(f"The profile is {profile}: use it with --profile {profile}. The report is {written[0]}."))
    if not tuned.reached:
        complain("no profile reaches the recall and the precision asked for; the one written finds most")
        sys.exit(SOME_FAILED)


def _written(tuned: TuningResult, path: Path) -> Path:
    """The profile as a file, read again as --profile would."""
    try:
        path.write_text(lab.render_toml(tuned), encoding="utf-8")
    except OSError as exc:
        raise Unavailable(f"{path}: cannot be written: {exc.strerror}") from exc
    if resolve_profile(path).parameters() != tuned.profile.parameters():
        raise ConfigError(f"{path}: says something else than was chosen; please report this")
    return path


tune.params[1:1] = list(map(flag, structs.fields(TuneOptions)))
