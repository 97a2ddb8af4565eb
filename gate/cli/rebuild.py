"""`gate index rebuild`: fill a new index from what was kept of the stream: check-ins, verdicts, or the topic itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import click
import msgspec

from gate import wire
from gate.api import Gate
from gate.cli import show
from gate.cli.common import SOME_FAILED, Options, common, load, open_empty, open_gate
from gate.cli.run import DEAD_LETTERED, Source, Work
from gate.cli.stream import brokers, need_kafka
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import BadDocument, ConfigError
from gate.index.protocol.claim import Claim
from gate.model import Verdict
from gate.stream import jsonl
from gate.stream.jsonl import LineFile
from gate.stream.settings import KafkaSettings
from gate.wire import Origin, RejectedMessage, VerdictEvent

OTHERWISE = "otherwise"  # verdicts that came out so


@click.command(short_help="Fill a new index from check-ins or verdicts.")
@click.argument(
    "inputs",
    metavar="[FILES...]",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@click.option("--from-topic", is_flag=True, help="Read the check-ins from their topics, not from files.")
@brokers
@click.option("--resume", is_flag=True, help="Go on with a rebuild that was cut off.")
@click.option("--dead-letters", metavar="FILE", type=click.Path(path_type=Path), help="As in gate run.")
@click.option("--content-root", metavar="FOLDER", type=click.Path(path_type=Path), help="As in gate run.")
@common()
def rebuild(
    inputs: tuple[Path, ...],
    *,
    from_topic: bool,
    kafka: str | None,
    resume: bool,
    dead_letters: Path | None,
    content_root: Path | None,
    options: Options,
) -> None:
    """Fill a new index from JSON Lines of check-ins, or of the verdicts on them, or from the topic of check-ins.

    \b
      gate index rebuild events.jsonl --index redis://localhost:6379/0
      gate index rebuild verdicts.jsonl --profile simhash --index new.sqlite
      gate index rebuild --from-topic --kafka localhost:9092 --index redis://localhost:6379/0

    Check-ins and deletes are judged again, in the order of the files, so the same documents pass as before. What cannot
    be judged is dead-lettered, as `gate run` does it, and the exit code is 1.

    Verdicts hold no text, but a fingerprint: that is enough for a profile that keeps nothing else, such as simhash.
    The lines have to be in the order of the check-ins, and deletes are not among them; a verdict that comes out
    otherwise is counted, and the exit code is 1. Other profiles are rebuilt from their check-ins, or carried over by
    `gate index export` and `import`.

    A topic is read from its beginning to its end as of now, deletes included, in the order of time over all partitions.
    Let the gate itself work on once this is done: from where it was, or from the beginning, which changes nothing.
    """
    settings = load(options, dead_letters=dead_letters, content_root=content_root, kafka_brokers=kafka)
    if from_topic == bool(inputs):
        raise click.UsageError("give FILES, or --from-topic")
    told = [path for path in inputs if _holds_verdicts(path)]
    if told:
        with open_gate(settings, index=MEMORY) as trial:
            trial.signer.from_verdicts([])  # where verdicts do not tell enough, nothing is begun
    with ExitStack() as opened:
        gate = opened.enter_context(open_empty(settings, resume=resume))
        letters = opened.enter_context(LineFile(settings.dead_letters, append=True)) if settings.dead_letters else None
        nowhere = opened.enter_context(LineFile(Path(os.devnull)))
        bar = opened.enter_context(show.progress(quiet=options.json))
        task = bar.add_task("rebuilding", total=sum(path.stat().st_size for path in inputs) or None, documents=0)
        work = Work(gate, sink=nowhere, letters=letters, json=options.json)
        if from_topic:
            for read, total in _from_topics(need_kafka(settings), settings, work):
                bar.update(task, documents=work.counts.total(), completed=read, total=total)
        before = 0
        for path in inputs:
            source = Source((path,), settings)
            if path in told:
                for count in _from_verdicts(gate, path, settings, work):
                    bar.update(task, documents=work.counts.total(), completed=before + count)
            else:
                for batch in jsonl.batches(source, settings.limits):
                    work.judge(batch)
                    bar.update(task, documents=work.counts.total(), completed=before + source.read_bytes())
            before += path.stat().st_size
    work.summarise()
    if work.counts[DEAD_LETTERED] or work.counts[OTHERWISE]:
        sys.exit(SOME_FAILED)


def _from_topics(kafka: KafkaSettings, settings: Settings, work: Work) -> Iterator[tuple[int, int]]:
    """Judge all that the topics hold; how many records were read, of how many."""
    from gate.stream.records import decode_record  # here, as the library of Kafka is: few commands need it
    from gate.stream.topic_reader import read_by_timestamp

    limits = settings.limits
    topics = read_by_timestamp(
        kafka, kafka.topics.check_ins, max_records=limits.batch_documents, max_bytes=settings.worker.batch_bytes
    )
    with topics as (reading, batches):
        total = sum(map(len, reading.ranges.values()))
        for batch in batches:
            work.judge([decode_record(record, limits=limits, content_root=settings.content_root) for record in batch])
            yield reading.offsets_read, total


class _Kind(msgspec.Struct):
    verdict_id: str | None = None


def _holds_verdicts(path: Path) -> bool:
    """Whether the first line is a verdict."""
    for _, raw in _lines(path):
        try:
            return msgspec.json.decode(raw, type=_Kind).verdict_id is not None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
    return False


def _lines(path: Path, *, max_bytes: int = 1 << 26) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for line in jsonl.read_lines(file, max_bytes=max_bytes):
                if line is not None:
                    yield line.number, line.raw or b""
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc


def _from_verdicts(gate: Gate, path: Path, settings: Settings, work: Work) -> Iterator[int]:
    """Check in what verdicts tell, batch by batch; how many bytes of the file were read."""
    lines, read = _lines(path), 0
    while batch := list(islice(lines, settings.limits.batch_documents)):
        read += sum(len(raw) + 1 for _, raw in batch)
        told: list[VerdictEvent] = []
        for number, raw in batch:
            origin = Origin(file=str(path), line=number)
            try:
                told.append(_verdict(gate, raw, origin))
            except BadDocument as exc:
                work.judge([RejectedMessage.of(exc, raw, origin=origin)])
        for before, after in zip(told, _checked_in(gate, told), strict=True):
            work.counts[after.relation.value] += 1
            if (before.similar, before.group) != (after.similar, after.group):
                work.counts[OTHERWISE] += 1
        yield read


def _checked_in(gate: Gate, told: list[VerdictEvent]) -> list[Verdict]:
    return gate.check_in_signed(gate.signer.from_verdicts(told))


def _verdict(gate: Gate, raw: bytes, origin: Origin) -> VerdictEvent:
    try:
        told = wire.decode_verdict(raw)
        content = bytes.fromhex(told.content_id)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as exc:
        raise BadDocument("bad_json", f"{origin}: is no verdict of this version's making") from exc
    claim = Claim(document_id=told.document_id, version=None, content=content, body=b"")
    if gate.signer.verdict_id(claim) != told.verdict_id:
        raise BadDocument(
            "other_profile",
            f"{origin}: was judged under profile {told.profile}, not {gate.profile.ref}; or it was changed since",
        )
    return told
