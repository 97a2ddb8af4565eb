"""The benchmark of archives: every format holds the same documents, and each process is measured by itself."""

from __future__ import annotations

import sys
from pathlib import Path

from gate.archive.formats import NAMES
from load.bench_archive import (
    BARE,
    OURS,
    commands,
    dedupe_rows,
    in_each_format,
    quality_of,
    read_all,
    run_measured,
    work,
)
from load.corpus import Kind, PlantedDocument, Recipe, SyntheticCorpus

DOCUMENTS = list(SyntheticCorpus(1, 20, Recipe(words=60)))


def test_every_format_holds_all_documents(tmp_path: Path) -> None:
    found = {name: read_all(path)[0] for name, path in in_each_format(DOCUMENTS, tmp_path)}
    assert set(found.values()) == {20}
    assert len(found) > len(NAMES)


def test_the_memory_of_a_process_is_its_own() -> None:
    ballast = bytearray(b"x" * 200_000_000)  # of the process that starts it
    spent = run_measured([sys.executable, "-c", "print(sum(range(1000000)))"])
    assert len(ballast) > 0
    assert 1e6 < spent.memory_bytes < 100e6
    assert spent.cpu_seconds > 0


def test_deduplication_is_measured_beside_the_bare_gate(tmp_path: Path) -> None:
    source = tmp_path / "c.jsonl"
    source.write_text('{"document_id": "a", "text": "x"}\n')
    work(BARE, source, tmp_path / "out")
    assert {OURS, BARE, "text-dedup"} <= commands(source, tmp_path / "out", "python3").keys()
    rows, ratios = dedupe_rows(DOCUMENTS, 1, None, only=(OURS, BARE))
    assert [row["contender"] for row in rows] == [OURS, BARE]
    assert [row["what"] for row in ratios] == [f"{OURS}: times as fast as {BARE}"]


def test_whichever_of_a_family_survives_the_copy_is_found_and_the_base_is_not_lost() -> None:
    documents = [
        PlantedDocument(number=0, text="a", kind=Kind.BASE, original=None, jaccard=0.0),
        PlantedDocument(number=1, text="b", kind=Kind.COPY, original=0, jaccard=0.95),
        PlantedDocument(number=2, text="c", kind=Kind.BASE, original=None, jaccard=0.0),
    ]
    for kept, recall, lost in (({"0", "2"}, 100, 0), ({"1", "2"}, 100, 0), ({"0", "1", "2"}, 0, 0), ({"2"}, 100, 50)):
        row = quality_of(documents, kept)
        assert (row["recall J >= .9"], row["bases lost %"]) == (recall, lost)
