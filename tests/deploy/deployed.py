"""What deploy/ says: files, expressions, rules. Shared by the tests of deploy/."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))


def read_yaml(path: Path) -> Any:
    return msgspec.yaml.decode(path.read_bytes())


def read_dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def shown_expressions() -> Iterator[tuple[str, str]]:
    """Each expression of a dashboard, and where it stands."""
    for path in DASHBOARDS:
        for panel in read_dashboard(path)["panels"]:
            for target in panel.get("targets", []):
                yield f"{path.stem}, {panel['title']}, {target['refId']}", target["expr"]


def rules(kind: str) -> dict[str, dict[str, Any]]:
    """Rules of a kind, `alert` or `record`, by name."""
    groups = [group for path in sorted((PROMETHEUS / "rules").glob("*.yml")) for group in read_yaml(path)["groups"]]
    return {rule[kind]: rule for group in groups for rule in group["rules"] if kind in rule}


def operands(expression: str) -> list[str]:
    """What an alert compares: its expression cut at `and`, `or`, `<`, `>`, `==` outside of brackets, numbers left out.

    An alert that is silent returns nothing, so what can be asked for data are the things that it looks at.
    """
    parts, depth, begun = [], 0, 0
    for found in re.finditer(r"[({\[]|[)}\]]|\band\b|\bor\b|[<>]=?|==", expression):
        if found[0] in "({[":
            depth += 1
        elif found[0] in ")}]":
            depth -= 1
        elif depth == 0:
            parts.append(expression[begun : found.start()])
            begun = found.end()
    parts.append(expression[begun:])
    return [part.strip() for part in parts if not re.fullmatch(r"[\d.]+", part.strip())]
