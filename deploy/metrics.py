"""Write docs/metrics.md anew: `make boards`. A test fails when it differs from what the gate tells."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from gate import metrics
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"

HEAD = """\
# What is measured and logged

`gate run --kafka ... --http-port PORT` serves `/metrics`, `/healthz` and `/readyz` there; with `--workers N` one port
tells of all workers together. Nothing here holds a document's text. This page is written by `make boards`.

The match rate, for one:

```promql
sum(rate(gate_verdicts_total{similar="true"}[5m])) / sum(rate(gate_verdicts_total[5m]))
```

`deploy/` has dashboards, recording rules and alerts made of these, and a runbook.

## Metrics

A histogram `x` is asked for as `x_bucket`, `x_sum` and `x_count`.

| metric | kind | labels | what |
|---|---|---|---|
"""

LOG = """
Labels are bounded: the first 50 sources have a label of their own and later ones are counted as `other`; a check-in
without a source counts as `none`.

## Log events

One JSON object a line on stderr (`log_format`), with `event`, `level`, `timestamp` and `worker`. Libraries are heard
from WARNING on, whatever the `log_level`. An error is told by its type and its place in the code; its message only
where the gate or the system wrote it, since any other may quote a document.

"""


def page() -> str:
    registry = CollectorRegistry()
    parts: list[object] = [WorkerMetrics(registry), SupervisorMetrics(registry, workers=1)]
    process_metrics = WorkerProcessCollector(dict)
    registry.register(process_metrics)
    rows = [
        f"| `{name}` | {kind} | {labels} | {what} |\n" for name, kind, labels, what in _metrics(parts, process_metrics)
    ]
    named = ", ".join(f"`{event}`" for event in events()) + "."
    return HEAD + "".join(sorted(rows)) + LOG + textwrap.fill(named, 120) + "\n"


def _metrics(parts: list[object], process_metrics: WorkerProcessCollector) -> list[tuple[str, str, str, str]]:
    described: list[tuple[Metric, Sequence[str]]] = []
    for part in parts:
        for metric in vars(part).values():
            if hasattr(metric, "_labelnames"):
                [family] = metric.describe()
                described.append((family, metric._labelnames))
    described += [(family, family._labelnames) for family in process_metrics.collect()]
    return [
        (
            family.name + ("_total" if family.type == "counter" else ""),
            family.type,
            ", ".join(f"`{label}`" for label in labels),
            family.documentation,
        )
        for family, labels in described
    ]


def events() -> list[str]:
    """The names of all events, read from the one module that logs."""
    source = Path(metrics.__file__).read_text()
    plain = set(re.findall(r'"([a-z_]+\.[a-z_]+)"', source))
    made = {f"partitions.{kind}" for kind in ("assigned", "revoked")}
    made |= {f"{what}.{state}" for what in ("index", "broker") for state in ("away", "back")}
    return sorted(plain | made)


if __name__ == "__main__":
    PAGE.write_text(page())
