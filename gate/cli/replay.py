"""`gate replay`: an archive through the gate, by its topic or straight into an index."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click
import msgspec
from rich.progress import TaskID
from rich.text import Text

from gate.archive.files import FileSelection
from gate.archive.journal import Journal, ReplayJob, default_journal_path
from gate.archive.parts import SourceOptions
from gate.archive.readers import STDIN
from gate.archive.replay import Replay
from gate.archive.replay_stats import ReplayStats, Throughput
from gate.archive.source import Source
from gate.cli import show, tables
from gate.cli.common import SOME_FAILED, Options, ReportFiles, emit, set_resume_hint
from gate.cli.kafka import require_kafka
from gate.cli.own_files import own_files
from gate.cli.progress import ProblemLog, progress
from gate.cli.replay_targets import AnsweringTarget, GateTarget, NullTarget, open_kafka_target
from gate.cli.reports import ReportSubject, RunReport, open_report, texts_of, title_of
from gate.cli.session import index_name, load, open_gate, read_options
from gate.cli.staging import mark_complete, require_redis
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.extract.text_of import HtmlPart
from gate.index.redis.url import is_redis_url
from gate.model import Relation
from gate.numbers import counted, number
from gate.stream.field_names import FieldNames
from gate.wire import RejectedMessage

PROGRESS_SECONDS = 10.0  # between two lines of progress where stderr is no terminal


def replay(
    sources: tuple[Path, ...],
    *,
    kafka: str | None,
    rate: float | None,
    dry_run: bool,
    resume: bool,
    journal: Path | None,
    into_generation: str | None,
    source: str | None,
    content_root: Path | None,
    field_names: FieldNames,
    selection: FileSelection,
    report_files: ReportFiles,
    html_text: HtmlPart,
    encoding: str | None,
    file_format: str | None,
    strict: bool,
    wait: float,
    quiet: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Replay an archive into its target, and summarise."""
    if kafka is not None and "index" in options.flags:
        raise click.UsageError("give --kafka or --index, not both")
    settings = load(options, kafka_brokers=kafka, content_root=content_root)
    to_topic = kafka is not None or (settings.kafka is not None and "index" not in options.flags)
    live = settings
    if into_generation is not None:
        if to_topic or dry_run:
            raise click.UsageError("--into-generation fills an index here: name it with --index, without --dry-run")
        require_redis(settings)
        settings = msgspec.structs.replace(settings, redis=replace(settings.redis, generation=into_generation))
    if report_files and (dry_run or (to_topic and not wait)):
        raise click.UsageError("a report needs verdicts: leave out --dry-run, and --wait 0")
    if not (to_topic or dry_run) and settings.index == MEMORY:
        raise click.UsageError("name a target: --kafka HOST:PORT or --index PATH|URL; --dry-run needs none")
    if not (quiet or options.json) and sys.stdin.isatty() and any(str(path) == STDIN for path in sources):
        click.echo("reading events from standard input; Ctrl-D ends them", err=True)
    options_of_source = SourceOptions(
        limits=settings.limits,
        read=read_options(settings, html=html_text, encoding=encoding),
        selection=selection,
        field_names=field_names,
        format=file_format,
        archive=settings.archive,
        source=source,
        content_root=settings.content_root,
    )
    stats = ReplayStats()
    bar = ReplayBar(stats, shown=not (quiet or options.json))
    with ExitStack() as stack:
        report = stack.enter_context(open_report(report_files))
        target = _open_target(stack, settings, stats, report, dry_run=dry_run, to_topic=to_topic, watch=wait > 0)
        is_kept = not dry_run and (to_topic or settings.index != MEMORY)
        opened = (
            _open_journal(stack, journal, sources, settings, to_topic=to_topic, resume=resume, target=target)
            if is_kept
            else None
        )
        opened_source = stack.enter_context(Source(sources, options_of_source))
        stats.links, stats.hidden = len(opened_source.found.links), opened_source.found.hidden
        own = own_files(settings, (opened.path if opened is not None else None, report_files.html, report_files.csv))
        opened_source.files = [
            file for file in opened_source.files if file.path is None or file.path.absolute() not in own
        ]
        size = opened_source.total_bytes
        problems = stack.enter_context(ProblemLog("skipped", verbose=verbose, bar=bar.bar))
        textless = stack.enter_context(ProblemLog("no text", verbose=verbose, bar=bar.bar, quiet=options.json))
        stack.enter_context(bar.opened(size))
        run = Replay(
            target,
            stats=stats,
            limits=settings.limits,
            journal=opened,
            clock=time.monotonic,
            rate=rate,
            on_rejected=lambda rejected: _report(rejected, problems, report, json=options.json),
            on_without_text=lambda problem: textless.add(problem.code, str(problem)),
            on_progress=bar.update,
        )
        _run(run, opened_source, target, wait, lambda: bar.update(size or 0), journal=opened)
        stats.hidden = opened_source.hidden
        if report is not None:
            subject = _subject(sources, settings, stats, unanswered=target.unanswered(), to_topic=to_topic)
            report.write(subject, texts_of(opened_source))
    if into_generation is not None:
        mark_complete(live, into_generation)
    if not quiet:
        unanswered = target.unanswered() if wait else 0  # with --wait 0 no verdict was looked for
        summarise(stats, unanswered, json=options.json, dry_run=dry_run)
    if stats.bad_lines or stats.dead_lettered or (strict and (stats.unreadable or stats.without_text)):
        sys.exit(SOME_FAILED)


