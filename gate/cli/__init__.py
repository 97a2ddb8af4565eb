"""The command line: what people type, and what scripts read. Nothing here decides about a document."""

from __future__ import annotations

import click

from gate import __version__
from gate.cli import compare, corpus, documents, index, replay, run, settings, stream
from gate.cli.common import HELP_WIDTH, Commands, Later


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH})
@click.version_option(__version__, prog_name="gate")
def main() -> None:
    """Is there something like this document already, what, how much alike, and which of the two was first?

    \b
    Start here:
      gate demo                            see it work on a small corpus
      gate check notes/                    compare the files of a folder
      gate compare a.txt b.txt             two texts side by side
      gate run events.jsonl -o verdicts.jsonl
                                           the gate itself: events in, verdicts out

    \b
    Exit codes:
      0  all went well
      1  some documents could not be judged (or, with check --fail-on-similar, some are similar)
      2  a wrong option, setting, profile or index; nothing was changed
      3  the index does not answer now, or an output cannot be written; try again
      130, 141  interrupted, or nobody reads the output any more; begin again at any time
    """


for command in (
    run.run,
    replay.replay,
    documents.check,
    compare.compare,
    documents.similar,
    documents.explain,
    documents.delete,
    index.index,
    stream.topics,
    stream.lag,
    stream.deadletters,
    settings.plan,
    Later("tune"),
    Later("lab"),
    settings.config,
    corpus.demo,
):
    main.add_command(command)

__all__ = ["main"]
