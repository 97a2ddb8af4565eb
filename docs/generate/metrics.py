"""The page of metrics and log events, from the classes that hold the metrics and the module that logs."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric

from docs.generate.markdown import GENERATED, code, table
from gate import metrics
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector

HEAD = f"""\
# Metrics and log events

{GENERATED}\
`gate run --kafka ... --http-port PORT` serves `/metrics`, `/healthz` and `/readyz` on that port; with `--workers N` one
port serves the metrics of all workers together. No metric and no log line holds a document's text.

The match rate:

```promql
sum(rate(gate_verdicts_total{{similar="true"}}[5m])) / sum(rate(gate_verdicts_total[5m]))
```

The folder `deploy/` has dashboards, recording rules and alerts made of these metrics, and a runbook.

## Metrics

A histogram `x` has the series `x_bucket`, `x_sum` and `x_count`.

"""

LOG = """
Labels are bounded: the first 50 sources have a label of their own and later ones are counted as `other`; a check-in
without a source counts as `none`.

## Log events

Log events go to stderr, one JSON object per line or one line for people (setting `log_format`), with `event`, `level`,
`timestamp` and `worker`. Events of libraries are written from level `warning` on, whatever the `log_level`. An error is
logged by its type and its place in the code; its message is logged only where the gate or the operating system wrote
it, since any other may quote a document.

"""


def page() -> str:
    rows = sorted(_metrics(), key=lambda row: row[0])
    return HEAD + table(["metric", "kind", "labels", "what it measures"], rows) + LOG + _listed(events())


def _listed(names: list[str]) -> str:
    return "".join(f"- {code(name)}\n" for name in names)


def _metrics() -> list[tuple[str, str, str, str]]:
    registry = CollectorRegistry()
    groups: list[object] = [WorkerMetrics(registry), SupervisorMetrics(registry, workers=1)]
    processes = WorkerProcessCollector(dict)
    found: list[tuple[Metric, tuple[str, ...]]] = []
    for group in groups:
        for value in vars(group).values():
            if hasattr(value, "_labelnames"):
                [metric] = value.describe()
                found.append((metric, value._labelnames))
    found += [(metric, metric._labelnames) for metric in processes.collect()]
    return [
        (
            code(metric.name + ("_total" if metric.type == "counter" else "")),
            metric.type,
            ", ".join(map(code, labels)),
            metric.documentation,
        )
        for metric, labels in found
    ]


def events() -> list[str]:
    """The names of all events, read from the one module that logs."""
    source = Path(metrics.__file__).read_text(encoding="utf-8")
    plain = set(re.findall(r'"([a-z_]+\.[a-z_]+)"', source))
    made = {f"partitions.{kind}" for kind in ("assigned", "revoked")}
    made |= {f"{what}.{state}" for what in ("index", "broker") for state in ("away", "back")}
    return sorted(plain | made)
