"""The files that a command itself writes: one that lies in a folder of documents is not taken for a document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.index.redis.url import is_redis_url
from gate.private_files import part_of

_OF_SQLITE = ("", "-wal", "-shm", "-journal")


def own_files(settings: Settings, written: Iterable[Path | None] = ()) -> frozenset[Path]:
    """The index, if it is a file, and what is written, each with what is made beside it; absolute paths."""
    names = set()
    if settings.index != MEMORY and not is_redis_url(settings.index):
        names |= {Path(f"{settings.index}{suffix}").absolute() for suffix in _OF_SQLITE}
    for path in written:
        if path is not None:
            names |= {path.absolute(), part_of(path).absolute()}
    return frozenset(names)
