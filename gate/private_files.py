"""Create files that only their owner may read: they hold documents, or tell which documents there are."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MODE = 0o600


def create_private(path: Path) -> None:
    """Create the file unless it exists; its mode is right from its first moment on.

    An existing file keeps the mode that its owner gave it. What goes wrong is reported by the open that follows.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))
