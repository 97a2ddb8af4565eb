"""`gate run`: the gate itself. Events in, one verdict per line out, in the order of the input."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NoReturn

import click

from gate import wire
from gate.api import Gate
from gate.archive.files import FileSelection, Order
from gate.archive.formats import JSON_LINES
from gate.archive.parts import ArchivedEvent, SourceOptions
from gate.archive.readers import is_archive
from gate.archive.source import Source
from gate.cli.common import SOME_FAILED, Options, emit, set_resume_hint
from gate.cli.progress import ProblemLog, progress
from gate.cli.session import load, open_gate, read_options
from gate.cli.termination import terminable
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.extract.text_of import HtmlPart
from gate.index.redis.url import is_redis_url
from gate.numbers import number
from gate.pipeline import CheckIns, steps
from gate.stream import jsonl
from gate.stream.field_names import OWN_NAMES, FieldNames
from gate.stream.jsonl import LineFile, Message
from gate.wire import CheckInEvent, DecodedMessage, RejectedMessage, VerdictEvent

DEAD_LETTERED = "dead_lettered"


def run(
    inputs: tuple[Path, ...],
    *,
    output: Path | None,
    dead_letters: Path | None,
    content_root: Path | None,
    field_names: FieldNames,
    html_text: HtmlPart,
    encoding: str | None,
    file_format: str | None,
    quiet: bool,
    verbose: bool,
    kafka_brokers: str | None,
    redis: str | None,
    workers: int | None,
    http_port: int | None,
    new_index: bool,
    options: Options,
) -> None:
    """Judge files of events; or, with brokers, work on topics until stopped."""
    if redis is not None and options.flags.get("index") is not None:
        raise ConfigError("--redis: --index is given too; they are the same, so name one")
    own = {"kafka_brokers": kafka_brokers, "index": redis, "workers": workers, "http_port": http_port}
    settings = load(options, dead_letters=dead_letters, content_root=content_root, **own)
    if settings.kafka is not None and not inputs:
        if field_names != OWN_NAMES or file_format is not None:
            raise ConfigError(
                "--id-field, --text-field, --date-field, --format: are for files; a record has the fields of a check-in"
            )
        _serve(settings, output, new_index=new_index)
    if kafka_brokers is not None or workers is not None or http_port is not None or new_index:
        raise ConfigError("--kafka, --workers, --http-port, --new-index: are for topics; leave out the FILES, or these")
    _keep_apart(inputs, output, settings)
    _run_files(
        InputFiles(
            inputs or (Path(jsonl.STDIN),),
            SourceOptions(
                limits=settings.limits,
                read=read_options(settings, html=html_text, encoding=encoding),
                archive=settings.archive,
                selection=FileSelection(order=Order.GIVEN),
                format=file_format,
                field_names=field_names,
                content_root=settings.content_root,
                dates_from_files=False,
            ),
        ),
        settings,
        output=output,
        shows_progress=not (quiet or options.json) and (output is not None or not sys.stdout.isatty()),
        quiet=quiet,
        verbose=verbose,
        json=options.json,
    )


def _run_files(
    source: InputFiles,
    settings: Settings,
    *,
    output: Path | None,
    shows_progress: bool,
    quiet: bool,
    verbose: bool,
    json: bool,
) -> None:
    if sys.stdin.isatty() and source.reads_stdin and not (quiet or json):
        click.echo("reading events from standard input; Ctrl-D ends them", err=True)
    if settings.index == MEMORY:
        set_resume_hint("the index was in memory; start again with")
    else:
        set_resume_hint("what was judged is in the index, and gets the same verdict again; continue with")
    processor: FileProcessor | None = None
    try:
        with ExitStack() as stack:
            stack.enter_context(terminable())
            gate = stack.enter_context(open_gate(settings, index=settings.index))
            sink = stack.enter_context(LineFile(output or sys.stdout.buffer))
            letters = None
            if settings.dead_letters:
                letters = stack.enter_context(LineFile(settings.dead_letters, append=True))
            bar = progress(quiet=not shows_progress)
            problems = stack.enter_context(
                ProblemLog("dead letter", verbose=verbose, bar=bar, examples_at_once=source.reads_stdin)
            )
            stack.enter_context(bar)
            task = bar.add_task("judging", total=source.total_bytes(), documents=0)
            reported = None if quiet and letters is not None else problems
            processor = FileProcessor(gate, sink=sink, letters=letters, problems=reported, json=json)
            for batch in jsonl.batches(source, settings.limits):
                processor.judge(batch)
                bar.update(task, completed=source.read_bytes(), documents=processor.counts.total())
    except KeyboardInterrupt:
        if processor is not None and not quiet:
            processor.summarise(is_complete=False)
        raise
    if not quiet:
        processor.summarise()
    if processor.counts[DEAD_LETTERED]:
        sys.exit(SOME_FAILED)


def _serve(settings: Settings, output: Path | None, *, new_index: bool) -> NoReturn:
    from gate.cli.recovery import accept_index
    from gate.worker_main import check, serve  # the clients of Kafka take time to import, and few commands need them

    if output is not None or settings.dead_letters is not None:
        raise ConfigError("--output, --dead-letters: with --kafka answers go to topics; leave these out")
    if new_index:
        check(settings)
        accept_index(settings)
    sys.exit(serve(settings))


def _keep_apart(inputs: tuple[Path, ...], output: Path | None, settings: Settings) -> None:
    """No file is read and written at once, nor written twice."""
    taken = [path for path in inputs if str(path) != jsonl.STDIN]
    if settings.index != MEMORY and not is_redis_url(settings.index):
        taken.append(Path(settings.index))
    for path in (output, settings.dead_letters):
        if path is None:
            continue
        if any(path == other or (path.exists() and other.exists() and path.samefile(other)) for other in taken):
            raise ConfigError(f"{path}: is an input, the index or another output too; write to another file")
        taken.append(path)


class InputFiles:
    """The messages of all inputs, one after another, and how far they have been read."""

    def __init__(self, paths: tuple[Path, ...], options: SourceOptions) -> None:
        self._paths = paths
        self._options = options
        self._before = 0  # bytes of the inputs that are done
        self._file: BinaryIO | None = None
        self._archive: Source | None = None
        self.reads_stdin = any(str(path) == jsonl.STDIN for path in paths)

    def __iter__(self) -> Iterator[Message | None]:
        for path in self._paths:
            is_stdin = str(path) == jsonl.STDIN
            if is_stdin and self._options.format in (None, JSON_LINES.name):
                yield from self._messages(sys.stdin.buffer, jsonl.STDIN)
                continue
            if not is_stdin:
                try:
                    file = path.open("rb")
                except OSError as exc:
                    raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
                with file:
                    if not is_archive(file, str(path), self._options):
                        self._file = file if file.seekable() else None
                        yield from self._messages(file, str(path))
                        self._before, self._file = self.read_bytes(), None
                        continue
            yield from self._archived(path)

    def _archived(self, path: Path) -> Iterator[Message | None]:
        """The documents of an archive, as check-ins."""
        with Source([path], self._options) as self._archive:
            for item in self._archive:
                if item is None:
                    yield None
                elif isinstance(item.result, RejectedMessage):
                    yield item.result
                elif isinstance(item.result, ArchivedEvent):
                    yield DecodedMessage(event=item.result.event, origin=item.result.origin)
            self._before, self._archive = self.read_bytes(), None

    def _messages(self, stream: BinaryIO, name: str) -> Iterator[Message | None]:
        options = self._options
        return jsonl.decode_lines(
            stream,
            name=name,
            limits=options.limits,
            content_root=options.content_root,
            field_names=options.field_names,
        )

    def total_bytes(self) -> int | None:
        """None where it is not known, as of a pipe."""
        if not all(path.is_file() for path in self._paths):
            return None
        return sum(path.stat().st_size for path in self._paths)

    def read_bytes(self) -> int:
        archive = self._archive.read_bytes() if self._archive is not None else 0
        return self._before + archive + (self._file.tell() if self._file is not None else 0)


class FileProcessor:
    """Answers the messages of files: verdicts to the sink, dead letters to their file, and counts of both."""

    def __init__(
        self, gate: Gate, *, sink: LineFile, letters: LineFile | None, problems: ProblemLog | None, json: bool
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._gate = gate
        self._sink = sink
        self._letters = letters
        self._problems = problems
        self._json = json

    def judge(self, batch: list[Message]) -> None:
        """Answer a batch. A delete takes effect in its place: the messages before it are judged first."""
        for message in batch:
            if isinstance(message, RejectedMessage):
                self._dead_letter(message)
        for step in steps(None if isinstance(message, RejectedMessage) else message.event for message in batch):
            if isinstance(step, CheckIns):
                self._check_in(step, batch)
                continue
            for document_id in step.document_ids:
                [known] = self._gate.delete([document_id])
                self.counts["deleted" if known else "already_gone"] += 1

    def _check_in(self, step: CheckIns, batch: list[Message]) -> None:
        judged_at = datetime.now(UTC)
        events = []
        for verdict, position in zip(self._gate.check_in(step.documents), step.positions, strict=True):
            message = batch[position]
            event = message.event if isinstance(message, DecodedMessage) else None
            checked_in_at = event.checked_in_at if isinstance(event, CheckInEvent) else None
            self.counts[verdict.relation.value] += 1
            events.append(
                VerdictEvent.of(verdict, origin=message.origin, checked_in_at=checked_in_at, judged_at=judged_at)
            )
        jsonl.write_verdicts(self._sink, events)

    def _dead_letter(self, rejected: RejectedMessage) -> None:
        """Append the original to the file of dead letters; without one, report reason and place, and no text."""
        self.counts[DEAD_LETTERED] += 1
        if self._letters is not None:
            jsonl.write_dead_letters(self._letters, [rejected], at=datetime.now(UTC))
        if not self._json and self._problems is not None:
            self._problems.add(rejected.error.code, f"{rejected.error} ({rejected.error.code})")
        elif self._letters is None:
            emit(wire.encode(rejected.dead_letter(at=datetime.now(UTC))), err=True)

    def summarise(self, *, is_complete: bool = True) -> None:
        if self._json:
            emit({"summary": dict(self.counts)} | ({} if is_complete else {"complete": False}), err=True)
            return
        parts = ", ".join(f"{number(count)} {kind}" for kind, count in self.counts.items())
        nothing = "the input is empty" if is_complete else "nothing was judged"
        click.echo(f"{'done' if is_complete else 'stopped'}: {parts or nothing}", err=True)
