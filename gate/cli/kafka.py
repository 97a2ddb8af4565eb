"""Commands about Kafka: its topics, how far the gate is behind, and dead letters."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from rich.progress import Progress
from rich.text import Text

from gate.cli import tables
from gate.cli.common import SOME_FAILED, Options, emit, printable, set_resume_hint
from gate.cli.progress import hidden, progress
from gate.cli.session import load
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.numbers import counted, number
from gate.stream.settings import KafkaSettings

if TYPE_CHECKING:
    from gate.stream.dead_letters import DeadLetterRecord

# The library is imported by the functions that need it: commands on files import this module too.

_POSITION = re.compile(r"\d+:\d+")


def require_kafka(settings: Settings) -> KafkaSettings:
    if settings.kafka is None:
        raise ConfigError("kafka_brokers: this command needs them; name them with --kafka HOST:PORT, or in gate.toml")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the error that the command ends with says it all
    return settings.kafka


def create_topics(
    *,
    partitions: int,
    replication: int | None,
    retention_days: str,
    compact: bool,
    check: bool,
    kafka: str | None,
    options: Options,
) -> None:
    """Create the missing topics, and show how existing ones differ."""
    days = _days(retention_days)
    settings = require_kafka(load(options, kafka_brokers=kafka))
    rows = asyncio.run(
        _create(settings, partitions=partitions, replication=replication, days=days, compact=compact, check=check)
    )
    if options.json:
        for name, what, state, differing in rows:
            differences = {key: {"is": is_, "wanted": wanted} for key, (is_, wanted) in differing.items()}
            emit({"topic": name, "what": what, "state": state, "differences": differences})
    else:
        out = tables.console()
        table = tables.table(out, "topic", "what", "state", "differs in")
        for name, what, state, differing in rows:
            differences_ = ", ".join(
                f"{key}: {is_ or 'not set'}, not {wanted}" for key, (is_, wanted) in differing.items()
            )
            table.add_row(tables.cell(name), what, state, tables.cell(differences_ or None))
        out.print(table)
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
                differing = differences(topic, known[topic.name], settings[topic.name])
                rows.append((topic.name, topic.purpose, "differs" if differing else "exists", differing))
            elif check:
                rows.append((topic.name, topic.purpose, "missing", {}))
            else:
                new = NewTopic(
                    topic.name, topic.partitions, topic.replication_factor, topic_configs=dict(topic.configs)
                )
                made = await admin.create_topic(new)
                rows.append((topic.name, topic.purpose, "created" if made else "exists", {}))
        return rows


def lag(*, maximum: int | None, kafka: str | None, options: Options) -> None:
    """Show the records that wait in each partition."""
    settings = require_kafka(load(options, kafka_brokers=kafka))
    rows = asyncio.run(_lag(settings))
    total = sum(waiting for *_, waiting in rows)
    if options.json:
        partitions = [
            {"topic": topic, "partition": partition, "committed": committed, "end": end, "lag": waiting}
            for topic, partition, committed, end, waiting in rows
        ]
        emit({"group": settings.group, "partitions": partitions, "lag": total})
    else:
        out = tables.console()
        numeric = ("partition", "committed", "end", "lag")
        table = tables.table(out, "topic", *numeric, right=numeric)
        for topic, partition, committed, end, waiting in rows:
            reached = None if committed is None else number(committed)
            table.add_row(tables.cell(topic), str(partition), tables.cell(reached), number(end), number(waiting))
        out.print(table)
        out.print(Text(f"Group {printable(settings.group)}: {number(total)} waiting."))
    if maximum is not None and total > maximum:
        sys.exit(SOME_FAILED)


async def _lag(kafka: KafkaSettings) -> list[tuple[str, int, int | None, int, int]]:
    from gate.stream.admin import open_admin
    from gate.stream.topic_reader import fetch_offset_ranges, open_consumer

    async with open_admin(kafka) as admin, open_consumer(kafka) as consumer:
        ranges = await fetch_offset_ranges(kafka, admin, consumer, kafka.topics.check_ins)
        committed = await admin.committed_offsets(kafka.group, ranges)
        return [
            (
                partition.topic,
                partition.partition,
                offset := committed.get(partition),
                offsets.end,
                max(0, offsets.end - max(offset or 0, offsets.start)),
            )
            for partition, offsets in ranges.items()
        ]


def list_dead_letters(*, reasons: tuple[str, ...], last: int | None, kafka: str | None, options: Options) -> None:
    """List dead letters as they are read; the last ones when all are read."""
    settings = require_kafka(load(options, kafka_brokers=kafka))
    table = tables.StreamedTable(
        tables.console(),
        "letter",
        "reason",
        "from",
        "document",
        "bytes",
        "when",
        "replayed",
        "message",
        right=("bytes",),
    )
    bar = progress(quiet=options.json, unit="records")

    def print_rows(rows: list[dict[str, Any]]) -> None:
        if options.json:
            for row in rows:
                emit(row)
        else:
            with hidden(bar):
                table.add(map(_letter_cells, rows))

    with bar:
        counts = asyncio.run(_read_letters(settings, reasons, last, print_rows, bar))
    if not options.json:
        parts = ", ".join(f"{number(count)} {printable(reason)}" for reason, count in counts.most_common())
        letters = counted(counts.total(), "dead letter")
        tables.console().print(Text(f"{letters}{': ' if parts else ''}{parts}."))


def _letter_cells(row: dict[str, Any]) -> list[Text]:
    time = row["dead_lettered_at"].isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    size = None if row["size_bytes"] is None else number(row["size_bytes"])
    # The message begins with the place that is in a column of its own.
    message = None if row["message"] is None else row["message"].removeprefix(f"{row['origin']}: ")
    cells = (row["letter"], row["reason"], row["origin"], row["document_id"], size, time)
    return [*map(tables.cell, cells), tables.cell("yes" if row["replayed"] else "no"), tables.cell(message)]


async def _read_letters(
    kafka: KafkaSettings,
    reasons: tuple[str, ...],
    last: int | None,
    print_rows: Callable[[list[dict[str, Any]]], None],
    bar: Progress,
) -> Counter[str]:
    from gate.stream.admin import open_admin
    from gate.stream.dead_letter_replay import ReplayProgress
    from gate.stream.dead_letters import decode_dead_letter, is_selected
    from gate.stream.topic_reader import open_topic_reader

    last_rows: deque[dict[str, Any]] = deque(maxlen=last)
    counts: Counter[str] = Counter()
    async with AsyncExitStack() as resources:
        reader = await resources.enter_async_context(open_topic_reader(kafka, [kafka.topics.dead_letters]))
        admin = await resources.enter_async_context(open_admin(kafka))
        replays = ReplayProgress(kafka, admin, resources, list(reader.ranges), is_tracked=True)
        task = bar.add_task("reading", total=sum(map(len, reader.ranges.values())), documents=0)
        async for records in reader.batches():
            selected = [
                dead for dead in map(decode_dead_letter, records) if is_selected(dead, reasons=reasons, positions=())
            ]
            counts.update(dead.reason for dead in selected)
            rows = [_letter_row(dead, await replays.is_replayed(dead)) for dead in selected]
            if last is None:
                print_rows(rows)
            else:
                last_rows.extend(rows)
            bar.update(task, completed=reader.offsets_read, documents=reader.offsets_read)
    print_rows(list(last_rows))
    return counts


def _letter_row(dead: DeadLetterRecord, is_replayed: bool) -> dict[str, Any]:
    letter = dead.letter
    return {
        "letter": dead.position,
        "reason": dead.reason,
        "origin": str(letter.origin) if letter and letter.origin else None,
        "document_id": letter.document_id if letter else None,
        "size_bytes": letter.size_bytes if letter else None,
        "sha256": letter.sha256 if letter else None,
        "message": letter.message if letter else None,
        "dead_lettered_at": datetime.fromtimestamp(dead.record.timestamp / 1000, UTC),
        "replayed": is_replayed,
    }


def replay_dead_letters(
    *,
    reasons: tuple[str, ...],
    positions: tuple[str, ...],
    again: bool,
    dry_run: bool,
    kafka: str | None,
    options: Options,
) -> None:
    """Send the originals of dead letters again, and count the outcomes."""
    if wrong := [position for position in positions if not _POSITION.fullmatch(position)]:
        raise click.BadParameter(f"write PARTITION:OFFSET, as in 0:17; not {wrong[0]!r}", param_hint="--at")
    if positions and reasons:
        raise click.UsageError("give --reason or --at, not both")
    settings = require_kafka(load(options, kafka_brokers=kafka))
    from gate.stream import dead_letter_replay

    if not (dry_run or again or positions):
        set_resume_hint("what was sent is recorded at the broker; continue with")
    bar = progress(quiet=options.json, unit="letters")
    counts: Counter[str] = Counter()

    def report(dead: DeadLetterRecord, outcome: str) -> None:
        counts[outcome] += 1
        bar.update(task, documents=counts.total())
        if options.json:
            origin = dead.letter.origin if dead.letter else None
            row = {"letter": dead.position, "reason": dead.reason, "origin": origin, "outcome": outcome}
            emit({**row, "dry_run": dry_run})

    with bar:
        task = bar.add_task("sending", total=None, documents=0)
        asyncio.run(
            dead_letter_replay.replay_dead_letters(
                settings, reasons=reasons, positions=positions, again=again, dry_run=dry_run, report=report
            )
        )
    if not options.json:
        would = "would be " if dry_run else ""
        parts = ", ".join(
            f"{number(count)} {would if outcome == dead_letter_replay.SENT else ''}{outcome}"
            for outcome, count in sorted(counts.items())
        )
        click.echo(parts or "there are no such dead letters")
    if counts.keys() - {dead_letter_replay.SENT, dead_letter_replay.SENT_BEFORE}:
        sys.exit(SOME_FAILED)
