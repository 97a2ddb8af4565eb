"""Writes monitoring/rules.yaml: the rules of deploy/prometheus/rules as a PrometheusRule of the Prometheus operator.

`make boards` runs it; a test fails when the file is not what this prints.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

DEPLOY = Path(__file__).parents[1]
RULES = DEPLOY / "kubernetes" / "monitoring" / "rules.yaml"


def prometheus_rule() -> str:
    """One PrometheusRule with the groups of all rule files."""
    groups = [
        group
        for path in sorted((DEPLOY / "prometheus" / "rules").glob("*.yml"))
        for group in msgspec.yaml.decode(path.read_bytes())["groups"]
    ]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "gate"},
        "spec": {"groups": groups},
    }
    return "# Written from deploy/prometheus/rules by `make boards`.\n" + msgspec.yaml.encode(rule).decode()


if __name__ == "__main__":
    RULES.write_text(prometheus_rule())
