"""Read the files of archives: open, decompress and recognise each, and read the files within it in the same way."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from gate.archive.bounds import Unpacking
from gate.archive.compression import is_compressed, open_decompressed, strip_compression_suffix
from gate.archive.files import FoundFile, FoundFiles, find_files, is_hidden, is_selected
from gate.archive.formats import DOCUMENT, JSON_LINES, detect, named
from gate.archive.json_lines import first_date_ns
from gate.archive.parts import (
    ArchivedEvent,
    ArchiveFile,
    EndOfFile,
    FileFormat,
    Member,
    OpenFile,
    ReadItem,
    ReadResult,
    SourceOptions,
    UnreadDocument,
    reject,
)
from gate.archive.streams import as_buffered, peek_head
from gate.archive.text_files import unreadable
from gate.errors import BadDocument, Unavailable
from gate.stream import jsonl
from gate.wire import RejectedMessage

STDIN = jsonl.STDIN
STDIN_NAME = "stdin.jsonl"  # the name by which the format of standard input is recognised
HEAD_BYTES = 8192


def archive_files(paths: Sequence[Path], options: SourceOptions) -> list[ArchiveFile]:
    """The files below the paths, in the order of the selection."""
    return files_of(find_archive(paths, options), paths)


def find_archive(paths: Sequence[Path], options: SourceOptions) -> FoundFiles:
    """`find_files`, where a file of events is as old as its first event, and standard input comes last."""
    return find_files(paths, options.selection, date_ns=lambda found: _date_ns(found, options))


def files_of(found: FoundFiles, paths: Sequence[Path]) -> list[ArchiveFile]:
    is_only_source = len(found.files) == 1 and not any(path.is_dir() for path in paths)
    return [_archive_file(one, is_only_source=is_only_source) for one in found.files]


def _archive_file(found: FoundFile, *, is_only_source: bool) -> ArchiveFile:
    if str(found.path) == STDIN:
        return ArchiveFile(name=STDIN, path=None, is_only_source=is_only_source)
    return ArchiveFile(
        name=found.document_id,
        path=found.path,
        size_bytes=found.size_bytes,
        modified_ns=found.modified_ns,
        is_only_source=is_only_source,
    )


def _date_ns(found: FoundFile, options: SourceOptions) -> int:
    if str(found.path) == STDIN:
        return sys.maxsize
    name = strip_compression_suffix(found.document_id)
    if not JSON_LINES.fits(b"", name, options) or not found.path.is_file():  # a pipe can be read only once
        return found.modified_ns
    try:
        with found.path.open("rb") as opened:
            date_ns = first_date_ns(open_decompressed(opened), options)
    except (OSError, BadDocument):
        date_ns = None  # what is wrong with the file is reported when it is read
    return found.modified_ns if date_ns is None else date_ns


def is_archive(stream: BinaryIO, name: str, options: SourceOptions) -> bool:
    """Whether a file of events is one of another format, or compressed. A pipe is taken as lines of events."""
    if not stream.seekable():
        return False
    start = stream.read(HEAD_BYTES)
    stream.seek(0)
    if options.format is not None:
        return options.format != JSON_LINES.name or is_compressed(start)
    return is_compressed(start) or detect(start, name, options) not in (JSON_LINES, DOCUMENT)


class FileReader:
    """The documents of one file with their positions, and how many of its bytes have been read.

    Nothing is raised for what the file holds. None: the input pauses."""

    def __init__(self, file: ArchiveFile, options: SourceOptions, *, after: int = 0) -> None:
        self._archive_file = file
        self._options = options
        self._after = after
        self._file: io.BufferedReader | None = None
        self._format: FileFormat = DOCUMENT
        packed_bytes = file.size_bytes if file.path is not None and file.path.is_file() else None
        self._unpacking = Unpacking(options.archive, packed_bytes)

    def read_bytes(self) -> int:
        return 0 if self._file is None or self._file.closed or not self._file.seekable() else self._file.tell()

    @property
    def hidden(self) -> int:
        """Hidden files in the archive, which were left out."""
        return self._unpacking.hidden

    def __iter__(self) -> Iterator[ReadItem | None]:
        """What is behind `after`, and an end."""
        file, count = self._archive_file, 0
        for result in self._results():
            if result is None:
                yield None
                continue
            count += 1
            position = self._position(result, count)
            if position is None or position > self._after:
                yield ReadItem(file, position, result)
        yield ReadItem(file, None, EndOfFile.READ)

    def _position(self, result: ArchivedEvent | UnreadDocument | RejectedMessage, count: int) -> int | None:
        origin = result.origin
        if origin is None or (origin.file == self._archive_file.name and origin.line is None):
            return None  # the file as a whole
        return origin.line if self._format is JSON_LINES else count

    def _results(self) -> Iterator[ReadResult]:
        file = self._archive_file
        with ExitStack() as stack:
            try:
                stream = self._open(stack)
                self._file = stream if file.path is not None else None
                is_dated = file.path is not None and self._options.dates_from_files
                opened, depth = _unpacked(
                    OpenFile(
                        name=file.name,
                        document_id=file.name,
                        inner_prefix="" if file.is_only_source else f"{file.name}/",
                        stream=stream,
                        head=b"",
                        options=self._options,
                        modified_at=_modified_at(stream) if is_dated else None,
                        after_line=self._after,
                        path=file.path,
                        size_bytes=file.size_bytes,
                        unpacking=self._unpacking,
                    ),
                    depth=0,
                )
                self._format = self._recognise(opened)
                yield from _read(self._format, opened, depth=depth)
            except (OSError, BadDocument, Unavailable) as exc:
                yield reject(file.name, _problem(exc), size_bytes=file.size_bytes)

    def _recognise(self, opened: OpenFile) -> FileFormat:
        if self._options.format is not None:
            return named(self._options.format)
        name = STDIN_NAME if self._archive_file.path is None else strip_compression_suffix(opened.name)
        return detect(opened.head, name, self._options)

    def _open(self, stack: ExitStack) -> io.BufferedReader:
        if self._archive_file.path is None:
            stdin = sys.stdin.buffer
            return stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[arg-type]
        return stack.enter_context(self._archive_file.path.open("rb"))


def _problem(error: OSError | BadDocument | Unavailable) -> BadDocument:
    if isinstance(error, BadDocument):
        return error
    if isinstance(error, OSError):
        return unreadable(error)
    return BadDocument("unreadable", "reading it failed half-way")


def _unpacked(opened: OpenFile, *, depth: int) -> tuple[OpenFile, int]:
    """The file without its compressions, its first bytes, and how deep in others it is now."""
    opened.unpacking.check_depth(depth)
    stream = as_buffered(opened.stream)
    while (decompressed := open_decompressed(stream, max_ratio=opened.unpacking.limits.max_ratio)) is not stream:
        stream, depth = as_buffered(decompressed), depth + 1
        opened = replace(opened, path=None, size_bytes=None)
        opened.unpacking.check_depth(depth)
    head, stream = peek_head(stream, HEAD_BYTES)
    return replace(opened, stream=stream, head=head), depth


def _read(chosen: FileFormat, opened: OpenFile, *, depth: int) -> Iterator[ReadResult]:
    """The parts of a file, and in the place of a file within it the parts of that."""
    for part in chosen.read(opened):
        if not isinstance(part, Member):
            yield part
            continue
        opened.unpacking.add_member()
        if part.is_path and not is_selected(part.name, opened.options.selection):
            opened.unpacking.hidden += is_hidden(part.name)
            continue
        yield from _read_member(part, opened, depth=depth + 1)
        opened.unpacking.check()


def _read_member(member: Member, parent: OpenFile, *, depth: int) -> Iterator[ReadResult]:
    """What is wrong with one file in an archive is the rejection of that one."""
    name, document_id = f"{parent.name}/{member.name}", f"{parent.inner_prefix}{member.name}"
    try:
        opened, depth = _unpacked(
            OpenFile(
                name=name,
                document_id=document_id,
                inner_prefix=f"{document_id}/",
                stream=as_buffered(member.stream),
                head=b"",
                options=parent.options,
                modified_at=(member.modified_at if parent.options.dates_from_files else None) or parent.modified_at,
                size_bytes=member.size_bytes,
                uri=member.uri or parent.uri,
                unpacking=parent.unpacking,
            ),
            depth=depth,
        )
        chosen = detect(opened.head, strip_compression_suffix(name), opened.options)
        yield from _read(chosen, opened, depth=depth)
    except BadDocument as exc:
        yield reject(name, exc, size_bytes=member.size_bytes or 0)


def _modified_at(file: io.BufferedReader) -> datetime | None:
    """When a file was last modified: the check-in time of documents that name none."""
    try:
        return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except (OSError, ValueError, OverflowError):  # file systems hold times that Python cannot represent
        return None
