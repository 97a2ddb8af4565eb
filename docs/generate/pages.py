"""The pages of the reference by file name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs.generate import command_line, messages, metrics, profiles, service, settings

FOLDER = Path(__file__).parents[1] / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line.page,
    "settings.md": settings.page,
    "profiles.md": profiles.page,
    "messages.md": messages.page,
    "metrics.md": metrics.page,
    "http.md": service.page,
}
