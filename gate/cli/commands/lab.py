"""`gate lab`: the names of the experiments. Their options are those of their code, which is loaded with the command."""

from __future__ import annotations

import click

from gate.cli.groups import HELP_WIDTH, LazyGroup

_HOME = "gate.cli.lab:experiment_command"

COMMANDS = {
    "quality": (_HOME, "Recall, precision and cost of profiles, beside other libraries"),
    "roth-2011": (_HOME, "Roth 2011, Tables 1 and 6 to 24, Figure 3"),
    "roth-2013": (_HOME, "Roth 2013, Table 20"),
    "bergillos": (_HOME, "Bergillos et al. 2018, Figures 2, 3 and 4"),
    "azgomi": (_HOME, "Azgomi et al. 2014, Table 1"),
    "cherkasova": (_HOME, "Cherkasova et al. 2009, Figures 1 to 11, Table 2"),
    "containment": (_HOME, "Parts of larger documents, found by the fingerprints that they share"),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    context_settings={"max_content_width": HELP_WIDTH},
)
@click.option("--list", "is_list", is_flag=True, help="List the experiments, and what each repeats.")
@click.option("--json", "as_json", is_flag=True, help="List in JSON, for programs.")
@click.pass_context
def lab(context: click.Context, *, is_list: bool, as_json: bool) -> None:
    """Experiments on methods and parameters, over a corpus of your own.

    \b
      gate lab --list
      gate lab quality --corpus notes/ --out report/
      gate lab roth-2013 --corpus events.jsonl --out report/ --seed 7

    A corpus is a folder of plain texts, a file of JSON Lines (check-in events, or objects with id and text), or a
    folder with docs.jsonl and label files. Labels are optional: without them, truth is planted by edits of the
    documents themselves. Each experiment writes its tables (CSV, Markdown), plots (PNG) and one page (report.html).
    """
    if is_list:
        from gate.cli.lab import list_experiments

        list_experiments(as_json=as_json)
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())
