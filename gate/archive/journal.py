"""How far an archive has been replayed, in a file that outlives any way in which the replay may end.

The first line says what is replayed and where to. Each other line is a fact that stays true: a file is done, or it is
done up to a line. Facts are written behind what they tell of, so a replay that goes on may repeat a little and leaves
nothing out. A file that was changed since is another file, and is read from its beginning.
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

SUFFIX = ".journal"
_VERSION = 1


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file is done: all of it, or its lines up to one."""

    mark: str
    line: int | None = None


class Task(msgspec.Struct, frozen=True):
    """What is replayed, and where to."""

    sources: tuple[str, ...]
    target: str
    version: int = _VERSION


_fact = msgspec.json.Decoder(Fact)
_task = msgspec.json.Decoder(Task)
_encode = msgspec.json.Encoder().encode


def default_path(task: Task, environ: dict[str, str]) -> Path:
    """A file of its own for every task, where the user's programs keep their state."""
    state = environ.get("XDG_STATE_HOME") or "~/.local/state"
    name = hashlib.blake2b(_encode(task), digest_size=8).hexdigest()
    return Path(state).expanduser() / "gate" / f"replay-{name}{SUFFIX}"


class Journal:
    """The facts of one task. Whoever holds it is the only one: `ConfigError` tells the others."""

    def __init__(self, path: Path, task: Task, *, resume: bool) -> None:
        self.path = path
        self._done: set[str] = set()
        self._lines: dict[str, int] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
        except OSError as exc:
            raise ConfigError(f"{path}: cannot be written: {exc.strerror}; name another by --journal") from exc
        try:
            self._begin(task, resume=resume)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, task: Task, *, resume: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"{self.path}: another replay of the same is at work; wait for it, or end it") from None
        if resume:
            self._recall(task)
        else:
            self._file.truncate(0)
        if self._file.seek(0, os.SEEK_END) == 0:
            self._write([_encode(task)])

    def _recall(self, task: Task) -> None:
        self._file.seek(0)
        for number, raw in enumerate(self._file):
            try:
                if number == 0:
                    if _task.decode(raw) != task:
                        raise ConfigError(
                            f"{self.path}: is the journal of another replay; give the same sources and target, or "
                            "another --journal"
                        )
                    continue
                self._add(_fact.decode(raw))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if number == 0:
                    raise ConfigError(f"{self.path}: is no journal of a replay; name another by --journal") from None
                # A line that was cut off: what it told of is done again.
        self._file.seek(0, os.SEEK_END)
        self._end_line()

    def _end_line(self) -> None:
        if size := self._file.tell():
            self._file.seek(size - 1)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")
                self._file.flush()

    def is_done(self, mark: str) -> bool:
        return mark in self._done

    def line(self, mark: str) -> int:
        """The last line of a file that is done; 0 where none is."""
        return self._lines.get(mark, 0)

    def note(self, facts: Iterable[Fact]) -> None:
        new = list(facts)
        for fact in new:
            self._add(fact)
        self._write([_encode(fact) for fact in new])

    def _add(self, fact: Fact) -> None:
        if fact.line is None:
            self._done.add(fact.mark)
            self._lines.pop(fact.mark, None)
        else:
            self._lines[fact.mark] = fact.line

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