def _open_target(
    stack: ExitStack,
    settings: Settings,
    stats: ReplayStats,
    report: RunReport | None,
    *,
    dry_run: bool,
    to_topic: bool,
    watch: bool,
) -> AnsweringTarget:
    if dry_run:
        return NullTarget()
    if to_topic:
        return stack.enter_context(open_kafka_target(require_kafka(settings), stats, watch=watch, report=report))
    return GateTarget(stack.enter_context(open_gate(settings, index=settings.index)), stats, report=report)


def _run(
    run: Replay,
    source: Source,
    target: AnsweringTarget,
    wait: float,
    on_answers: Callable[[], None],
    *,
    journal: Journal | None,
) -> None:
    """Send the files and wait for the verdicts. Interrupted, it records what is safe before it ends."""
    set_resume_hint("nothing was kept; start again with")
    try:
        run.run(source)
        target.wait_answers(wait, on_answers)
    except KeyboardInterrupt:
        run.finish()
        if journal is not None:
            set_resume_hint("what was sent is recorded; continue with", option="--resume")
        raise


def _open_journal(
    stack: ExitStack,
    path: Path | None,
    sources: Sequence[Path],
    settings: Settings,
    *,
    to_topic: bool,
    resume: bool,
    target: AnsweringTarget,
) -> Journal:
    names = tuple(STDIN if str(source) == STDIN else str(source.resolve()) for source in sources)
    name = f"{settings.profile.ref} {index_name(settings)}"
    if settings.redis.generation is not None and isinstance(target, GateTarget):
        # One that was dropped and is filled again is another one, of which nothing is done.
        name = f"{name} {settings.redis.generation} {target.identity}"
    if to_topic:
        kafka = require_kafka(settings)
        name = f"{kafka.brokers} {kafka.topics.check_ins[0]}"
    elif not is_redis_url(settings.index):
        name = f"{settings.profile.ref} {Path(settings.index).resolve()}"
    job = ReplayJob(sources=names, target=name)
    return stack.enter_context(Journal(path or default_journal_path(job, dict(os.environ)), job, resume=resume))


# Reporting


def _subject(
    sources: Sequence[Path], settings: Settings, stats: ReplayStats, *, unanswered: int, to_topic: bool
) -> ReportSubject:
    notes = [f"Judged {'by workers, through a topic' if to_topic else f'against {index_name(settings)}'}."]
    if stats.skipped_files:
        notes.append(f"Without what was done before: {counted(stats.skipped_files, 'file')}.")
    if unanswered:
        notes.append(f"Without {counted(unanswered, 'document')} that had no verdict yet.")
    return ReportSubject(title=title_of(sources), profile=settings.profile.ref, notes=tuple(notes))


