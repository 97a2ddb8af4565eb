"""Settings files of tests, and the problems that they cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.config.settings import load_settings
from gate.errors import ConfigError


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def problems(
    toml: str = "", *, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None
) -> list[str]:
    """What is wrong with these settings; `toml` is the content of gate.toml."""
    write(Path("gate.toml"), toml)
    with pytest.raises(ConfigError) as caught:
        load_settings(flags or {}, environ or {})
    return list(caught.value.problems)
