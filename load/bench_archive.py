"""Archives and deduplication: `python -m load.bench_archive [--n 20000] [--rounds 3] [--text-dedup PYTHON] [--json]`.

Formats: the same documents of about 2 KB in every format that the gate reads, each read to its end and not judged; how
many documents and megabytes of text a second. The extraction of texts from PDF and the like is not among it.

Deduplication: one file of JSON Lines with 30 % planted copies, in, and a file of its survivors, out. Each contender is
a process of its own, whose CPU and largest memory are those that the system says, start and imports included; rounds
are interleaved. The bare gate decodes the lines and calls `check_in`, and writes nothing. The peers are asked for a
resemblance of .7, ours decides at .65. Speed without recall says nothing: the share of planted copies that were left
out, or survived in the place of their original, stands beside it, by band of their exact Jaccard, and the share of
originals of which nothing survived.

text-dedup wants other releases of some packages than we do, so it runs with a Python of its own that is named.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import io
import json
import lzma
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from gate.api import Gate
from gate.archive.parts import ArchivedEvent, SourceOptions
from gate.archive.source import Source
from gate.model import CheckIn
from gate.stream.field_names import FieldNames
from gate.wire import CheckInEvent
from load.bench_gate import BATCH, RECIPE, Datasketch, Rensa, Stream, quality
from load.corpus import Kind, PlantedDocument, SyntheticCorpus
from load.measure import BenchmarkReport, target_row
from tests.archive.packed_samples import mail_of, mbox_of, record_of, tar_of, zip_of

OURS, BARE, TEXT_DEDUP = "gate dedupe", "bare gate", "text-dedup"
TARGET = 0.8  # of the speed of the bare gate

# The largest memory of a process begins with that of the one that started it: a small one has to.
LAUNCHER = """
import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""


class CorpusLine(msgspec.Struct):
    document_id: str
    text: str


def in_each_format(documents: Sequence[PlantedDocument], folder: Path) -> Iterator[tuple[str, Path]]:
    """The files, made one at a time."""
    named = {f"{document.document_id}.txt": document.text for document in documents}
    lines = "".join(json_line(document) for document in documents).encode()
    makers: dict[str, Callable[[], bytes]] = {
        "c.jsonl": lambda: lines,
        "c.jsonl.gz": lambda: gzip.compress(lines, 6),
        "c.jsonl.bz2": lambda: bz2.compress(lines),
        "c.jsonl.xz": lambda: lzma.compress(lines, preset=1),
        "c.csv": lambda: table(documents),
        "c.tar": lambda: tar_of(named),
        "c.tar.gz": lambda: gzip.compress(tar_of(named), 6),
        "c.zip": lambda: zip_of(named),
        "c.warc.wet": lambda: b"".join(record_of("conversion", d.document_id, d.text.encode()) for d in documents),
        "c.mbox": lambda: mbox_of(*(mail_of(d.document_id, d.text) for d in documents)).encode(),
    }
    for name, make in makers.items():
        path = folder / name
        path.write_bytes(make())
        yield name.removeprefix("c."), path
        path.unlink()
    yield "parquet", parquet_of(documents, folder / "c.parquet")
    below = folder / "files"
    below.mkdir()
    for name, text in named.items():
        (below / name).write_text(text)
    yield "folder of .txt", below


def json_line(document: PlantedDocument) -> str:
    return json.dumps({"document_id": document.document_id, "text": document.text}) + "\n"


def table(documents: Sequence[PlantedDocument]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["document_id", "text"])
    writer.writerows([document.document_id, document.text] for document in documents)
    return text.getvalue().encode()


def parquet_of(documents: Sequence[PlantedDocument], path: Path) -> Path:
    import pyarrow
    from pyarrow import parquet

    columns = {"document_id": [d.document_id for d in documents], "text": [d.text for d in documents]}
    parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    return path


def read_all(path: Path) -> tuple[int, int]:
    """How many documents and bytes of text there are in a source."""
    count = size = 0
    options = SourceOptions(field_names=FieldNames())
    with Source([path], options) as source:
        for item in source:
            if item is not None and isinstance(item.result, ArchivedEvent):
                event = item.result.event
                assert isinstance(event, CheckInEvent)
                count += 1
                size += len(event.text or "")
    return count, size


def format_rows(documents: Sequence[PlantedDocument], rounds: int) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in in_each_format(documents, Path(folder)):
            times = []
            count = size = 0
            for _ in range(rounds):
                begun = time.perf_counter()
                count, size = read_all(path)
                times.append(time.perf_counter() - begun)
            assert count == len(documents), (name, count)
            seconds = statistics.median(times)
            packed = path.stat().st_size / 1e6 if path.is_file() else None
            rows.append(
                {"format": name, "documents/s": count / seconds, "MB/s": size / 1e6 / seconds, "MB of the file": packed}
            )
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a process has cost."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


def run_measured(command: Sequence[str]) -> Spent:
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, *command], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[1:5]} failed: {done.stderr.decode()[-500:]}")
    cpu_seconds, kilobytes = done.stdout.split()[-2:]
    return Spent(
        wall_seconds=time.perf_counter() - begun, cpu_seconds=float(cpu_seconds), memory_bytes=int(kilobytes) * 1024
    )


