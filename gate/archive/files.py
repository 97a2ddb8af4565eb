"""Find the files below some paths, in a stable order, each with the document id that it gets."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path


def find_files(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The files below the paths in the order of their names, folder by folder, each with its document id.

    With one folder the id is the path relative to it, so that an index may move with its folder; with several paths
    it is the path as it was given, so that equal names in two folders stay two documents. Hidden files and folders
    are left out unless they are named.
    """
    is_single = len(paths) == 1
    for path in paths:
        if path.is_dir():
            for file in _files_below(path):
                yield _document_id((file.relative_to(path) if is_single else file).as_posix()), file
        else:
            yield _document_id(path.as_posix()), path


def _files_below(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as scan:
            items = sorted(scan, key=lambda item: item.name)
    except OSError:
        yield folder  # reading it as a file fails with the same reason, which is then reported
        return
    for item in items:
        path = Path(item.path)
        if item.name.startswith("."):
            continue
        if item.is_dir(follow_symlinks=False):
            yield from _files_below(path)
        elif item.is_file(follow_symlinks=False) or (item.is_symlink() and _is_file_link(path)):
            yield path


def _is_file_link(link: Path) -> bool:
    """Whether a symbolic link counts as a file. A broken one does, so that it is reported; a link to a folder does not,
    since it may lead in a circle."""
    try:
        return stat.S_ISREG(link.stat().st_mode)
    except OSError:
        return True


def _document_id(name: str) -> str:
    """A file name as an id, which has to be valid Unicode: bytes that are not UTF-8 are written as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
