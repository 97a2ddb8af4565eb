"""`gate replay`: an archive through the gate, by its topic or straight into an index."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.text import Text

from gate.archive.journal import Journal, ReplayJob, default_journal_path
from gate.archive.readers import STDIN, ArchiveFile, archive_files
from gate.archive.replay import Replay
from gate.archive.replay_stats import ReplayStats, Throughput
from gate.cli import show
from gate.cli.common import SOME_FAILED, Options, common, complain, emit, load, open_gate, shown_index
from gate.cli.stream import brokers, need_kafka
from gate.cli.targets import Embedded, Ending, Nowhere, to_kafka
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.index.redis.url import is_redis_url
from gate.model import Relation
from gate.wire import RejectedMessage

TOLD_SINGLY = 20  # files and lines that cannot be read; more are told by their number alone
PROGRESS_SECONDS = 10.0  # between two lines where nobody sees a bar


@click.command(short_help="Send an archive through the gate.")
@click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, readable=False, allow_dash=True),
)
@brokers
@click.option("--rate", metavar="N", type=click.FloatRange(0, min_open=True), help="At most N documents a second.")
@click.option("--dry-run", is_flag=True, help="Read everything, count it, and send nothing.")
@click.option("--resume", is_flag=True, help="Go on with a replay that was cut off.")
@click.option(
    "--journal",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where it is noted what is done. Default: a file of its own for these sources, in the user's state folder.",
)
@click.option("--source", metavar="NAME", help="The source of documents that name none, for the metrics.")
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="How long to wait for the next verdict when all is sent; 0: not at all.",
)
@click.option("--quiet", is_flag=True, help="No progress, and no summary at the end.")
@common()
def replay(
    sources: tuple[Path, ...],
    *,
    kafka: str | None,
    rate: float | None,
    dry_run: bool,
    resume: bool,
    journal: Path | None,
    source: str | None,
    wait: float,
    quiet: bool,
    options: Options,
) -> None:
    """Send an archive through the gate: folders and files of text, JSON Lines, packed or not, standard input.

    \b
      gate replay archive/ --kafka localhost:9092
      gate replay 2019.jsonl.gz 2020.jsonl.zst --index notes.sqlite
      gate replay archive/ --kafka localhost:9092 --rate 500 --resume
      zcat *.gz | gate replay - --kafka localhost:9092
      gate replay archive/ --dry-run

    A file of text (UTF-8, or UTF-16 by its mark) is a document. Its id is its path relative to the folder, or as it is
    given where several sources are named. In .jsonl and .ndjson files each line is an event, as `gate run` takes them.
    Files may be packed by gzip, bzip2, xz or zstd. Files come in the order of their names, folder by folder. A document
    is dated by its own `checked_in_at`, or by its file.

    It may be stopped at any time, however rudely: with --resume and the same sources it goes on behind what is known to
    be safe. A little may be sent twice then, which gets the same verdict twice. What cannot be read is told, and the
    rest goes on; the exit code is 1.

    With --kafka the documents go to the first topic of check-ins, and the verdicts on them are counted as they come.
    With --index they are judged here.
    """
    settings = load(options, kafka_brokers=kafka)
    to_topic = kafka is not None or (settings.kafka is not None and "index" not in options.flags)
    if kafka is not None and "index" in options.flags:
        raise click.UsageError("give --kafka or --index, not both")
    if not (quiet or options.json) and sys.stdin.isatty() and any(str(one) == STDIN for one in sources):
        click.echo("reading events from standard input; Ctrl-D ends them", err=True)
    tally = ReplayStats()
    with ExitStack() as held:
        if dry_run:
            target: Ending = Nowhere()
        elif to_topic:
            target = held.enter_context(to_kafka(need_kafka(settings), tally, watch=wait > 0))
        else:
            target = Embedded(held.enter_context(open_gate(settings, index=settings.index)), tally)
        notes = None
        if not dry_run and (to_topic or settings.index != MEMORY):
            notes = held.enter_context(_journal(journal, sources, settings, to_topic=to_topic, resume=resume))
        found = [item for item in archive_files(sources) if not _is_own(item, settings, notes)]
        size = sum(item.size_bytes for item in found) if all(item.path for item in found) else None
        bar = Progress(tally, size, shown=not (quiet or options.json))
        held.enter_context(bar.opened())
        run = Replay(
            target,
            stats=tally,
            limits=settings.limits,
            journal=notes,
            clock=time.monotonic,
            rate=rate,
            source=source,
            on_rejected=Teller(json=options.json),
            on_progress=bar.update,
        )
        try:
            run.run(found)
            target.answers(wait, lambda: bar.update(size or 0))
        except KeyboardInterrupt:
            run.finish()
            if notes is not None and not quiet:
                click.echo("\nwhat was sent is noted; go on with --resume", err=True)
            raise
    unanswered = target.unanswered() if wait else 0  # nobody looked
    if not quiet:
        summarise(tally, unanswered, json=options.json, dry_run=dry_run)
    if tally.unreadable or tally.dead_lettered:
        sys.exit(SOME_FAILED)


def _journal(
    path: Path | None, sources: Sequence[Path], settings: Settings, *, to_topic: bool, resume: bool
) -> Journal:
    named = tuple(STDIN if str(one) == STDIN else str(one.resolve()) for one in sources)
    target = f"{settings.profile.ref} {shown_index(settings)}"
    if to_topic:
        kafka = need_kafka(settings)
        target = f"{kafka.brokers} {kafka.topics.check_ins[0]}"
    elif not is_redis_url(settings.index):
        target = f"{settings.profile.ref} {Path(settings.index).resolve()}"
    task = ReplayJob(sources=named, target=target)
    return Journal(path or default_journal_path(task, dict(os.environ)), task, resume=resume)


def _is_own(item: ArchiveFile, settings: Settings, journal: Journal | None) -> bool:
    """Whether a file is written by this very replay: its index beside the documents, or its journal."""
    own = [] if settings.index == MEMORY or is_redis_url(settings.index) else [settings.index]
    names = {Path(f"{path}{end}").absolute() for path in own for end in ("", "-wal", "-shm", "-journal")}
    if journal is not None:
        names.add(journal.path.absolute())
    return item.path is not None and item.path.absolute() in names


# Telling


class Teller:
    """What cannot be read: the first few one by one, for people; each for programs."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._told = 0

    def __call__(self, rejected: RejectedMessage) -> None:
        self._told += 1
        if self._json:
            told = {"origin": str(rejected.origin), "reason": rejected.error.code, "message": str(rejected.error)}
            click.echo(msgspec.json.encode(told), err=True)
        elif self._told <= TOLD_SINGLY:
            complain(str(rejected.error), kind="skipped")
        elif self._told == TOLD_SINGLY + 1:
            complain("and more; the summary counts them", kind="skipped")


