"""The page of metrics and log events, from the classes that hold the metrics and the module that logs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Metric

from docs.generate.markdown import GENERATED, code, table
from gate import metrics
from gate.http import service_metrics
from gate.http.service_metrics import ServiceMetrics
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector

HEAD = f"""\
# Metrics and log events

{GENERATED}\
`gate run --kafka ... --http-port PORT` serves `/metrics`, `/healthz` and `/readyz` on that port; with `--workers N` one
port serves the metrics of all workers together. `gate serve` serves them on the port of the service. No metric and no
log line holds a document's text.

The match rate:

```promql
sum(rate(gate_verdicts_total{{similar="true"}}[5m])) / sum(rate(gate_verdicts_total[5m]))
```

The folder `deploy/` has dashboards, recording rules and alerts made of these metrics, and a runbook.

## Metrics

A histogram `x` has the series `x_bucket`, `x_sum` and `x_count`.

"""

LOG = """
Labels are bounded: the first 50 sources have a label value of their own and later ones are counted as `other`; a
check-in without a source is counted as `none`.

With several workers on one port, `gate_dependency_up` is the minimum over the workers that run: it is 0 as soon as one
of them cannot reach the dependency, which a sum or a mean would hide. The lag of a partition is the latest value of its
owner; every other gauge is a sum. Counters and histograms continue when a worker is restarted.

## Log events

Log events go to stderr: one line for people on a terminal, and elsewhere one JSON object per line with `event`,
`level`, `timestamp`, `logger` and the fields below. `log_format` forces either. Events of libraries are written from
level `warning` on, whatever the `log_level`. An error is logged by its type and its place in the code; its message is
logged only where the gate or the operating system wrote it, since any other may quote a document.

"""


class LogEvent(NamedTuple):
    """A log event, the levels it is logged at, and the fields that it always has."""

    name: str
    levels: tuple[str, ...]
    fields: tuple[str, ...]


def page() -> str:
    metrics_rows = sorted(_metrics(), key=lambda row: row[0])
    event_rows = [
        (code(name), ", ".join(levels), ", ".join(map(code, fields))) for name, levels, fields in log_events()
    ]
    return (
        HEAD
        + table(["metric", "kind", "labels", "what it measures"], metrics_rows)
        + LOG
        + table(["event", "level", "fields"], event_rows)
    )


def _metrics() -> list[tuple[str, str, str, str]]:
    registry = CollectorRegistry()
    groups: list[object] = [WorkerMetrics(registry), SupervisorMetrics(registry, workers=1), ServiceMetrics(registry)]
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


def log_events() -> list[LogEvent]:
    """Every log event, read from the calls in the modules that log."""
    events = []
    sources = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in (metrics, service_metrics)]
    for node in [node for source in sources for node in ast.walk(ast.parse(source))]:
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("self._log.")):
            continue
        levels, names = [ast.unparse(node.func).rpartition(".")[2]], node.args[0]
        if levels == ["log"]:  # its first argument is the level, or chooses between two
            attributes = [part for part in ast.walk(node.args[0]) if isinstance(part, ast.Attribute)]
            levels, names = [attribute.attr.lower() for attribute in attributes], node.args[1]
        fields = tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None)
        events += [
            LogEvent(str(part.value), tuple(levels), fields)
            for part in ast.walk(names)
            if isinstance(part, ast.Constant)
        ]
    return sorted(set(events))
