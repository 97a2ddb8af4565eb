"""Create files that only their owner may read: they hold documents, or tell which documents there are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

MODE = 0o600


def create_private(path: Path) -> None:
    """Create the file unless it exists; its mode is right from its first moment on.

    An existing file keeps the mode that its owner gave it. What goes wrong is reported by the open that follows.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))


@contextmanager
def open_replacement(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is complete. Where the writing fails, what was there stays."""
    part = part_of(path)
    part.unlink(missing_ok=True)
    create_private(part)
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def part_of(path: Path) -> Path:
    """The name of a file while it is not complete."""
    return path.with_name(f"{path.name}.part")