class Progress:
    """A bar on a terminal, a line now and then elsewhere: how much, how fast, how long still, and the verdicts."""

    def __init__(
        self, tally: ReplayStats, size: int | None, *, shown: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tally = tally
        self._clock = clock
        self._pace = Throughput(clock(), size)
        self._shown = shown
        self._bar = show.progress(quiet=not shown)
        self._task: Any = None
        self._last = clock()

    @contextmanager
    def opened(self) -> Iterator[None]:
        with self._bar:
            self._task = self._bar.add_task("reading", total=self._pace.total_bytes, documents=0)
            yield

    def update(self, read_bytes: int) -> None:
        tally, now = self._tally, self._clock()
        if not self._bar.disable:
            self._bar.update(self._task, completed=read_bytes, documents=tally.read, description=self._said(now))
        elif self._shown and now - self._last >= PROGRESS_SECONDS:
            self._last = now
            click.echo(self.line(read_bytes, now), err=True)

    def line(self, read_bytes: int, now: float) -> str:
        left = self._pace.seconds_left(read_bytes, now)
        soon = "" if left is None else f", {_time(left)} left"
        return f"{self._tally.read:,} documents, {self._said(now)}{soon}"

    def _said(self, now: float) -> str:
        counts = ", ".join(
            f"{self._tally.relations[one.value]:,} {one.value}" for one in Relation if self._tally.relations[one.value]
        )
        return f"{self._pace.documents_per_second(self._tally.read, now):,.0f}/s{': ' if counts else ''}{counts}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def summarise(tally: ReplayStats, unanswered: int, *, json: bool, dry_run: bool) -> None:
    if json:
        emit({**tally.as_json(), "unanswered": unanswered, "dry_run": dry_run})
        return
    out = show.console()
    shown = show.table(out, "what", "documents", "meaning", right=("documents",))
    shown.add_row("read", f"{tally.read - tally.deletes:,}", Text(f"{tally.characters:,} characters", style="dim"))
    if tally.deletes:
        shown.add_row("deletes", f"{tally.deletes:,}", "")
    if not dry_run:
        shown.add_row("sent", f"{tally.sent:,}", Text("safe at their target, deletes included", style="dim"))
    for one in Relation:
        if count := tally.relations[one.value]:
            shown.add_row(show.relation(one), f"{count:,}", Text(show.MEANINGS[one], style="dim"))
    if unanswered:
        shown.add_row("waiting", f"{unanswered:,}", Text("without a verdict so far", style="dim"))
    for reason, count in sorted(tally.dead_lettered.items()):
        shown.add_row(Text("not judged", style="red"), f"{count:,}", show.cell(reason))
    if tally.skipped_files:
        shown.add_row(
            "done before", f"{tally.skipped_files:,}", Text("files that are left out by --resume", style="dim")
        )
    for reason, count in sorted(tally.unreadable.items()):
        told = ", ".join(tally.examples[reason]) + (", ..." if count > len(tally.examples[reason]) else "")
        shown.add_row(Text("unreadable", style="red"), f"{count:,}", show.cell(f"{reason}: {told}"))
    out.print(shown)
    if groups := tally.largest_groups():
        show.gap(out)
        shown = show.table(out, "group of", "documents", right=("documents",))
        for name, count in groups:
            shown.add_row(show.cell(name), f"{count:,}")
        out.print(shown)
