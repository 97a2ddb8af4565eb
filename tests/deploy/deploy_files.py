"""What deploy/ says: files, expressions, rules. Shared by the tests of deploy/."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
COMPOSE = DEPLOY / "compose.yaml"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))


def read_yaml(path: Path) -> Any:
    return msgspec.yaml.decode(path.read_bytes())


def read_dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def panel_expressions() -> Iterator[tuple[str, str]]:
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


# The image and the compose file

SERVICES: dict[str, dict[str, Any]] = read_yaml(COMPOSE)["services"]


def dockerfile() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile with their arguments, comments and line breaks left out."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in dockerfile() if name == instruction]


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in arguments("ENV") for pair in shlex.split(line))


def gate_environment(service: str) -> dict[str, str]:
    """What a gate in this service sees, the variables of its image included."""
    given = {**image_environment(), **SERVICES[service].get("environment", {})}
    return {name: str(value) for name, value in given.items() if name.startswith("GATE_")}


def healthcheck() -> list[str]:
    """The command of the image, for this Python."""
    [check] = arguments("HEALTHCHECK")
    python, *rest = json.loads(check.partition("CMD ")[2])
    assert python == "python"
    return [sys.executable, *rest]
