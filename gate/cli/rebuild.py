"""`gate index rebuild`: fill a new index from files of check-ins or verdicts, or from the topics of check-ins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import click
import msgspec
from rich.progress import Progress, TaskID

from gate import wire
from gate.api import Gate
from gate.archive.parts import SourceOptions
from gate.cli.common import SOME_FAILED, Options, set_resume_hint
from gate.cli.kafka import require_kafka
from gate.cli.progress import ProblemLog, progress
from gate.cli.recovery import read_identities, recover_index, replace_identities
from gate.cli.run import DEAD_LETTERED, FileProcessor, InputFiles
from gate.cli.session import load, open_empty, open_gate
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import BadDocument, ConfigError
from gate.model import Degraded, Verdict
from gate.stream import jsonl
from gate.stream.field_names import FieldNames
from gate.stream.jsonl import LineFile
from gate.stream.settings import KafkaSettings
from gate.wire import Origin, RejectedMessage, VerdictEvent

OTHERWISE = "otherwise"  # the count of verdicts that came out otherwise than the ones in the file


def rebuild(
    inputs: tuple[Path, ...],
    *,
    from_topic: bool,
    kafka: str | None,
    resume: bool,
    recover: bool,
    dead_letters: Path | None,
    content_root: Path | None,
    field_names: FieldNames,
    verbose: bool,
    options: Options,
) -> None:
    """Fill an empty index from files of check-ins or verdicts, or from topics."""
    settings = load(options, dead_letters=dead_letters, content_root=content_root, kafka_brokers=kafka)
    worked_on = read_identities(settings)  # before any work: the brokers may not answer
    if from_topic == bool(inputs):
        raise click.UsageError("give FILES, or --from-topic")
    verdict_files = [path for path in inputs if _holds_verdicts(path)]
    if verdict_files:
        with open_gate(settings, index=MEMORY) as trial:
            trial.signer.from_verdicts([])  # a profile that needs more than verdicts hold is refused before any work
    with ExitStack() as stack:
        if recover:
            recover_index(settings)
        gate = stack.enter_context(open_empty(settings, resume=resume or recover))
        set_resume_hint("what was read is in the index; continue with", option="--recover" if recover else "--resume")
        letters = stack.enter_context(LineFile(settings.dead_letters, append=True)) if settings.dead_letters else None
        devnull = stack.enter_context(LineFile(Path(os.devnull)))
        bar = progress(quiet=options.json)
        problems = stack.enter_context(ProblemLog("dead letter", verbose=verbose, bar=bar))
        stack.enter_context(bar)
        processor = FileProcessor(gate, sink=devnull, letters=letters, problems=problems, json=options.json)
        task = bar.add_task("rebuilding", total=sum(path.stat().st_size for path in inputs) or None, documents=0)
        if from_topic:
            for read, total in _from_topics(require_kafka(settings), settings, processor):
                bar.update(task, documents=processor.counts.total(), completed=read, total=total)
        source_options = SourceOptions(
            limits=settings.limits,
            archive=settings.archive,
            field_names=field_names,
            content_root=settings.content_root,
        )
        bytes_before = 0
        for path in inputs:
            read_bytes = (
                _from_verdicts(gate, path, settings, processor)
                if path in verdict_files
                else _from_check_ins(InputFiles((path,), source_options), settings, processor)
            )
            _follow(read_bytes, bytes_before, processor, bar, task)
            bytes_before += path.stat().st_size
        replace_identities(gate, worked_on)
    processor.summarise()
    if processor.counts[DEAD_LETTERED] or processor.counts[OTHERWISE]:
        sys.exit(SOME_FAILED)


def _follow(read_bytes: Iterator[int], before: int, processor: FileProcessor, bar: Progress, task: TaskID) -> None:
    for count in read_bytes:
        bar.update(task, documents=processor.counts.total(), completed=before + count)


def _from_check_ins(source: InputFiles, settings: Settings, processor: FileProcessor) -> Iterator[int]:
    """Judge a file of check-ins, batch by batch; how many bytes of the file were read."""
    for batch in jsonl.batches(source, settings.limits):
        processor.judge(batch)
        yield source.read_bytes()


def _from_topics(kafka: KafkaSettings, settings: Settings, processor: FileProcessor) -> Iterator[tuple[int, int]]:
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
            processor.judge(
                [decode_record(record, limits=limits, content_root=settings.content_root) for record in batch]
            )
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


def _from_verdicts(gate: Gate, path: Path, settings: Settings, processor: FileProcessor) -> Iterator[int]:
    """Check in the signatures that verdicts hold, batch by batch; how many bytes of the file were read."""
    lines, read = _lines(path), 0
    while batch := list(islice(lines, settings.limits.batch_documents)):
        read += sum(len(raw) + 1 for _, raw in batch)
        verdicts: list[VerdictEvent] = []
        for number, raw in batch:
            origin = Origin(file=str(path), line=number)
            try:
                verdicts.append(_decode_verdict(gate, raw, origin))
            except BadDocument as exc:
                processor.judge([RejectedMessage.of(exc, raw, origin=origin)])
        for before, after in zip(verdicts, _check_in(gate, verdicts), strict=True):
            processor.counts[after.relation.value] += 1
            if (before.similar, before.group) != (after.similar, after.group):
                processor.counts[OTHERWISE] += 1
        yield read


def _check_in(gate: Gate, verdicts: list[VerdictEvent]) -> list[Verdict]:
    return gate.check_in_signed(gate.signer.from_verdicts(verdicts))


def _decode_verdict(gate: Gate, raw: bytes, origin: Origin) -> VerdictEvent:
    try:
        verdict = wire.decode_verdict(raw)
        expected = gate.signer.verdict_id(verdict)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as exc:
        raise BadDocument("bad_json", f"{origin}: is no verdict of this version") from exc
    if expected != verdict.verdict_id or Degraded.UNCHECKED in verdict.degraded:
        raise BadDocument(
            "other_profile",
            f"{origin}: was judged under profile {verdict.profile}, not {gate.profile.ref}; or it was changed since",
        )
    return verdict