def commands(source: Path, out: Path, text_dedup: str | None) -> dict[str, list[str]]:
    worker = [sys.executable, "-m", "load.bench_archive", "--source", str(source), "--out", str(out), "--worker"]
    found = {
        OURS: [sys.executable, "-m", "gate", "dedupe", str(source), "--out", str(out), "--quiet"],
        BARE: [*worker, BARE],
        "datasketch LSH": [*worker, "datasketch LSH"],
        "rensa": [*worker, "rensa"],
    }
    if text_dedup is not None:
        arguments = ["--path", "json", "--data_files", str(source), "--split", "train", "--column", "text"]
        options = ["--threshold", "0.7", "--num_perm", "128", "--ngram", "3"]
        folder = out.with_suffix(".cache")
        places = ["--cache_dir", str(folder), "--output", str(out.with_suffix(".dataset"))]
        found[TEXT_DEDUP] = [text_dedup, "-m", "text_dedup.minhash", *arguments, *places, *options]
    return found


def work(name: str, source: Path, out: Path) -> None:
    """What a contender does in a process of its own."""
    with source.open("rb") as lines:
        if name == BARE:
            gate = Gate()
            decode = msgspec.json.Decoder(CorpusLine).decode
            while batch := [decode(line) for line in islice(lines, BATCH)]:
                gate.check_in([CheckIn(document_id=one.document_id, text=one.text) for one in batch])
            return
        stream: Stream = Datasketch() if name == "datasketch LSH" else Rensa()
        with out.open("wb") as survivors:
            for number, line in enumerate(lines):
                fields = json.loads(line)
                document = PlantedDocument(
                    number=number, text=fields["text"], kind=Kind.BASE, original=None, jaccard=0.0
                )
                if not stream.take([document])[0]:
                    survivors.write(line)


def survivors_of(name: str, out: Path, python: str | None) -> set[str]:
    if name != TEXT_DEDUP:
        return {json.loads(line)["document_id"] for line in out.read_bytes().splitlines()}
    program = "import sys, datasets; print(*datasets.load_from_disk(sys.argv[1])['document_id'], sep='\\n')"
    command = [str(python), "-c", program, str(out.with_suffix(".dataset"))]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def quality_of(documents: Sequence[PlantedDocument], kept: set[str]) -> dict[str, Any]:
    """A copy is found if it did not survive beside its original, whichever of a family does. A base document is lost if
    neither it nor any copy of it survived."""
    left_out = [document.document_id not in kept for document in documents]
    row = quality(documents, [gone or left_out[d.original or 0] for d, gone in zip(documents, left_out)])
    bases = {document.number for document in documents if document.kind is Kind.BASE}
    alive = {d.number if d.original is None else d.original for d, gone in zip(documents, left_out) if not gone}
    del row["bases flagged %"]
    return {**row, "bases lost %": round(100 * len(bases - alive) / len(bases), 2)}


def dedupe_rows(
    documents: Sequence[PlantedDocument], rounds: int, text_dedup: str | None, *, only: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "corpus.jsonl", Path(folder) / "survivors.jsonl"
        source.write_text("".join(map(json_line, documents)))
        chosen = {name: one for name, one in commands(source, out, text_dedup).items() if not only or name in only}
        spent: dict[str, list[Spent]] = {name: [] for name in chosen}
        found: dict[str, dict[str, Any]] = {}
        for turn in range(rounds):
            names = [*chosen]
            for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
                spent[name].append(run_measured(chosen[name]))
                if name != BARE and name not in found:
                    kept = survivors_of(name, out, text_dedup)
                    found[name] = quality_of(documents, kept)
    rows = [
        {
            "contender": name,
            "documents/s of CPU": len(documents) / statistics.median(one.cpu_seconds for one in all_spent),
            "seconds": statistics.median(one.wall_seconds for one in all_spent),
            "MB of memory": statistics.median(one.memory_bytes for one in all_spent) / 1e6,
            **found.get(name, {}),
        }
        for name, all_spent in spent.items()
    ]
    ratios = [
        target_row(
            f"{OURS}: times as fast as {name}",
            statistics.median(b.cpu_seconds / a.cpu_seconds for a, b in zip(spent[OURS], spent[name])),
            at_least=TARGET if name == BARE else None,
        )
        for name in spent
        if name != OURS
    ]
    return rows, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20_000, help="documents")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--text-dedup", metavar="PYTHON", help="a Python that has text-dedup")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker, arguments.source, arguments.out)
        return
    documents = list(SyntheticCorpus(arguments.seed, arguments.n, RECIPE))
    report = BenchmarkReport("archives", {"documents": arguments.n, "rounds": arguments.rounds})
    report.add("Reading", format_rows(documents, arguments.rounds))
    rows, ratios = dedupe_rows(documents, arguments.rounds, arguments.text_dedup)
    report.add("Deduplication of JSON Lines", rows)
    report.add("Targets", ratios)
    report.show(as_json=arguments.json)


if __name__ == "__main__":
    main()
