"""Run `gate` in this process, and the events that many of its tests check in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from gate.cli import main
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


def gate(*arguments: str | Path, stdin: str | bytes | None = None, **environ: str) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin, env=environ)


def done(*arguments: str | Path, stdin: str | bytes | None = None, **environ: str) -> Result:
    result = gate(*arguments, stdin=stdin, **environ)
    assert result.exit_code == 0, result.output
    return result


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def event(document_id: str, text: str, **more: Any) -> str:
    return json.dumps({"document_id": document_id, "text": text, **more}) + "\n"


EVENTS = (
    event("a", LIGHTHOUSE)
    + event("b", BREAD, version="1")
    + event("gone", "A short-lived text about the moon, the tide, seven boats and the price of a good rope in May.")
    + event("c", EDITED)
    + event("b", BRIDGE, version="2")
    + event("d", "Too short")
    + event("e", "")
    + '{"document_id": "gone", "type": "delete"}\n'
    + event("f", LIGHTHOUSE.upper())
)


def without_time(verdict: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the name of the profile, and on the time."""
    return {k: v for k, v in verdict.items() if k not in ("profile", "verdict_id", "judged_at")}
