"""The documents of files, folders and archives of any format, as one stream in their order.

paths ──find──▶ files ──FileReader──▶ events, files to extract ──ParallelExtraction──▶ SourceItem ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from gate.archive.extraction import ParallelExtraction
from gate.archive.parts import ArchiveFile, EndOfFile, ReadItem, SourceItem, SourceOptions
from gate.archive.readers import FileReader, files_of, find_archive
from gate.wire import RejectedMessage


def from_the_beginning(file: ArchiveFile) -> int | None:
    return 0


class Source:
    """Iterate over it once, in a `with` block: it gives a `SourceItem` for each document, deletion, or problem, and one
    at the end of each file; and None where the input pauses.

    links and hidden files that were found are in `found`. `files` may be filtered before the iteration.
    """

    def __init__(self, paths: Sequence[Path], options: SourceOptions | None = None) -> None:
        self.options = options or SourceOptions()
        self.only: Callable[[ArchiveFile, int | None], bool] | None = None  # False: the text is not extracted
        self.found = find_archive(paths, self.options)
        self.files = files_of(self.found, paths)
        self._extraction = ParallelExtraction(self.options.read, self.options.processes)
        self._bytes_before = 0  # of the files that are read
        self._hidden_members = 0
        self._reader: FileReader | None = None

    @property
    def total_bytes(self) -> int | None:
        """None where standard input is among the sources."""
        return sum(file.size_bytes for file in self.files) if all(file.path for file in self.files) else None

    def read_bytes(self) -> int:
        """How many bytes of all files have been read. Some documents are read ahead."""
        return self._bytes_before + (self._reader.read_bytes() if self._reader is not None else 0)

    @property
    def hidden(self) -> int:
        """Hidden files and folders that were left out so far, in archives too."""
        return self.found.hidden + self._hidden_members + (self._reader.hidden if self._reader is not None else 0)

    def __iter__(self) -> Iterator[SourceItem | None]:
        return self.after(from_the_beginning)

    def after(self, done: Callable[[ArchiveFile], int | None]) -> Iterator[SourceItem | None]:
        """The items of each file behind the position that `done` names. None: all of the file is done."""
        is_complete = True
        for item in self._extraction.in_order(self._read(done)):
            if item is None:
                yield None
                continue
            file, position, result = item
            if result is EndOfFile.READ:
                yield item if is_complete else SourceItem(file, None, EndOfFile.UNREADABLE)
                is_complete = True
            else:
                is_complete &= position is not None or not isinstance(result, RejectedMessage)
                yield item

    def _read(self, done: Callable[[ArchiveFile], int | None]) -> Iterator[ReadItem | None]:
        for file in self.files:
            after = done(file)
            if after is None:
                yield ReadItem(file, None, EndOfFile.SKIPPED)
            else:
                self._reader = FileReader(file, self.options, after=after)
                yield from filter(self._is_wanted, self._reader)
                self._hidden_members += self._reader.hidden
            self._reader = None
            self._bytes_before += file.size_bytes

    def _is_wanted(self, item: ReadItem | None) -> bool:
        if item is None or self.only is None or isinstance(item.result, (EndOfFile, RejectedMessage)):
            return True
        return self.only(item.file, item.position)

    def close(self) -> None:
        self._extraction.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
