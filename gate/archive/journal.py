"""The journal of a replay: a file that says how far each source file has been replayed, and survives any crash.

The first line says what is replayed and where to. Every other line is a checkpoint: a file is done, or is done up to a
line. A checkpoint is written after the documents that it covers are safe at the target, so a replay that is resumed may
repeat a few documents and skips none. A file that was changed since has another key, and is read from its beginning.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from gate.errors import ConfigError, Unavailable
from gate.private_files import create_private

SUFFIX = ".journal"
_VERSION = 1


class Checkpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file is done: all of it, or its lines, or documents, up to the one of that number."""

    file_key: str
    line: int | None = None


class ReplayJob(msgspec.Struct, frozen=True):
    """What is replayed, and where to."""

    sources: tuple[str, ...]
    target: str
    version: int = _VERSION


_checkpoint_decoder = msgspec.json.Decoder(Checkpoint)
_job_decoder = msgspec.json.Decoder(ReplayJob)
_encode = msgspec.json.Encoder().encode


def default_journal_path(job: ReplayJob, environ: dict[str, str]) -> Path:
    """A file for this job alone, in the user's state folder."""
    state = environ.get("XDG_STATE_HOME") or "~/.local/state"
    name = hashlib.blake2b(_encode(job), digest_size=8).hexdigest()
    return Path(state).expanduser() / "gate" / f"replay-{name}{SUFFIX}"


class Journal:
    """The checkpoints of one job. One process may hold it at a time; `ConfigError` refuses the others."""

    def __init__(self, path: Path, job: ReplayJob, *, resume: bool) -> None:
        self.path = path
        self._done: set[str] = set()
        self._lines: dict[str, int] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            create_private(path)
            self._file = path.open("a+b")
        except OSError as exc:
            raise ConfigError(f"{path}: cannot be written: {exc.strerror}; name another by --journal") from exc
        try:
            self._open(job, resume=resume)
        except BaseException:
            self._file.close()
            raise

    def _open(self, job: ReplayJob, *, resume: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(
                f"{self.path}: another replay of the same sources is running; wait for it, or stop it"
            ) from None
        if resume:
            self._load(job)
        else:
            self._file.truncate(0)
        if self._file.seek(0, os.SEEK_END) == 0:
            self._write([_encode(job)])

    def _load(self, job: ReplayJob) -> None:
        self._file.seek(0)
        for number, raw in enumerate(self._file):
            try:
                if number == 0:
                    if _job_decoder.decode(raw) != job:
                        raise ConfigError(
                            f"{self.path}: is the journal of another replay; give the same sources and target, or "
                            "another --journal"
                        )
                    continue
                self._apply(_checkpoint_decoder.decode(raw))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if number == 0:
                    raise ConfigError(f"{self.path}: is not a replay journal; name another by --journal") from None
                # A line that a crash cut off: what it covered is replayed again.
        self._file.seek(0, os.SEEK_END)
        self._end_line()

    def _end_line(self) -> None:
        if size := self._file.tell():
            self._file.seek(size - 1)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")
                self._file.flush()

    def is_done(self, file_key: str) -> bool:
        return file_key in self._done

    def last_line(self, file_key: str) -> int:
        """The line up to which a file is done; 0 where none is."""
        return self._lines.get(file_key, 0)

    def append(self, checkpoints: Iterable[Checkpoint]) -> None:
        new = list(checkpoints)
        for checkpoint in new:
            self._apply(checkpoint)
        self._write([_encode(checkpoint) for checkpoint in new])

    def _apply(self, checkpoint: Checkpoint) -> None:
        if checkpoint.line is None:
            self._done.add(checkpoint.file_key)
            self._lines.pop(checkpoint.file_key, None)
        else:
            self._lines[checkpoint.file_key] = checkpoint.line

    def _write(self, lines: list[bytes]) -> None:
        try:
            self._file.write(b"".join(line + b"\n" for line in lines))
            self._file.flush()
        except OSError as exc:
            raise Unavailable(f"{self.path}: cannot be written: {exc.strerror}") from exc

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
