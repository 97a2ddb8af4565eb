"""`gate run`: the gate itself. Events in, one verdict a line out, in the order of the input."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NoReturn

import click
import msgspec

from gate import wire
from gate.api import Gate
from gate.cli import show
from gate.cli.common import SOME_FAILED, Options, common, complain, load, open_gate
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.index.redis.url import is_redis_url
from gate.model import CheckIn
from gate.stream import jsonl
from gate.stream.jsonl import LineFile, Message
from gate.wire import CheckInEvent, RejectedMessage, VerdictEvent

DEAD_LETTERED = "dead_lettered"


@click.command(short_help="Judge a stream of events, from files or Kafka.")
@click.argument(
    "inputs",
    metavar="[FILES...]",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write verdicts to this file, from its beginning, and not to stdout.",
)
@click.option(
    "--dead-letters",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Append what cannot be judged to this file, with its original. Without it, a line on stderr tells.",
)
@click.option(
    "--content-root",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where content_uri may point to. Default: the folder of the events, or the current one for stdin.",
)
@click.option("--quiet", is_flag=True, help="No progress, and no summary at the end.")
@click.option("--kafka", "kafka_brokers", metavar="HOST:PORT,...", help="Read topics of these brokers, not files.")
@click.option("--redis", metavar="URL", help="The same as --index, for an index that many workers share.")
@click.option("--workers", metavar="N", type=int, help="With --kafka: processes to work in. Default: 1.")
@click.option(
    "--http-port", metavar="PORT", type=int, help="With --kafka: answer /healthz, /readyz and /metrics on this port."
)
@common()
def run(
    inputs: tuple[Path, ...],
    *,
    output: Path | None,
    dead_letters: Path | None,
    content_root: Path | None,
    quiet: bool,
    kafka_brokers: str | None,
    redis: str | None,
    workers: int | None,
    http_port: int | None,
    options: Options,
) -> None:
    """Judge a stream of events: JSON Lines in, one verdict a line out; or topics of Kafka, until told to stop.

    \b
      gate run events.jsonl -o verdicts.jsonl --index gate.sqlite
      zcat archive.jsonl.gz | gate run --dead-letters dead.jsonl > verdicts.jsonl
      gate run --kafka localhost:9092 --redis redis://localhost:6379/0 --workers 2 --http-port 9400

    \b
    An event is one object a line, a check-in or a delete:
      {"document_id": "a", "text": "...", "version": "2"}
      {"document_id": "b", "content_uri": "file:docs/b.txt"}
      {"document_id": "a", "type": "delete"}

    Verdicts come in the order of the check-ins; a delete gets no line. Where the input pauses, what came so far is
    answered. A line that cannot be judged is dead-lettered and the rest goes on; the exit code is then 1. Without
    FILES, or with -, standard input is read. With --json, what goes to stderr is JSON too.

    With --index a run may be stopped and begun again at any time: what was judged before gets the same verdict.

    With --kafka (or kafka_brokers in the settings, and no FILES), events are read from topics by a consumer group, and
    verdicts, dead letters and, where you name topics for them, accepted and quarantined documents go to topics.
    `gate topics create` makes them, `gate config` shows the settings (kafka_..., delivery, on_index_unavailable).
    SIGTERM finishes what is under way, commits, and ends.
    """
    if redis is not None and options.flags.get("index") is not None:
        raise ConfigError("--redis: --index is given too; they are the same, so name one")
    own = {"kafka_brokers": kafka_brokers, "index": redis, "workers": workers, "http_port": http_port}
    settings = load(options, dead_letters=dead_letters, content_root=content_root, **own)
    if settings.kafka is not None and not inputs:
        _serve(settings, output)
    if kafka_brokers is not None or workers is not None or http_port is not None:
        raise ConfigError("--kafka, --workers, --http-port: are for topics; leave out the FILES, or these")
    _keep_apart(inputs, output, settings)
    source = Source(inputs or (Path(jsonl.STDIN),), settings)
    shown = not (quiet or options.json) and (output is not None or not sys.stdout.isatty())
    if sys.stdin.isatty() and source.reads_stdin and not (quiet or options.json):
        click.echo("reading events from standard input; Ctrl-D ends them", err=True)
    with ExitStack() as opened:
        gate = opened.enter_context(open_gate(settings, index=settings.index))
        sink = opened.enter_context(LineFile(output or sys.stdout.buffer))
        letters = opened.enter_context(LineFile(settings.dead_letters, append=True)) if settings.dead_letters else None
        bar = opened.enter_context(show.progress(quiet=not shown))
        task = bar.add_task("judging", total=source.total_bytes(), documents=0)
        work = Work(gate, sink=sink, letters=letters, json=options.json)
        for batch in jsonl.batches(source, settings.limits):
            work.judge(batch)
            bar.update(task, completed=source.read_bytes(), documents=work.counts.total())
    if not quiet:
        work.summarise()
    if work.counts[DEAD_LETTERED]:
        sys.exit(SOME_FAILED)


def _serve(settings: Settings, output: Path | None) -> NoReturn:
    from gate.worker_main import serve  # the clients of Kafka take time to import, and few commands need them

    if output is not None or settings.dead_letters is not None:
        raise ConfigError("--output, --dead-letters: with --kafka answers go to topics; leave these out")
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


class Source:
    """The messages of all inputs, one after another, and how far they have been read."""

    def __init__(self, paths: tuple[Path, ...], settings: Settings) -> None:
        self._paths = paths
        self._settings = settings
        self._before = 0  # bytes of the inputs that are done
        self._file: BinaryIO | None = None
        self.reads_stdin = any(str(path) == jsonl.STDIN for path in paths)

    def __iter__(self) -> Iterator[Message | None]:
        for path in self._paths:
            if str(path) == jsonl.STDIN:
                yield from self._messages(sys.stdin.buffer, jsonl.STDIN)
                continue
            try:
                file = path.open("rb")
            except OSError as exc:
                raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
            with file:
                self._file = file if file.seekable() else None
                yield from self._messages(file, str(path))
                self._before, self._file = self.read_bytes(), None

    def _messages(self, stream: BinaryIO, name: str) -> Iterator[Message | None]:
        settings = self._settings
        return jsonl.decode_lines(stream, name=name, limits=settings.limits, content_root=settings.content_root)

    def total_bytes(self) -> int | None:
        """None where nobody can know."""
        if not all(path.is_file() for path in self._paths):
            return None
        return sum(path.stat().st_size for path in self._paths)

    def read_bytes(self) -> int:
        return self._before + (self._file.tell() if self._file is not None else 0)


class Work:
    """One run over its inputs, and what it counted."""

    def __init__(self, gate: Gate, *, sink: LineFile, letters: LineFile | None, json: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._gate = gate
        self._sink = sink
        self._letters = letters
        self._json = json

    def judge(self, batch: list[Message]) -> None:
        """Answer a batch. A delete takes effect in its place: what came before it is judged before."""
        waiting: list[tuple[CheckIn, CheckInEvent, wire.Origin]] = []
        for message in batch:
            if isinstance(message, RejectedMessage):
                self._bury(message)
            elif isinstance(message.event, CheckInEvent):
                waiting.append((message.event.check_in(), message.event, message.origin))
            else:
                self._answer(waiting)
                waiting = []
                [known] = self._gate.delete([message.event.document_id])
                self.counts["deleted" if known else "already_gone"] += 1
        self._answer(waiting)

    def _answer(self, waiting: list[tuple[CheckIn, CheckInEvent, wire.Origin]]) -> None:
        verdicts = self._gate.check_in([document for document, _, _ in waiting])
        now = datetime.now(UTC)
        told = []
        for verdict, (_, event, origin) in zip(verdicts, waiting, strict=True):
            self.counts[verdict.relation.value] += 1
            told.append(VerdictEvent.of(verdict, origin=origin, checked_in_at=event.checked_in_at, judged_at=now))
        jsonl.write_verdicts(self._sink, told)

    def _bury(self, rejected: RejectedMessage) -> None:
        """Keep the original in the file of dead letters; without one, tell why and where, and nothing of the text."""
        self.counts[DEAD_LETTERED] += 1
        if self._letters is not None:
            jsonl.write_dead_letters(self._letters, [rejected], at=datetime.now(UTC))
        elif self._json:
            click.echo(wire.encode(rejected.dead_letter(at=datetime.now(UTC))), err=True)
        else:
            complain(f"{rejected.error} ({rejected.error.code})", kind="dead letter")

    def summarise(self) -> None:
        if self._json:
            click.echo(msgspec.json.encode({"summary": dict(self.counts)}), err=True)
        else:
            told = ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
            click.echo(f"done: {told or 'nothing came in'}", err=True)
