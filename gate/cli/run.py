"""`gate run`: the gate itself. Events in, one verdict a line out, in the order of the input."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from gate import wire
from gate.cli import show
from gate.cli.frame import SOME_FAILED, Loaded, Options, common, complain, load, open_gate
from gate.errors import BadDocument, ConfigError
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import admit
from gate.service import Gate
from gate.stream import jsonl
from gate.stream.jsonl import LineFile, Message
from gate.wire import Arrival, CheckInEvent, Rejected, VerdictEvent

DEAD_LETTERS = "dead letters"


@click.command()
@click.argument(
    "inputs",
    metavar="[FILES...]",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write verdicts here, not to stdout."
)
@click.option(
    "--dead-letters",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append what cannot be judged to this file, with its original. Without it, a line on stderr tells.",
)
@click.option("--quiet", is_flag=True, help="No summary at the end.")
@common()
def run(
    inputs: tuple[Path, ...], *, output: Path | None, dead_letters: Path | None, quiet: bool, options: Options
) -> None:
    """Judge a stream of events: JSON Lines in, one verdict a line out.

    \b
      gate run events.jsonl -o verdicts.jsonl --index gate.sqlite
      zcat archive.jsonl.gz | gate run - --dead-letters dead.jsonl > verdicts.jsonl

    \b
    An event is one object a line, a check-in or a delete:
      {"document_id": "a", "text": "...", "version": "2"}
      {"document_id": "b", "content_uri": "file:docs/b.txt"}
      {"document_id": "a", "type": "delete"}

    Verdicts come in the order of the check-ins; a delete gets no line. Where the input pauses, what came so far is
    answered. A line that cannot be judged is dead-lettered and the rest goes on; the exit code is then 1. Without
    FILES, or with -, standard input is read. With --json, what goes to stderr is JSON too.
    """
    loaded = load(options)
    for path in (output, dead_letters):
        if path is not None and path.exists() and any(str(one) != jsonl.STDIN and path.samefile(one) for one in inputs):
            raise ConfigError(f"{show.printable(str(path))}: is an input too; write to another file")
    with ExitStack() as opened:
        gate = opened.enter_context(open_gate(loaded, index=loaded.index))
        sink = opened.enter_context(LineFile(output or sys.stdout.buffer))
        letters = None if dead_letters is None else opened.enter_context(LineFile(dead_letters, append=True))
        work = _Run(gate, loaded.limits, sink=sink, letters=letters, json=options.json)
        for batch in jsonl.batches(_messages(inputs, loaded), loaded.limits):
            work.judge(batch)
    if not quiet:
        work.summarise()
    if work.counts[DEAD_LETTERS]:
        sys.exit(SOME_FAILED)


def _messages(inputs: tuple[Path, ...], loaded: Loaded) -> Iterator[Message | None]:
    for path in inputs or (Path(jsonl.STDIN),):
        if str(path) == jsonl.STDIN:
            yield from jsonl.messages(sys.stdin.buffer, name=jsonl.STDIN, limits=loaded.limits)
            continue
        try:
            file = path.open("rb")
        except OSError as exc:
            raise ConfigError(f"{show.printable(str(path))}: cannot be read: {exc.strerror}") from exc
        with file:
            yield from jsonl.messages(file, name=str(path), limits=loaded.limits)


class _Run:
    """One run over its inputs, and what it counted."""

    def __init__(self, gate: Gate, limits: Limits, *, sink: LineFile, letters: LineFile | None, json: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._gate = gate
        self._limits = limits
        self._sink = sink
        self._letters = letters
        self._json = json

    def judge(self, batch: list[Message]) -> None:
        """Answer a batch. A delete takes effect in its place: what came before it is judged before."""
        waiting: list[tuple[CheckIn, Arrival]] = []
        for message in batch:
            if isinstance(message, Rejected):
                self._bury(message)
            elif isinstance(message.event, CheckInEvent):
                try:
                    document = message.event.check_in()
                    admit(document, self._limits)
                except BadDocument as exc:
                    self._bury(Rejected.of(exc, wire.encode(message.event), place=message.place))
                else:
                    waiting.append((document, message))
            else:
                self._answer(waiting)
                waiting = []
                [known] = self._gate.delete([message.event.document_id])
                self.counts["deleted" if known else "deletes of unknown documents"] += 1
        self._answer(waiting)

    def _answer(self, waiting: list[tuple[CheckIn, Arrival]]) -> None:
        if not waiting:
            return
        verdicts = self._gate.check_in([document for document, _ in waiting])
        now = datetime.now(UTC)
        told = []
        for verdict, (_, arrival) in zip(verdicts, waiting, strict=True):
            self.counts[verdict.relation.value] += 1
            checked_in_at = arrival.event.checked_in_at if isinstance(arrival.event, CheckInEvent) else None
            told.append(VerdictEvent.of(verdict, source=arrival.place, checked_in_at=checked_in_at, judged_at=now))
        jsonl.write_verdicts(self._sink, told)

    def _bury(self, rejected: Rejected) -> None:
        """Keep the original in the file of dead letters; without one, tell why and where, and nothing of the text."""
        self.counts[DEAD_LETTERS] += 1
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
