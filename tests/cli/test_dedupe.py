"""`gate dedupe`: one survivor of each family, whatever it is written as, and the same after any interruption."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from load.corpus import SyntheticCorpus
from tests.archive.packed_samples import tar_of
from tests.cli.command import EDITED, done, gate, lines

pytestmark = pytest.mark.usefixtures("empty_folder")


def rows(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


CORPUS = (
    {"id": 1, "text": LIGHTHOUSE, "day": "2020-01-02", "tags": ["a"]},
    {"id": 2, "text": BREAD, "day": "2020-01-02", "tags": []},
    {"id": 3, "text": EDITED + " And more.", "day": "2020-01-01", "tags": ["b"]},
    {"id": 4, "text": LIGHTHOUSE.upper(), "day": "2020-01-03", "tags": []},
    {"id": 5, "text": BRIDGE, "day": "2020-01-03", "tags": []},
)
MAPPED = ("--id-field", "id", "--date-field", "day")


def ids(path: Path) -> list[int]:
    return [one["id"] for one in lines(path.read_text())]


def test_survivors_of_json_lines_are_the_same_bytes(tmp_path: Path) -> None:
    source = rows(tmp_path / "c.jsonl", *CORPUS)
    done("dedupe", source, "--out", tmp_path / "out.jsonl", *MAPPED)
    kept = source.read_bytes().splitlines(keepends=True)
    assert (tmp_path / "out.jsonl").read_bytes() == kept[0] + kept[1] + kept[4]
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "out.jsonl"]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("first", [1, 2, 5]),
        ("oldest", [2, 3, 5]),
        ("newest", [2, 4, 5]),
        ("longest", [2, 3, 5]),
        ("path:[34]", [2, 3, 5]),
    ],
)
def test_a_rule_chooses_the_survivor_of_a_family(tmp_path: Path, keep: str, expected: list[int]) -> None:
    source = rows(tmp_path / "c.jsonl", *CORPUS)
    done("dedupe", source, "--out", tmp_path / "out.jsonl", "--keep", keep, *MAPPED)
    assert ids(tmp_path / "out.jsonl") == expected


def test_a_rule_that_is_none_is_refused(tmp_path: Path) -> None:
    source = rows(tmp_path / "c.jsonl", *CORPUS)
    for keep in ("best", "path:", "path"):
        assert gate("dedupe", source, "--keep", keep).exit_code == 2


def test_records_without_ids_are_numbered(tmp_path: Path) -> None:
    source = rows(tmp_path / "c.jsonl", *({"text": one["text"]} for one in CORPUS))
    result = done("dedupe", source, "--list", "copies")
    assert result.stdout.splitlines() == [f"{source}:3", f"{source}:4"]


def test_survivors_of_a_table_keep_the_types_of_their_columns(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist([*CORPUS])
    table = table.set_column(0, "id", table["id"].cast(pyarrow.int16()))
    parquet.write_table(table, tmp_path / "c.parquet")
    done("dedupe", tmp_path / "c.parquet", "--out", tmp_path / "out.parquet", *MAPPED)
    assert parquet.read_table(tmp_path / "out.parquet").equals(table.take([0, 1, 4]))
    done("dedupe", tmp_path / "c.parquet", "--out", tmp_path / "out.jsonl", *MAPPED)
    assert lines((tmp_path / "out.jsonl").read_text()) == [CORPUS[0], CORPUS[1], CORPUS[4]]


def test_records_of_different_columns_are_refused_as_a_table(tmp_path: Path) -> None:
    source = rows(tmp_path / "c.jsonl", {"id": 1, "text": LIGHTHOUSE}, {"id": 2, "text": BREAD, "more": 1})
    result = gate("dedupe", source, "--out", tmp_path / "out.parquet", "--id-field", "id")
    assert (result.exit_code, "write JSON Lines instead" in result.stderr) == (2, True)
    assert not (tmp_path / "out.parquet").exists()


def folder_of_copies(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    for number, (name, text) in enumerate((("a.txt", LIGHTHOUSE), ("sub/b.txt", EDITED), ("c.txt", BREAD))):
        (folder / name).write_text(text)
        os.utime(folder / name, (1_600_000_000 + number, 1_600_000_000 + number))
    return folder


@pytest.mark.parametrize("link", [False, True])
def test_files_are_copied_or_linked_under_their_paths(tmp_path: Path, link: bool) -> None:
    source = folder_of_copies(tmp_path / "in")
    options = ["--link"] if link else []
    done("dedupe", source, "--out", tmp_path / "out", "--keep", "path:sub/*", *options)
    written = {
        str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    assert sorted(written) == ["c.txt", "sub/b.txt"]
    for name, path in written.items():
        assert path.read_bytes() == (source / name).read_bytes()
        assert path.samefile(source / name) is link
    assert sorted(path.name for path in source.rglob("*.txt")) == ["a.txt", "b.txt", "c.txt"]


def test_a_folder_that_holds_files_or_is_read_is_refused(tmp_path: Path) -> None:
    source = folder_of_copies(tmp_path / "in")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("x")
    for out in (tmp_path / "full", source / "out", source):
        assert gate("dedupe", source, "--out", out).exit_code == 2
    assert (tmp_path / "full" / "kept").read_text() == "x"


def test_lists_name_files_by_their_paths(tmp_path: Path) -> None:
    source = folder_of_copies(tmp_path / "in")
    result = done("dedupe", source, "--list", "survivors", "--print0")
    assert result.stdout.split("\0") == [str(source / "a.txt"), str(source / "c.txt"), ""]
    assert done("dedupe", source, "--list", "copies").stdout == f"{source / 'sub/b.txt'}\n"


def test_a_table_says_what_is_kept_in_the_place_of_each_copy(tmp_path: Path) -> None:
    source = folder_of_copies(tmp_path / "in")
    done("dedupe", source, "--csv", tmp_path / "t.csv", "--keep", "newest")
    with (tmp_path / "t.csv").open(newline="") as file:
        table = {row["document"]: row for row in csv.DictReader(file)}
    assert {name: (row["kept"], row["verdict"], row["like"], row["survivor"]) for name, row in table.items()} == {
        "a.txt": ("no", "new", "", "sub/b.txt"),
        "sub/b.txt": ("yes", "near", "a.txt", "sub/b.txt"),
        "c.txt": ("yes", "new", "", "c.txt"),
    }


def test_what_another_index_knows_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text(LIGHTHOUSE)
    done("check", tmp_path / "old.txt", "--index", tmp_path / "i.sqlite")
    source = rows(tmp_path / "c.jsonl", *CORPUS)
    before = done("index", "info", "--index", tmp_path / "i.sqlite", "--json").stdout
    arguments = ("dedupe", source, "--against", tmp_path / "i.sqlite", *MAPPED)
    done(*arguments, "--out", tmp_path / "out.jsonl", "--csv", tmp_path / "t.csv")
    assert ids(tmp_path / "out.jsonl") == [2, 5]
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["like"] for row in csv.DictReader(file) if row["kept"] == "no"] == [str(tmp_path / "old.txt")] * 3
    assert done("index", "info", "--index", tmp_path / "i.sqlite", "--json").stdout == before
    assert gate("dedupe", source, "--against", tmp_path / "none.sqlite").exit_code == 2


def test_documents_of_archives_become_records(tmp_path: Path) -> None:
    (tmp_path / "c.tar").write_bytes(tar_of({"a.txt": LIGHTHOUSE, "b.txt": EDITED, "c.txt": BREAD}))
    done("dedupe", tmp_path / "c.tar", "--out", tmp_path / "out.jsonl")
    written = lines((tmp_path / "out.jsonl").read_text())
    assert [(one["document_id"], one["text"]) for one in written] == [("a.txt", LIGHTHOUSE), ("c.txt", BREAD)]
    result = done("dedupe", tmp_path / "c.tar", "--out", tmp_path / "out", "--json")
    assert lines(result.stdout)[0]["not_files"] == 2


def test_the_summary_counts_families_and_copies(tmp_path: Path) -> None:
    source = rows(tmp_path / "c.jsonl", *CORPUS, {"id": 6})
    result = gate("dedupe", source, *MAPPED, "--json")
    [summary] = lines(result.stdout)
    assert (summary["documents"], summary["survivors"], summary["copies"]) == (5, 3, 2)
    assert summary["relations"] == {"new": 3, "exact": 1, "near": 1}
    assert result.exit_code == 1  # a record cannot be read
    assert "survivors" in done("dedupe", rows(source, *CORPUS), *MAPPED).stdout


def corpus(path: Path, documents: int) -> Path:
    """With copies far behind their originals, so that a run that forgot something would keep others."""
    return rows(path, *({"document_id": one.document_id, "text": one.text} for one in SyntheticCorpus(5, documents)))


@pytest.mark.parametrize("options", [(), ("--on-disk",)])
def test_a_run_that_was_killed_and_resumed_gives_the_same_survivors(tmp_path: Path, options: tuple[str, ...]) -> None:
    source = corpus(tmp_path / "c.jsonl", 4000)
    done("dedupe", source, "--out", tmp_path / "whole.jsonl", *options)
    command = [sys.executable, "-m", "gate", "dedupe", str(source), "--out", str(tmp_path / "out.jsonl"), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    state = tmp_path / "out.jsonl.dedupe"
    while process.poll() is None and judged(state) < 500:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = judged(state)
    assert 500 <= before < 4000
    assert not (tmp_path / "out.jsonl").exists()
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    other = gate("dedupe", source, "--out", tmp_path / "out.jsonl", "--resume", "--profile", "simhash", *options)
    assert (other.exit_code, "with other options" in other.stderr) == (2, True)
    result = done("dedupe", source, "--out", tmp_path / "out.jsonl", "--resume", "--json", *options)
    assert lines(result.stdout)[0]["documents"] == 4000
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not state.exists()


def judged(state: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{state / 'state.sqlite'}?mode=ro", uri=True)) as connection:
            [count] = connection.execute("SELECT count(*) FROM documents").fetchone()
            return int(count)
    except sqlite3.Error:
        return 0


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    source = rows(tmp_path / "c.jsonl", *CORPUS)
    for arguments in (
        ["--out", tmp_path / "none" / "x.jsonl"],
        ["--csv", tmp_path / "none" / "x"],
        ["--link"],
        ["--print0"],
    ):
        assert gate("dedupe", source, *arguments).exit_code == 2
    assert gate("dedupe", "-").exit_code == 2
    assert list(tmp_path.iterdir()) == [source]


def test_what_the_run_writes_is_not_read_by_the_next(tmp_path: Path) -> None:
    rows(tmp_path / "c.jsonl", *CORPUS)
    for _ in range(2):
        result = done(
            "dedupe", tmp_path, "--out", tmp_path / "out.jsonl", "--csv", tmp_path / "t.csv", *MAPPED, "--json"
        )
        assert lines(result.stdout)[0]["documents"] == 5
