"""Reads the files of deploy/ for its tests: dashboards, rules, the Dockerfile and the compose file."""

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
    dashboard: dict[str, Any] = json.loads(path.read_bytes())
    return dashboard


def panel_expressions() -> Iterator[tuple[str, str]]:
    """Each expression of the dashboards, after its place: file, panel and query."""
    for path in DASHBOARDS:
        for panel in read_dashboard(path)["panels"]:
            for target in panel.get("targets", []):
                yield f"{path.stem}, {panel['title']}, {target['refId']}", target["expr"]


def rules(kind: str) -> dict[str, dict[str, Any]]:
    """The rules of a kind, `alert` or `record`, by name."""
    groups = [group for path in sorted((PROMETHEUS / "rules").glob("*.yml")) for group in read_yaml(path)["groups"]]
    return {rule[kind]: rule for group in groups for rule in group["rules"] if kind in rule}


def operands(expression: str) -> list[str]:
    """What an alert compares: its expression split at `and`, `or`, `<`, `>`, `==` outside of brackets, without numbers.

    An alert that does not fire returns no data, but its operands do.
    """
    parts, depth, start = [], 0, 0
    for match in re.finditer(r"[({\[]|[)}\]]|\band\b|\bor\b|[<>]=?|==", expression):
        if match[0] in "({[":
            depth += 1
        elif match[0] in ")}]":
            depth -= 1
        elif depth == 0:
            parts.append(expression[start : match.start()])
            start = match.end()
    parts.append(expression[start:])
    return [part.strip() for part in parts if not re.fullmatch(r"[\d.]+", part.strip())]


# The image and the compose file

SERVICES: dict[str, dict[str, Any]] = read_yaml(COMPOSE)["services"]


def dockerfile() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, without comments and line breaks."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in dockerfile() if name == instruction]


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in arguments("ENV") for pair in shlex.split(line))


def gate_environment(service: str) -> dict[str, str]:
    """The GATE_ variables of this service, those of its image included."""
    environment = {**image_environment(), **SERVICES[service].get("environment", {})}
    defaults = {name: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", str(value)) for name, value in environment.items()}
    return {name: value for name, value in defaults.items() if name.startswith("GATE_")}


def healthcheck() -> list[str]:
    """The health check of the image, run by this Python."""
    [check] = arguments("HEALTHCHECK")
    python, *rest = json.loads(check.partition("CMD ")[2])
    assert python == "python"
    return [sys.executable, *rest]
