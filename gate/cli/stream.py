"""Commands about the stream: its topics, how far behind the gate is, and what it could not judge."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
from rich.text import Text

from gate.cli import show
from gate.cli.common import SOME_FAILED, Options, common, emit, load
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.stream.settings import KafkaSettings

# The library is imported where it is needed: it takes a fifth of the time in which a command starts, and few need it.

F = TypeVar("F", bound=Callable[..., Any])

NAME = r"\d+:\d+"


def brokers(command: F) -> F:
    """The option that names the brokers."""
    option = click.option(
        "--kafka", metavar="HOST:PORT,...", help="The brokers. Default: kafka_brokers of the settings."
    )
    return option(command)


def need_kafka(settings: Settings) -> KafkaSettings:
    if settings.kafka is None:
        raise ConfigError("kafka_brokers: this command needs them; name them with --kafka HOST:PORT, or in gate.toml")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # whatever it has to say is told by the error
    return settings.kafka


def when(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@click.group(short_help="Make the topics of the gate.")
def topics() -> None:
    """Make the topics of the gate.

    \b
      gate topics create --kafka localhost:9092
    """


@topics.command(short_help="Make the topics, and tell where they differ.")
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
    help="Copies of each partition. Default: three, or as many as there are brokers.",
)
@click.option(
    "--retention-days",
    metavar="DAYS|forever",
    default="7",
    show_default=True,
    help="How long records are kept; dead letters 30 days at least.",
)
@click.option("--compact", is_flag=True, help="Keep the last check-in of each document for ever, and nothing else.")
@click.option("--check", is_flag=True, help="Make nothing; exit with 1 if a topic is missing or differs.")
@brokers
@common(index=False)
def create(
    *,
    partitions: int,
    replication: int | None,
    retention_days: str,
    compact: bool,
    check: bool,
    kafka: str | None,
    options: Options,
) -> None:
    """Make the topics that the settings name, set as the gate needs them.

    \b
      gate topics create --kafka localhost:9092
      gate topics create --partitions 12 --retention-days forever
      gate topics create --set kafka_quarantine_topic=docs.held --check

    It may be repeated: a topic that is there is left as it is, and told where it differs. A document of 5 million
    characters fits into every topic that holds documents. With --compact, or kept for ever, the check-ins are all that
    `gate index rebuild --from-topic` needs to fill a new index.
    """
    days = _days(retention_days)
    settings = need_kafka(load(options, kafka_brokers=kafka))
    rows = asyncio.run(
        _create(settings, partitions=partitions, replication=replication, days=days, compact=compact, check=check)
    )
    if options.json:
        for name, what, state, differing in rows:
            told = {key: {"is": is_, "wanted": wanted} for key, (is_, wanted) in differing.items()}
            emit({"topic": name, "what": what, "state": state, "differences": told})
    else:
        out = show.console()
        shown = show.table(out, "topic", "what", "state", "differs in")
        for name, what, state, differing in rows:
            told_ = ", ".join(f"{key}: {is_ or 'not set'}, not {wanted}" for key, (is_, wanted) in differing.items())
            shown.add_row(show.cell(name), what, state, show.cell(told_ or None))
        out.print(shown)
    if check and any(state != "exists" for _, _, state, _ in rows):
        sys.exit(SOME_FAILED)


def _days(text: str) -> float | None:
    if text == "forever":
        return None
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days < 36_500:
        raise click.BadParameter("give a number of days above 0, or forever", param_hint="--retention-days")
    return days


Row = tuple[str, str, str, dict[str, tuple[str, str]]]


async def _create(
    kafka: KafkaSettings, *, partitions: int, replication: int | None, days: float | None, compact: bool, check: bool
) -> list[Row]:
    from aiokafka.admin import NewTopic

    from gate.stream.admin import open_admin
    from gate.stream.topics import DEFAULT_REPLICATION, differences, topic_specs

    async with open_admin(kafka) as admin:
        replication = replication or min(DEFAULT_REPLICATION, await admin.count_brokers())
        topics = list(
            topic_specs(
                kafka,
                partitions=partitions,
                replication_factor=replication,
                retention_days=days,
                compact=compact,
            )
        )
        known = await admin.describe_topics([topic.name for topic in topics])
        settings = await admin.describe_configs(list(known)) if known else {}
        rows: list[Row] = []
        for topic in topics:
            if topic.name in known:
                found = differences(topic, known[topic.name], settings[topic.name])
                rows.append((topic.name, topic.purpose, "differs" if found else "exists", found))
            elif check:
                rows.append((topic.name, topic.purpose, "missing", {}))
            else:
                new = NewTopic(
                    topic.name, topic.partitions, topic.replication_factor, topic_configs=dict(topic.configs)
                )
                made = await admin.create_topic(new)
                rows.append((topic.name, topic.purpose, "created" if made else "exists", {}))
        return rows


@click.command(short_help="Tell how far the gate is behind.")
@click.option(
    "--max", "most", metavar="N", type=click.IntRange(0), help="Exit with 1 if more records than this are waiting."
)
@brokers
@common(index=False)
def lag(*, most: int | None, kafka: str | None, options: Options) -> None:
    """Tell how far the gate is behind, partition by partition.

    \b
      gate lag --kafka localhost:9092
      gate lag --max 10000 --json            for a script

    A partition that the group has not begun waits from its first record on.
    """
    settings = need_kafka(load(options, kafka_brokers=kafka))
    rows = asyncio.run(_lag(settings))
    total = sum(waiting for *_, waiting in rows)
    if options.json:
        told = [
            {"topic": topic, "partition": number, "committed": committed, "end": end, "lag": waiting}
            for topic, number, committed, end, waiting in rows
        ]
        emit({"group": settings.group, "partitions": told, "lag": total})
    else:
        out = show.console()
        numbers = ("partition", "committed", "end", "lag")
        shown = show.table(out, "topic", *numbers, right=numbers)
        for topic, number, committed, end, waiting in rows:
            reached = None if committed is None else f"{committed:,}"
            shown.add_row(show.cell(topic), str(number), show.cell(reached), f"{end:,}", f"{waiting:,}")
        out.print(shown)
        out.print(Text(f"Group {show.printable(settings.group)}: {total:,} waiting."))
    if most is not None and total > most:
        sys.exit(SOME_FAILED)


async def _lag(kafka: KafkaSettings) -> list[tuple[str, int, int | None, int, int]]:
    from gate.stream.admin import open_admin
    from gate.stream.topic_reader import fetch_offset_ranges, open_consumer

    async with open_admin(kafka) as admin, open_consumer(kafka) as consumer:
        ranges = await fetch_offset_ranges(kafka, admin, consumer, kafka.topics.check_ins)
        committed = await admin.committed_offsets(kafka.group, ranges)
        return [
            (
                one.topic,
                one.partition,
                at := committed.get(one),
                offsets.end,
                max(0, offsets.end - max(at or 0, offsets.start)),
            )
            for one, offsets in ranges.items()
        ]


@click.group(short_help="See what could not be judged, and send it again.")
def deadletters() -> None:
    """See what could not be judged, and send it again.

    \b
      gate deadletters list --kafka localhost:9092
      gate deadletters replay --reason too_large
    """


def _reasons(command: F) -> F:
    option = click.option(
        "--reason", "reasons", metavar="CODE", multiple=True, help="Only those of this reason. May be repeated."
    )
    return option(command)


@deadletters.command("list", short_help="Tell what is among the dead letters, and why.")
@_reasons
@click.option("--last", metavar="N", type=click.IntRange(1), help="Only the last N.")
@brokers
@common(index=False)
def list_letters(*, reasons: tuple[str, ...], last: int | None, kafka: str | None, options: Options) -> None:
    """Tell what is among the dead letters: why, from where, how large, and when. No text is shown.

    \b
      gate deadletters list --kafka localhost:9092
      gate deadletters list --reason bad_utf8 --last 20
      gate deadletters list --json | jq .origin

    A letter is picked by its partition and offset among the dead letters, as in: gate deadletters replay --at 0:17
    """
    settings = need_kafka(load(options, kafka_brokers=kafka))
    rows, counts = asyncio.run(_letters(settings, reasons, last))
    if options.json:
        for row in rows:
            emit(row)
        return
    out = show.console()
    shown = show.table(out, "letter", "reason", "from", "document", "bytes", "when", right=("bytes",))
    for row in rows:
        moment = row["dead_lettered_at"].isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        size = None if row["size_bytes"] is None else f"{row['size_bytes']:,}"
        cells = (row["letter"], row["reason"], row["origin"], row["document_id"], size, moment)
        shown.add_row(*map(show.cell, cells))
    out.print(shown)
    said = ", ".join(f"{count:,} {show.printable(reason)}" for reason, count in counts.most_common())
    out.print(Text(f"{counts.total():,} dead letter{'' if counts.total() == 1 else 's'}{': ' if said else ''}{said}."))


async def _letters(
    kafka: KafkaSettings, reasons: tuple[str, ...], last: int | None
) -> tuple[list[dict[str, Any]], Counter[str]]:
    from collections import deque

    from gate.stream.dead_letters import decode_dead_letter, is_selected
    from gate.stream.topic_reader import open_topic_reader

    rows: deque[dict[str, Any]] = deque(maxlen=last)
    counts: Counter[str] = Counter()
    async with open_topic_reader(kafka, [kafka.topics.dead_letters]) as topic:
        async for records in topic.batches():
            for letter in map(decode_dead_letter, records):
                if not is_selected(letter, reasons=reasons, positions=()):
                    continue
                counts[letter.reason] += 1
                told = letter.letter
                rows.append(
                    {
                        "letter": letter.position,
                        "reason": letter.reason,
                        "origin": str(told.origin) if told and told.origin else None,
                        "document_id": told.document_id if told else None,
                        "size_bytes": told.size_bytes if told else None,
                        "sha256": told.sha256 if told else None,
                        "message": told.message if told else None,
                        "dead_lettered_at": when(letter.record.timestamp),
                    }
                )
    return list(rows), counts


@deadletters.command(short_help="Send the originals of dead letters again.")
@_reasons
@click.option(
    "--at",
    "names",
    metavar="PARTITION:OFFSET",
    multiple=True,
    help="This letter, whether it was sent before or not. May be repeated.",
)
@click.option("--again", is_flag=True, help="Also those that were sent before.")
@click.option("--dry-run", is_flag=True, help="Send nothing; tell what would be sent.")
@brokers
@common(index=False)
def replay(
    *,
    reasons: tuple[str, ...],
    names: tuple[str, ...],
    again: bool,
    dry_run: bool,
    kafka: str | None,
    options: Options,
) -> None:
    """Send the originals of dead letters back to their topic, with their keys and headers.

    \b
      gate deadletters replay --kafka localhost:9092 --dry-run
      gate deadletters replay --reason too_large     after limits.max_document_chars was raised
      gate deadletters replay --at 0:17 --at 0:23

    Each is sent once, however often the command is repeated; how far it has come is kept at the broker, for each reason
    by itself. A letter without its original is sent from the topic that it came from, while that still has it. What
    cannot be judged this time either becomes a new letter. The exit code is 1 if an original could not be sent.
    """
    import re

    if wrong := [name for name in names if not re.fullmatch(NAME, name)]:
        raise click.BadParameter(f"write PARTITION:OFFSET, as in 0:17; not {wrong[0]!r}", param_hint="--at")
    if names and reasons:
        raise click.UsageError("give --reason or --at, not both")
    settings = need_kafka(load(options, kafka_brokers=kafka))
    from gate.stream import dead_letter_replay

    def tell(letter: Any, outcome: str) -> None:
        if options.json:
            origin = letter.letter.origin if letter.letter else None
            told = {"letter": letter.position, "reason": letter.reason, "origin": origin, "outcome": outcome}
            emit({**told, "dry_run": dry_run})

    counts = asyncio.run(
        dead_letter_replay.replay_dead_letters(
            settings, reasons=reasons, positions=names, again=again, dry_run=dry_run, report=tell
        )
    )
    if not options.json:
        would = "would be " if dry_run else ""
        said = ", ".join(
            f"{count:,} {would if what == dead_letter_replay.SENT else ''}{what}"
            for what, count in sorted(counts.items())
        )
        click.echo(said or "there are no such dead letters")
    if counts.keys() - {dead_letter_replay.SENT, dead_letter_replay.SENT_BEFORE}:
        sys.exit(SOME_FAILED)