def _report(rejected: RejectedMessage, problems: ProblemLog, report: RunReport | None, *, json: bool) -> None:
    if report is not None:
        report.add_unreadable(str(rejected.origin), rejected.error.code, str(rejected.error))
    if json:
        reason = {"reason": rejected.error.code, "message": str(rejected.error)}
        emit({"origin": str(rejected.origin), **reason}, err=True)
    else:
        problems.add(rejected.error.code, str(rejected.error))


class ReplayBar:
    """A bar on a terminal, a line now and then elsewhere: how much, how fast, how long still, and the verdicts."""

    def __init__(self, stats: ReplayStats, *, shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.bar = progress(quiet=not shown)
        self._stats = stats
        self._clock = clock
        self._shown = shown
        self._task = TaskID(0)
        self._throughput = Throughput(clock(), None)
        self._last_line = clock()

    @contextmanager
    def opened(self, total_bytes: int | None) -> Iterator[None]:
        self._throughput = Throughput(self._clock(), total_bytes)
        with self.bar:
            self._task = self.bar.add_task("reading", total=total_bytes, documents=0)
            yield

    def update(self, read_bytes: int) -> None:
        now = self._clock()
        if not self.bar.disable:
            self.bar.update(
                self._task, completed=read_bytes, documents=self._stats.read, description=self._description(now)
            )
        elif self._shown and now - self._last_line >= PROGRESS_SECONDS:
            self._last_line = now
            click.echo(self._line(read_bytes, now), err=True)

    def _line(self, read_bytes: int, now: float) -> str:
        seconds_left = self._throughput.seconds_left(read_bytes, now)
        time_left = "" if seconds_left is None else f", {_clock_time(seconds_left)} left"
        return f"{number(self._stats.read)} documents, {self._description(now)}{time_left}"

    def _description(self, now: float) -> str:
        counts = self._stats.relations
        parts = ", ".join(f"{number(counts[kind])} {kind.value}" for kind in Relation if counts[kind])
        rate = round(self._throughput.documents_per_second(self._stats.read, now))
        return f"{number(rate)}/s{': ' if parts else ''}{parts}"


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def summarise(stats: ReplayStats, unanswered: int, *, json: bool, dry_run: bool) -> None:
    if json:
        emit({**stats.as_json(), "unanswered": unanswered, "dry_run": dry_run})
        return
    out = tables.console()
    rows = tables.table(out, "what", "documents", "meaning", right=("documents",))
    for kind, count, meaning in _summary_rows(stats, unanswered, dry_run=dry_run):
        rows.add_row(kind, number(count), tables.cell(meaning, style="dim"))
    out.print(rows)
    if groups := stats.largest_groups():
        tables.gap(out)
        rows = tables.table(out, "group of", "documents", right=("documents",))
        for name, count in groups:
            rows.add_row(tables.cell(name), number(count))
        out.print(rows)


def _summary_rows(stats: ReplayStats, unanswered: int, *, dry_run: bool) -> Iterator[tuple[Text, int, str]]:
    yield Text("read"), stats.read - stats.deletes, f"{number(stats.characters)} characters"
    if stats.deletes:
        yield Text("deletes"), stats.deletes, ""
    if not dry_run:
        yield Text("sent"), stats.sent, "acknowledged by the target, deletes included"
    for relation in Relation:
        if count := stats.relations[relation.value]:
            yield show.relation(relation), count, show.MEANINGS[relation]
    if unanswered:
        yield Text("waiting"), unanswered, "without a verdict so far"
    for reason, count in sorted(stats.dead_lettered.items()):
        yield Text("not judged", style="red"), count, reason
    if stats.skipped_files:
        yield Text("done before"), stats.skipped_files, "files that --resume leaves out"
    if stats.links:
        yield Text("links"), stats.links, "further names of files, which are no documents"
    if stats.hidden:
        yield Text("hidden"), stats.hidden, "files and folders left out; --hidden reads them"
    for reason, count in sorted(stats.without_text.items()):
        yield (
            Text("without text", style="yellow"),
            count,
            _examples(reason, stats.examples[f"without text: {reason}"], count),
        )
    for reason, count in sorted(stats.unreadable.items()):
        yield Text("unreadable", style="red"), count, _examples(reason, stats.examples[reason], count)


def _examples(reason: str, examples: Sequence[str], count: int) -> str:
    return f"{reason}: {', '.join(examples)}{', ...' if count > len(examples) else ''}"
