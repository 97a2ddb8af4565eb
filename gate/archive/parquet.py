"""Parquet: each row is a document. A child process decodes the file, ahead of what is taken from its pipe."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import msgspec

from gate.archive.bounds import seekable
from gate.archive.parquet_child import TOO_MUCH_MEMORY, ChildOptions
from gate.archive.parts import OpenFile, Part, SourceOptions
from gate.archive.records import OTHER_FIELDS, TypedRow, event_of_row
from gate.errors import BadDocument
from gate.extract.child import costs_memory
from gate.extract.text_of import damaged, encrypted
from gate.stream.field_names import DATE_FIELD, ID_FIELD, TEXT_FIELD

INSTALL = "pip install 'checkin-gate[parquet]'"
_MARK, _ENCRYPTED_MARK = b"PAR1", b"PARE"


def is_parquet(head: bytes, name: str, options: SourceOptions) -> bool:
    return head.startswith((_MARK, _ENCRYPTED_MARK))


def read_parquet(opened: OpenFile) -> Iterator[Part]:
    if opened.head.startswith(_ENCRYPTED_MARK):
        raise encrypted("a Parquet file")
    arrow = import_arrow("pyarrow")
    names = opened.options.field_names
    text_column = names.text or TEXT_FIELD
    columns = (names.document_id or ID_FIELD, text_column, names.date or DATE_FIELD, *OTHER_FIELDS)
    limits = opened.options.read.limits
    options = ChildOptions(
        columns=None if opened.options.keep_records else columns,
        cpu_seconds=limits.cpu_seconds,
        memory_bytes=limits.memory_bytes,
    )
    number = 0
    with seekable(opened.stream, opened.unpacking) as file, _child(file, options) as child:
        try:
            with arrow.ipc.open_stream(child.stdout) as batches:
                if text_column not in batches.schema.names:
                    raise BadDocument("missing_field", f"has no column {text_column!r}; name it: --text-field")
                for batch in batches:
                    opened.unpacking.add_bytes(batch.nbytes)
                    for row in batch.to_pylist():
                        number += 1
                        typed = TypedRow(row, batch.schema) if opened.options.keep_records else row
                        yield event_of_row(typed, number, opened)
        except (arrow.ArrowException, OSError, ValueError, OverflowError) as exc:
            raise _why_it_ended(child, options, opened) from exc
        if child.wait() != 0:
            raise _why_it_ended(child, options, opened)


def import_arrow(name: str) -> Any:
    try:
        importlib.import_module("pyarrow.ipc")
        return importlib.import_module(name)
    except ImportError as exc:
        raise BadDocument("not_installed", f"is a Parquet file; to read those: {INSTALL}") from exc


@contextmanager
def _child(file: IO[bytes], options: ChildOptions) -> Iterator[subprocess.Popen[bytes]]:
    descriptor = file.fileno()
    file.seek(0)
    process = subprocess.Popen(  # noqa: S603 - this interpreter, and a module of this package
        [sys.executable, "-P", "-m", "gate.archive.parquet_child", str(descriptor), msgspec.json.encode(options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # libraries print what they do not like, with pieces of the file
        pass_fds=(descriptor,),
    )
    try:
        yield process
    finally:
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        process.wait()


def _why_it_ended(child: subprocess.Popen[bytes], options: ChildOptions, opened: OpenFile) -> BadDocument:
    status = child.wait()
    if status in (TOO_MUCH_MEMORY, -signal.SIGKILL, -signal.SIGABRT):
        return BadDocument("too_costly", costs_memory(opened.options.read.limits))
    if status == -signal.SIGXCPU:
        return BadDocument(
            "too_costly", f"takes more than {options.cpu_seconds} s of CPU for a few rows; raise extract.cpu_seconds"
        )
    return damaged("Parquet file")
