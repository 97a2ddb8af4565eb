"""Commands about settings: which are in force, the profiles and what they cost, and completion in the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gate.cli.common import common

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs.")
def profiles(*, as_json: bool) -> None:
    """List the profiles: how documents can be signed and compared.

    \b
      gate profiles
      gate profiles --json
      gate plan --profile simhash        what one costs and finds

    Choose one by --profile. A profile of your own is a .toml file that names what differs from its base.
    """
    from gate.cli.profiles import profiles

    profiles(as_json=as_json)


@click.command()
@click.option(
    "--documents",
    metavar="N",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(0, 10**12),
    help="The number of documents to plan for.",
)
@click.option("--method", metavar="NAME", help="Try another method, such as simhash, minhash or hybrid.")
@click.option("--radius", metavar="BITS", type=int, help="Try: fingerprints within so many bits are always found.")
@click.option("--bins", metavar="N", type=int, help="Try: the length of the MinHash sketch.")
@click.option("--bands", metavar="N", type=int, help="Try: how many bands of it are looked up; more find more.")
@click.option(
    "--rows", metavar="N", type=int, help="Try: bins in a band; more give fewer false candidates, and find less."
)
@click.option("--gram", metavar="N", type=int, help="Try: words (or characters) in a shingle.")
@click.option("--at", metavar="SHARE", type=float, help="Choose bands and rows that find pairs of this resemblance.")
@click.option("--recall", metavar="SHARE", type=float, help="How many of them to find, with --at. Default: .95.")
@click.option(
    "--corpus",
    metavar="DIR|JSONL",
    type=click.Path(path_type=Path),
    help="Measure on a sample of these documents how far apart the fingerprints of unrelated ones are.",
)
@common(index=False)
def plan(**arguments: Any) -> None:
    """Show what a profile costs and finds at a size, before the first document is checked in.

    \b
      gate plan
      gate plan --documents 50000000 --profile simhash
      gate plan --bands 24 --rows 5                    what if?
      gate plan --profile simhash --corpus notes/      false candidates among texts of this kind
      gate plan --at .8 --recall .99                   which bands find 99 % of pairs of resemblance .8?

    The figures follow from the parameters alone; how your own texts behave, only a measurement shows (`gate tune`).
    "Changed" is the share of words that may be replaced, here and there, until two texts are only as alike as the line
    says.
    """
    from gate.cli.settings import plan

    plan(**arguments)


@click.command()
@click.option("--describe", is_flag=True, help="Describe every setting: its type, default, variable and flag.")
@common()
def config(**arguments: Any) -> None:
    """Show the settings in force, and where each came from. Secrets are hidden.

    \b
      gate config
      gate config --config gate.toml --profile simhash --json
      gate config --describe
      GATE_LIMITS_MAX_MATCHES=3 gate config

    Settings come from gate.toml (or the file that --config or GATE_CONFIG names), from the environment and from flags;
    the later wins. A setting `limits.max_matches` is max_matches under [limits] in the file, GATE_LIMITS_MAX_MATCHES
    in the environment and --set limits.max_matches=3 as a flag. All mistakes are reported at once (exit code 2).
    """
    from gate.cli.settings import config

    config(**arguments)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(*, shell: str) -> None:
    """Print the script that completes commands, options, profiles and settings in your shell.

    \b
      bash:  gate completion bash > ~/.local/share/bash-completion/completions/gate
      zsh:   gate completion zsh > "${fpath[1]}/_gate"
      fish:  gate completion fish > ~/.config/fish/completions/gate.fish

    \b
    For the running shell alone:
      eval "$(gate completion bash)"
    """
    from click.shell_completion import get_completion_class

    main = click.get_current_context().find_root().command
    script = get_completion_class(shell)
    if script is None:
        raise click.BadParameter(f"{shell} is not supported; choose one of {', '.join(SHELLS)}")
    click.echo(script(main, {}, "gate", "_GATE_COMPLETE").source())
