"""Find the files below some paths: each once, in a stable order, with the document id that it gets.

A file with several names is one document. The name that is no symbolic link is preferred, and of hard links the first
in the order; the other names are returned as links. A symbolic link whose file is not found by another name is read
after all files that are no links, so that it is never the original of one, and only if its file is below the folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

_OF_MAILDIR = ("cur", "new", "tmp")


class Order(StrEnum):
    """The order of files, which decides which of two similar documents was first."""

    DATE = "date"  # oldest first; of equal dates by name
    NAME = "name"  # folder by folder
    GIVEN = "given"  # the paths as they were given, each folder in the order of its names


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSelection:
    """Which files of a folder are read, and in which order. A path that is given by itself is always read.

    A pattern is a glob: one with a slash matches paths relative to the folder, one without matches names. `exclude`
    applies to folders too, and wins over `include`.
    """

    order: Order = Order.DATE
    hidden: bool = False
    follow_links: bool = False  # also to files outside of the folder
    include: tuple[str, ...] = ()  # empty: all
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that is a document, or holds some. Size and time are 0 where they could not be read."""

    document_id: str
    path: Path
    size_bytes: int = 0
    modified_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Another name of a file, which is no document of its own.

    `target` is the document id of the file, or, of a symbolic link that was not followed, the path that it holds.
    """

    document_id: str
    target: str
    kind: Literal["symbolic", "hard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFiles:
    """What was found. `hidden` counts the hidden files and folders that were left out."""

    files: list[FoundFile]
    links: list[Link]
    hidden: int


DEFAULT_SELECTION = FileSelection()


def modified_ns(file: FoundFile) -> int:
    return file.modified_ns


def modified_at(file: FoundFile) -> datetime | None:
    """When a file was last modified; None: not known, or a time that Python cannot represent."""
    try:
        return datetime.fromtimestamp(file.modified_ns / 1e9, UTC) if file.modified_ns else None
    except (ValueError, OverflowError, OSError):
        return None


def find_files(
    paths: Sequence[Path],
    selection: FileSelection = DEFAULT_SELECTION,
    *,
    date_ns: Callable[[FoundFile], int] = modified_ns,
) -> FoundFiles:
    """The files below the paths in the order of the selection, each with its document id.

    With one folder the id is the path relative to it, so that an index may move with its folder; with several paths
    it is the path as it was given, so that equal names in two folders stay two documents.
    """
    walk = _Walk(selection)
    distinct = list({_resolved_name(path): path for path in reversed(paths)}.values())[::-1]
    candidates = [one for path in distinct for one in walk.candidates(path, is_single=len(distinct) == 1)]
    files: list[FoundFile] = []
    links: list[Link] = []
    by_inode: dict[tuple[int, int], FoundFile] = {}
    for candidate in _sorted([one for one in candidates if not one.is_link], selection.order, date_ns):
        known = by_inode.setdefault(candidate.inode, candidate.file) if candidate.status else candidate.file
        if known is candidate.file:
            files.append(candidate.file)
        elif _resolved_name(known.path) == _resolved_name(candidate.file.path):
            continue  # found below two of the paths
        elif candidate.status is not None and candidate.status.st_nlink > 1:
            links.append(
                Link(document_id=candidate.file.document_id, target=known.document_id, kind="hard"),
            )
        else:
            files.append(candidate.file)  # a file system without inode numbers
    for candidate in _sorted([one for one in candidates if one.is_link], selection.order, date_ns):
        if candidate.status is None:
            files.append(candidate.file)  # a broken link: reading it fails with the reason, which is then reported
            continue
        is_read = candidate.root is None or (
            stat.S_ISREG(candidate.status.st_mode)
            and (selection.follow_links or _is_below(candidate.file.path, candidate.root))
        )
        target = by_inode.get(candidate.inode)
        if target is None and is_read:
            by_inode[candidate.inode] = candidate.file
            files.append(candidate.file)
        else:
            name = target.document_id if target is not None else _document_id(str(candidate.file.path.readlink()))
            links.append(Link(document_id=candidate.file.document_id, target=name, kind="symbolic"))
    return FoundFiles(files=files, links=links, hidden=walk.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    file: FoundFile
    root: Path | None  # the folder below which it was found; None: it was given by itself
    status: os.stat_result | None  # of the file, behind the link if it is one; None: it cannot be read
    is_link: bool

    @property
    def inode(self) -> tuple[int, int]:
        return (self.status.st_dev, self.status.st_ino) if self.status is not None else (-1, -1)


@dataclass(slots=True)
class _Walk:
    """Finds the candidates below paths, and counts what is hidden."""

    selection: FileSelection
    hidden: int = field(default=0, init=False)

    def candidates(self, path: Path, *, is_single: bool) -> Iterator[_Candidate]:
        if not path.is_dir():
            yield _candidate(path.as_posix(), path, root=None)
            return
        for file in self._files_below(path, path):
            name = PurePosixPath((file.relative_to(path) if is_single else file).as_posix())
            if (named := _name_in_maildir(name, file.parent)) is not None:
                yield _candidate(named.as_posix(), file, root=path)

    def _files_below(self, folder: Path, root: Path) -> Iterator[Path]:
        try:
            with os.scandir(folder) as scan:
                items = sorted(scan, key=lambda item: item.name)
        except OSError:
            yield folder  # reading it as a file fails with the same reason, which is then reported
            return
        for item in items:
            path = Path(item.path)
            if item.name.startswith(".") and not self.selection.hidden:
                self.hidden += 1
                continue
            relative = path.relative_to(root).as_posix()
            if any(_matches(relative, pattern) for pattern in self.selection.exclude):
                continue
            if item.is_dir(follow_symlinks=False):
                yield from self._files_below(path, root)
            elif item.is_file(follow_symlinks=False) or item.is_symlink():
                include = self.selection.include
                if not include or any(_matches(relative, pattern) for pattern in include):
                    yield path


def _candidate(name: str, path: Path, *, root: Path | None) -> _Candidate:
    try:
        status = path.stat()
    except OSError:
        file, found = FoundFile(document_id=_document_id(name), path=path), None
    else:
        file, found = (
            FoundFile(
                document_id=_document_id(name), path=path, size_bytes=status.st_size, modified_ns=status.st_mtime_ns
            ),
            status,
        )
    return _Candidate(file=file, root=root, status=found, is_link=path.is_symlink())


def _sorted(candidates: list[_Candidate], order: Order, date_ns: Callable[[FoundFile], int]) -> list[_Candidate]:
    def name(one: _Candidate) -> tuple[str, ...]:
        return PurePosixPath(one.file.document_id).parts

    match order:
        case Order.GIVEN:
            return candidates
        case Order.NAME:
            return sorted(candidates, key=name)
        case Order.DATE:
            return sorted(candidates, key=lambda one: (date_ns(one.file), name(one)))


def _matches(relative: str, pattern: str) -> bool:
    """Whether a path relative to the folder, or its last part, fits a pattern."""
    pattern = pattern.removesuffix("/")
    return fnmatchcase(relative if "/" in pattern else relative.rpartition("/")[2], pattern)


def is_hidden(name: str) -> bool:
    """Whether a part of a path in an archive is hidden."""
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))


def is_selected(name: str, selection: FileSelection) -> bool:
    """Whether a file in an archive is read, by the rules for those of a folder."""
    if is_hidden(name) and not selection.hidden:
        return False
    parts = name.split("/")
    paths = ["/".join(parts[: count + 1]) for count in range(len(parts))] if selection.exclude else []
    if any(_matches(path, pattern) for path in paths for pattern in selection.exclude):
        return False
    return not selection.include or any(_matches(name, pattern) for pattern in selection.include)


def _resolved_name(path: Path) -> str:
    """The path with all links resolved but a last one: equal for two ways to one name."""
    return os.path.realpath(path) if not path.is_symlink() else f"{os.path.realpath(path.parent)}/{path.name}"


def _is_below(link: Path, root: Path) -> bool:
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))


def _name_in_maildir(name: PurePosixPath, folder: Path) -> PurePosixPath | None:
    """The name of a mail in a Maildir without its folder and its flags, which change as it is read. None: it is still
    being delivered."""
    if folder.name not in _OF_MAILDIR or not all((folder.parent / one).is_dir() for one in _OF_MAILDIR):
        return name
    return None if folder.name == "tmp" else name.parent.parent / name.name.partition(":2,")[0]


def _document_id(name: str) -> str:
    """A file name as an id, which has to be valid Unicode: bytes that are not UTF-8 are written as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
