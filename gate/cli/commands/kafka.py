"""Commands about Kafka: the topics, the lag of the consumer group, and dead letters."""

from __future__ import annotations

from typing import Any

import click

from gate.cli.common import F, brokers, common


@click.group()
def topics() -> None:
    """Create the topics of the gate.

    \b
      gate topics create --kafka localhost:9092
    """


@topics.command(short_help="Create the topics, and show where existing ones differ.")
@click.option(
    "--partitions",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=6,
    show_default=True,
    help="Of each topic but that of dead letters, which has one. No more workers than this share the work.",
)
@click.option(
    "--replication",
    metavar="N",
    type=click.IntRange(1, 100),
    help="Replicas of each partition. Default: three, or as many as there are brokers.",
)
@click.option(
    "--retention-days",
    metavar="DAYS|forever",
    default="7",
    show_default=True,
    help="How long records are kept; dead letters 30 days at least.",
)
@click.option("--compact", is_flag=True, help="Keep the last check-in of each document for ever, and nothing else.")
@click.option("--check", is_flag=True, help="Create nothing; exit with 1 if a topic is missing or differs.")
@brokers
@common(index=False)
def create(**arguments: Any) -> None:
    """Create the topics that the settings name, configured as the gate needs them.

    \b
      gate topics create --kafka localhost:9092
      gate topics create --partitions 12 --retention-days forever
      gate topics create --set kafka_quarantine_topic=docs.held --check

    It may be repeated: an existing topic is left as it is, and its differences are shown. A document of 5 million
    characters fits into every topic that holds documents. With --compact, or kept for ever, the check-ins are all that
    `gate index rebuild --from-topic` needs to fill a new index.
    """
    from gate.cli.kafka import create_topics

    create_topics(**arguments)


@click.command()
@click.option(
    "--max", "maximum", metavar="N", type=click.IntRange(0), help="Exit with 1 if more records than this are waiting."
)
@brokers
@common(index=False)
def lag(**arguments: Any) -> None:
    """Show how far the gate is behind, partition by partition.

    \b
      gate lag --kafka localhost:9092
      gate lag --max 10000 --json            for a script

    A partition without a committed offset waits from its first record on.
    """
    from gate.cli.kafka import lag

    lag(**arguments)


@click.group()
def deadletters() -> None:
    """List the messages that could not be judged, and send them again.

    \b
      gate deadletters list --kafka localhost:9092
      gate deadletters replay --reason too_large
    """


def _reasons(command: F) -> F:
    option = click.option(
        "--reason", "reasons", metavar="CODE", multiple=True, help="Only those of this reason. May be repeated."
    )
    return option(command)


@deadletters.command("list", short_help="List the dead letters and their reasons.")
@_reasons
@click.option("--last", metavar="N", type=click.IntRange(1), help="Only the last N.")
@brokers
@common(index=False)
def list_(**arguments: Any) -> None:
    """List the dead letters: why, from where, how large, when, and whether they were replayed. No text is shown.

    \b
      gate deadletters list --kafka localhost:9092
      gate deadletters list --reason bad_utf8 --last 20
      gate deadletters list --json | jq .origin

    A letter is selected by its partition and offset among the dead letters: gate deadletters replay --at 0:17

    A letter counts as replayed once a replay has dealt with it: sent its original, or reported why it could not. A
    replay of single letters (--at), or with --again, leaves no mark.
    """
    from gate.cli.kafka import list_dead_letters

    list_dead_letters(**arguments)


@deadletters.command(short_help="Send the originals of dead letters again.")
@_reasons
@click.option(
    "--at",
    "positions",
    metavar="PARTITION:OFFSET",
    multiple=True,
    help="This letter, whether it was sent before or not. May be repeated.",
)
@click.option("--again", is_flag=True, help="Also those that were sent before.")
@click.option("--dry-run", is_flag=True, help="Send nothing; show what would be sent.")
@brokers
@common(index=False)
def replay(**arguments: Any) -> None:
    """Send the originals of dead letters back to their topic, with their keys and headers.

    \b
      gate deadletters replay --kafka localhost:9092 --dry-run
      gate deadletters replay --reason too_large     after limits.max_document_chars was raised
      gate deadletters replay --at 0:17 --at 0:23

    Each is sent once, however often the command is repeated: its progress is kept at the broker, for each reason by
    itself. A letter without its original is sent from the topic that it came from, while that still has it. A message
    that cannot be judged this time either becomes a new letter. The exit code is 1 if an original could not be sent.
    """
    from gate.cli.kafka import replay_dead_letters

    replay_dead_letters(**arguments)
