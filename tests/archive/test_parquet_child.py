"""The child that decodes Parquet: what it writes, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow
from pyarrow import ipc, parquet

from gate.archive.parquet_child import NO_PARQUET, ChildOptions


def run(path: Path, options: ChildOptions) -> subprocess.CompletedProcess[bytes]:
    with path.open("rb") as file:
        arguments = [str(file.fileno()), msgspec.json.encode(options).decode()]
        return subprocess.run(
            [sys.executable, "-P", "-m", "gate.archive.parquet_child", *arguments],
            pass_fds=(file.fileno(),),
            capture_output=True,
            check=False,
        )


OPTIONS = ChildOptions(cpu_seconds=10, memory_bytes=1 << 30)


def test_rows_come_as_a_stream_of_arrow_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "t"
    parquet.write_table(pyarrow.table({"a": list(range(1000)), "b": ["x"] * 1000}), path)
    done = run(path, msgspec.structs.replace(OPTIONS, columns=("b", "missing")))
    batches = list(ipc.open_stream(done.stdout))
    assert [batch.num_rows for batch in batches] == [256, 256, 256, 232]
    assert batches[0].schema.names == ["b"]


def test_what_is_none_ends_with_a_code_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"PAR1 and no more")
    done = run(path, OPTIONS)
    assert (done.returncode, done.stdout, done.stderr) == (NO_PARQUET, b"", b"")
