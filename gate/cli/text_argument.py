"""Read the one text that a command is about: a file of any format that is named as an argument, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from gate.archive.text_files import decode_text, unreadable
from gate.errors import BadDocument, ConfigError
from gate.extract.formats import HEAD_BYTES, is_plain_text
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ReadOptions

STDIN = "-"


def read_text_argument(name: str | Path, options: ReadOptions) -> str:
    """The text of the one file that a command is about, or of standard input if it is named -."""
    try:
        return _read(str(name), options)
    except BadDocument as exc:
        raise ConfigError(f"{'standard input' if str(name) == STDIN else name}: {exc}") from exc


def _read(name: str, options: ReadOptions) -> str:
    most = options.limits.max_file_bytes
    try:
        if name == STDIN:
            data = sys.stdin.buffer.read(most + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(most + 1)
    except OSError as exc:
        raise unreadable(exc) from exc
    if options.encoding is None and is_plain_text(data[:HEAD_BYTES]):
        try:
            return decode_text(data, max_chars=options.limits.max_chars)
        except BadDocument as exc:
            if exc.code == "too_large":
                raise
    with ExtractorPool(options=options, processes=1) as pool:
        result = pool.extract(data)
    if isinstance(result, BadDocument):
        raise result
    return result.text
