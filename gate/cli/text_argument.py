"""Read the one text that a command is about: a file that is named as an argument, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from gate.archive.text_files import read_text_file, read_text_stream
from gate.errors import BadDocument, ConfigError

STDIN = "-"


def read_text_argument(name: str | Path, *, max_chars: int) -> str:
    """The text of the one file that a command is about, or of standard input if it is named -."""
    try:
        if str(name) == STDIN:
            return read_text_stream(sys.stdin.buffer, max_chars=max_chars)
        return read_text_file(Path(name), max_chars=max_chars)
    except BadDocument as exc:
        raise ConfigError(f"{'standard input' if str(name) == STDIN else name}: {exc}") from exc
