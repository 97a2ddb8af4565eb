"""The command line: what people type, and what scripts read. Nothing here decides about a document.

groups, common      the frame: names, options, exit codes; light, since completion loads it at every key
commands/           what each command is called, takes and says in its help; light too
the other modules   the work of the commands, loaded when one is invoked
"""

from __future__ import annotations

import click

from gate import __version__
from gate.cli.groups import HELP_WIDTH, MainGroup

_VERBOSE = "gate.verbose"

COMMANDS = {
    "run": ("gate.cli.commands.events", "Judge a stream of events, from files or Kafka."),
    "serve": ("gate.cli.commands.service", "Serve the gate over HTTP."),
    "token": ("gate.cli.commands.service", "Make a token for the HTTP service."),
    "replay": ("gate.cli.commands.events", "Send an archive through the gate."),
    "check": ("gate.cli.commands.documents", "Check files in, and show the verdict on each."),
    "dedupe": ("gate.cli.commands.dedupe", "Write a corpus without its near-duplicates."),
    "compare": ("gate.cli.commands.documents", "Compare two text files: how alike they are, and where."),
    "similar": ("gate.cli.commands.documents", "Find what in the index is like a document, or like a file."),
    "explain": ("gate.cli.commands.documents", "Say why a document got its verdict."),
    "delete": ("gate.cli.commands.documents", "Delete documents from the index."),
    "index": ("gate.cli.commands.index", "Inspect an index, repair it, move it elsewhere."),
    "topics": ("gate.cli.commands.kafka", "Create the topics of the gate."),
    "lag": ("gate.cli.commands.kafka", "Show how far the gate is behind, partition by partition."),
    "deadletters": ("gate.cli.commands.kafka", "List the messages that could not be judged, and send them again."),
    "profiles": ("gate.cli.commands.settings", "List the profiles: how documents can be signed and compared."),
    "plan": ("gate.cli.commands.settings", "Show what a profile costs and finds at a size."),
    "tune": ("gate.cli.tune", "Choose a profile for your documents, by measuring."),
    "lab": ("gate.cli.commands.lab", "Repeat the experiments of the papers, or compare methods, on a corpus."),
    "config": ("gate.cli.commands.settings", "Show the settings in force, and where each came from."),
    "schema": ("gate.cli.commands.schema", "Print the JSON Schema of a message, or the AsyncAPI document."),
    "completion": ("gate.cli.commands.settings", "Print the script that completes commands in your shell."),
    "demo": ("gate.cli.commands.documents", "See the gate work on a small corpus with planted copies."),
}


def _remember(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    context.meta[_VERBOSE] = is_set


def _show_version(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if not is_set:
        return
    click.echo(f"gate, version {__version__}")
    if context.meta[_VERBOSE]:
        from gate.cli.versions import describe_platform

        click.echo(describe_platform())
    context.exit()


@click.group(
    cls=MainGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
)
@click.option("-v", "verbose", is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_remember)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit; with -v also what it runs on.",
)
def main() -> None:
    """Is there something like this document already, what, how much alike, and which of the two was first?

    \b
    Start here:
      gate demo                            see it work on a small corpus
      gate check notes/                    compare the files of a folder
      gate compare a.txt b.txt             two texts side by side
      gate run events.jsonl -o verdicts.jsonl
                                           the gate itself: events in, verdicts out
      gate completion bash                 complete commands, profiles and settings in the shell

    \b
    Exit codes:
      0  success
      1  some documents could not be judged (or, with check --fail-on-similar, some are similar)
      2  a wrong option, setting, profile or index; nothing was changed
      3  the index is unavailable, or an output cannot be written; try again
      130, 141  interrupted, or the reader of the output has closed it; start again at any time
    """


__all__ = ["main"]
