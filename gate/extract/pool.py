"""Child processes that extract texts: started once, asked often, killed and replaced one by one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

import msgspec

from gate.errors import BadDocument, GateError
from gate.extract.child import costs_memory
from gate.extract.limits import ExtractLimits
from gate.extract.messages import LENGTH, READY, Request, Response, pack
from gate.extract.text_of import ExtractedText, ReadOptions

_CHUNK_BYTES = 1 << 20
_START_SECONDS = 120  # of an interpreter on a machine that is busy
_BYTES_PER_CHARACTER = 4
_OTHER_BYTES = 1 << 16  # of a response, beside its text and title

Done = TypeVar("Done")
Result = ExtractedText | BadDocument


class ExtractorPool:
    """Extracts texts on several cores. Close it, or use it in a `with` block."""

    def __init__(self, *, options: ReadOptions | None = None, processes: int | None = None) -> None:
        self._options = options or ReadOptions()
        self.processes = processes or len(os.sched_getaffinity(0))
        self._idle: SimpleQueue[_Child] = SimpleQueue()
        self._children = [_Child() for _ in range(self.processes)]
        for child in self._children:
            self._idle.put(child)
        self._threads = ThreadPoolExecutor(self.processes, thread_name_prefix="extract")

    def submit(self, file: Path | bytes) -> Future[Result]:
        return self.run(lambda: self.ask(file))

    def extract(self, file: Path | bytes) -> Result:
        return self.submit(file).result()

    def run(self, work: Callable[[], Done]) -> Future[Done]:
        """Do some work beside, in the order of the calls, as many at once as there are processes. It may `ask`."""
        return self._threads.submit(work)

    def ask(self, file: Path | bytes) -> Result:
        """Extract a file, and wait for that."""
        request = (
            Request(path=str(file), options=self._options)
            if isinstance(file, Path)
            else Request(data=file, options=self._options)
        )
        child = self._idle.get()
        try:
            return child.ask(request)
        finally:
            self._idle.put(child)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.stop()
        self._threads.shutdown(wait=True)

    def __enter__(self) -> ExtractorPool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _TimeOut(Exception):
    pass


class _Ended(Exception):
    pass


class _Child:
    """One process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Request) -> Result:
        limits = request.options.limits
        try:
            process = self._process or self._start()
            deadline = time.monotonic() + limits.wall_seconds
            _write(process, pack(request), deadline)
            response = _read(process, limits, deadline)
        except _TimeOut:
            self.stop()
            return BadDocument(
                "too_costly", f"takes more than {limits.wall_seconds} s to read; raise extract.wall_seconds"
            )
        except _Ended:
            return _why_it_ended(self.stop(), limits)
        if response.is_last:
            self.stop()
        return response.result()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gate.extract.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # libraries print what they do not like, with pieces of the file
            bufsize=0,
        )
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        _read_bytes(self._process, len(READY), time.monotonic() + _START_SECONDS)
        return self._process

    def stop(self) -> int:
        """End the process by its own handle, and say how it ended."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            return process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _why_it_ended(status: int, limits: ExtractLimits) -> BadDocument:
    if status == -signal.SIGXCPU:
        return BadDocument("too_costly", f"takes more than {limits.cpu_seconds} s of CPU; raise extract.cpu_seconds")
    if status in (-signal.SIGKILL, -signal.SIGABRT):  # a library that gets no memory aborts
        return BadDocument("too_costly", costs_memory(limits))
    return BadDocument("damaged", "made its reader crash; save it again with another program")


def _write(process: subprocess.Popen[bytes], data: bytes, deadline: float) -> None:
    assert process.stdin is not None  # noqa: S101
    view = memoryview(data)
    while view:
        _wait(process.stdin.fileno(), select.POLLOUT, deadline)
        try:
            view = view[process.stdin.write(view[:_CHUNK_BYTES]) or 0 :]
        except OSError as exc:
            raise _Ended from exc


def _read(process: subprocess.Popen[bytes], limits: ExtractLimits, deadline: float) -> Response:
    (length,) = LENGTH.unpack(_read_bytes(process, LENGTH.size, deadline))
    if length > 2 * limits.max_chars * _BYTES_PER_CHARACTER + _OTHER_BYTES:
        process.kill()
        raise GateError(f"the child that extracts texts sent {length:,} bytes")
    return msgspec.msgpack.decode(_read_bytes(process, length, deadline), type=Response)


def _read_bytes(process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
    assert process.stdout is not None  # noqa: S101
    data = bytearray()
    while len(data) < size:
        _wait(process.stdout.fileno(), select.POLLIN, deadline)
        chunk = process.stdout.read(min(size - len(data), _CHUNK_BYTES))
        if chunk == b"":
            raise _Ended
        data += chunk or b""
    return bytes(data)


def _wait(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise _TimeOut
