"""Files that are gone from disk, and the documents of an index that were made of them.

`gate check` keeps the path of each file as the URI of its document:

    file:///home/ann/notes/a.txt         in an index that is a file itself
    file://host/home/ann/notes/a.txt     in an index on a server, which folders of several machines may share

A document is of a folder if all that the index holds of it came from files below that folder, so the same id in two
folders is of neither. A file is gone only where the system says that there is none by that name: not where it cannot
be looked for. Hence a document that something else checked in is never taken for one whose file is gone.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gate.api import Gate
from gate.core.document_details import decode_details
from gate.errors import ConfigError
from gate.index.redis.url import is_redis_url
from gate.index.scan import Document, ScannableStore
from gate.model import Verdict
from gate.numbers import counted

REMEMBERED_FOLDERS = 4096
REMEMBERED_DOCUMENTS = 100_000  # whether their files are gone


class FileUris:
    """The URIs of local files in an index, and the way back."""

    def __init__(self, index: str) -> None:
        self._prefix = f"file://{platform.node() if is_redis_url(index) else ''}"

    def of(self, path: Path) -> str:
        return self._prefix + quote_from_bytes(os.fsencode(_below(_resolved(str(path.parent.absolute()))) + path.name))

    def path(self, uri: str | None) -> str | None:
        """None: it is no file of this machine."""
        if uri is None or not uri.startswith(f"{self._prefix}/"):
            return None
        return os.fsdecode(unquote_to_bytes(uri.removeprefix(self._prefix)))


@lru_cache(maxsize=REMEMBERED_FOLDERS)
def _resolved(folder: str) -> str:
    return os.path.realpath(folder)


def _below(folder: str) -> str:
    """What the path of everything in a folder begins with."""
    return f"{folder.rstrip('/')}/"


class GoneDocument(NamedTuple):
    """A document whose file is gone."""

    document_id: str
    path: str


class GoneFiles:
    """Knows which documents of an index were files that are gone. The documents of `present` are there: they are
    judged now, whatever path they had before."""

    def __init__(self, gate: Gate, uris: FileUris, present: frozenset[str]) -> None:
        self._gate = gate
        self._uris = uris
        self._present = present
        self._known: dict[str, bool] = {}

    def among(self, verdicts: Iterable[Verdict]) -> frozenset[str]:
        """Of the documents that verdicts name as matches or originals, those whose files are gone."""
        named = {match.document_id for verdict in verdicts for match in verdict.matches}
        named |= {verdict.group for verdict in verdicts if verdict.matches}
        named = named - self._present  # not -=, which would go through all that are present
        unknown = sorted(named - self._known.keys())
        if unknown:
            if len(self._known) + len(unknown) > REMEMBERED_DOCUMENTS:
                self._known, unknown = {}, sorted(named)
            contents = self._gate.with_store(lambda store: store.documents(unknown))
            for document_id, held in zip(unknown, contents, strict=True):
                self._known[document_id] = self._file_of(Document(document_id, held), ("/",)) is not None
        return frozenset(document_id for document_id in named if self._known[document_id])

    def below(self, folders: Sequence[Path]) -> list[GoneDocument]:
        """The documents of these folders whose files are gone. ConfigError: all of a folder is."""
        roots = tuple(_below(os.path.realpath(folder)) for folder in folders)
        gone = self._gate.with_store(lambda store: self._scan(store, roots))
        for folder, root in zip(folders, roots, strict=True):
            count = sum(one.path.startswith(root) for one in gone)
            if count and not any(folder.iterdir()):
                raise ConfigError(
                    f"{folder}: is empty, and {counted(count, 'document')} of the index came from it; mount what is "
                    "missing, or delete them by their ids with `gate delete`"
                )
        return gone

    async def _scan(self, store: ScannableStore, roots: tuple[str, ...]) -> list[GoneDocument]:
        gone: list[GoneDocument] = []
        async for documents in store.scan().documents():
            gone += [
                GoneDocument(document.document_id, path)
                for document in documents
                if document.document_id not in self._present and (path := self._file_of(document, roots)) is not None
            ]
        return sorted(gone)

    def _file_of(self, document: Document, roots: tuple[str, ...]) -> str | None:
        """The file that a document was, below one of the roots; None: it is there, or the document is not of them."""
        paths = set()
        for held in document.contents:
            details = decode_details(held.details)
            path = self._uris.path(details.uri) if details is not None else None
            if path is None or not path.startswith(roots):
                return None
            paths.add(path)
        return max(paths) if paths and all(map(_is_gone, paths)) else None


def _is_gone(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
