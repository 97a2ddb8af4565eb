"""Which documents there are below some paths, and what they are called."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path


def find(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The documents below the paths, in a stable order, each with its id.

    With one folder the id is the path relative to it, so that an index may move with its folder; with several paths
    it is the path as it was given, so that equal names in two folders stay two documents. Hidden files and folders
    are left out unless they are named.
    """
    alone = len(paths) == 1
    for path in paths:
        if path.is_dir():
            for file in _below(path):
                yield _spelled((file.relative_to(path) if alone else file).as_posix()), file
        else:
            yield _spelled(path.as_posix()), path


def _below(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            inside = sorted(found, key=lambda entry: entry.name)
    except OSError:
        yield folder  # to be read like a file, in vain: so it is told with its reason, and the rest goes on
        return
    for entry in inside:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path)
        elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and _leads_to_a_file(path)):
            yield path


def _leads_to_a_file(link: Path) -> bool:
    """Whether a link is a document. One that leads nowhere is, so that it is told; a folder might be a circle."""
    try:
        return stat.S_ISREG(link.stat().st_mode)
    except OSError:
        return True


def _spelled(name: str) -> str:
    """A file name as an id: bytes that are no UTF-8 are spelled out, because an id has to be valid Unicode."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
