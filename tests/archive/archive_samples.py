"""Write archives of tests, and read them back: documents by id, rejections by code and message."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backports import zstd

from gate.archive.files import DEFAULT_SELECTION, FileSelection
from gate.archive.parts import ArchivedEvent, EndOfFile, SourceOptions
from gate.archive.source import Source
from gate.limits import Limits
from gate.wire import CheckInEvent, RejectedMessage

LIMITS = Limits(max_document_chars=1000)
NOON = datetime(2020, 5, 17, 12, tzinfo=UTC)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


def read(
    *paths: Path, limits: Limits = LIMITS, selection: FileSelection = DEFAULT_SELECTION, **options: Any
) -> list[ArchivedEvent | RejectedMessage | None]:
    after = options.pop("after", 0)
    source_options = SourceOptions(limits=limits, selection=selection, processes=1, **options)
    with Source(paths, source_options) as source:
        results = [item and item.result for item in source.after(lambda file: after)]
    return [result for result in results if not isinstance(result, EndOfFile)]


def documents(*paths: Path, **options: Any) -> dict[str, str | None]:
    results = read(*paths, **options)
    events = [one.event for one in results if isinstance(one, ArchivedEvent)]
    assert len(events) == len(results), results
    return {event.document_id: event.text for event in events if isinstance(event, CheckInEvent)}


def rejections(*paths: Path, **options: Any) -> list[tuple[str, str]]:
    return [(one.error.code, str(one.error)) for one in read(*paths, **options) if isinstance(one, RejectedMessage)]


def problems(*paths: Path, **options: Any) -> list[tuple[str, str]]:
    """Why documents have no text."""
    results = [one.problem for one in read(*paths, **options) if isinstance(one, ArchivedEvent)]
    return [(problem.code, str(problem)) for problem in results if problem is not None]


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    return path


def line(document_id: str, text: str = "text", **more: Any) -> str:
    return json.dumps({"document_id": document_id, "text": text, **more}) + "\n"
