"""Generate the Grafana dashboards: `make boards`. A test fails when the files differ from this definition.

A dashboard is rows of panels; positions follow from the widths, so that no panel overlaps another. `WINDOW` is the
range of rates: Grafana replaces it by what fits the scrape interval and the zoom.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "dashboards"
DATASOURCE = {"type": "prometheus", "uid": "gate-prometheus"}  # the uid in provisioning/datasources
WINDOW = "$__rate_interval"
COLUMNS, HEIGHT, STAT_HEIGHT = 24, 8, 4

Kind = Literal["stat", "timeseries", "heatmap"]


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: PromQL expressions with their legends."""

    title: str
    unit: str
    queries: Sequence[tuple[str, str]]
    description: str = ""
    kind: Kind = "timeseries"
    width: int = 8
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Dashboard:
    uid: str
    title: str
    rows: Sequence[tuple[str, Sequence[Panel]]]


def rate(metric: str, by: str = "", where: str = "") -> str:
    grouped = f" by ({by}) " if by else ""
    return f"sum{grouped}(rate({metric}{where}[{WINDOW}]))"


def quantiles(metric: str, *, by: str = "", legend: str = "") -> list[tuple[str, str]]:
    """p50, p95 and p99 of a histogram."""
    labels = f"le, {by}" if by else "le"
    return [
        (f"histogram_quantile({part}, {rate(f'{metric}_bucket', labels)})", f"{legend}{name}")
        for part, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
    ]


def mean(metric: str, by: str = "") -> str:
    return f"{rate(f'{metric}_sum', by)} / {rate(f'{metric}_count', by)}"


def stat(title: str, unit: str, expression: str, description: str = "") -> Panel:
    return Panel(title, unit, [(expression, "")], description, kind="stat", width=4)


VERDICTS, SIMILAR = "gate_verdicts_total", '{similar="true"}'
END_TO_END, PROCESSING = "gate_end_to_end_latency_seconds", "gate_processing_latency_seconds"

OVERVIEW = Dashboard(
    "gate-overview",
    "Gate: overview",
    [
        (
            "Now",
            [
                stat(
                    "Match rate",
                    "percentunit",
                    "gate:matches:ratio_rate5m",
                    "Check-ins that are similar to an earlier one, among all, over 5 minutes.",
                ),
                stat("Verdicts", "cps", "gate:verdicts:rate5m", "Verdicts per second, over 5 minutes."),
                stat(
                    "End-to-end latency, p99",
                    "s",
                    "gate:end_to_end_latency_seconds:p99_rate5m",
                    "From the check-in to its verdict, over 5 minutes.",
                ),
                stat("Consumer lag", "short", "gate:consumer_lag_records:sum", "Check-ins that wait in the topics."),
                stat(
                    "Dead letters",
                    "short",
                    "sum(increase(gate_dead_letters_total[1h])) or vector(0)",
                    "Records that could not be processed, over 1 hour.",
                ),
                stat("Workers", "short", "sum(gate_workers_running)", "Workers that run."),
            ],
        ),
        (
            "Matches",
            [
                Panel(
                    "Match rate",
                    "percentunit",
                    [(f"({rate(VERDICTS, where=SIMILAR)} or vector(0)) / {rate(VERDICTS)}", "similar")],
                    "Check-ins that are similar to an earlier one, among all.",
                ),
                Panel(
                    "Share of each relation",
                    "percentunit",
                    [
                        (
                            f"{rate(VERDICTS, 'relation')} / ignoring (relation) group_left {rate(VERDICTS)}",
                            "{{relation}}",
                        )
                    ],
                    "Verdicts of each relation among all.",
                    stacked=True,
                ),
                Panel(
                    "Match rate by source",
                    "percentunit",
                    [(f"{rate(VERDICTS, 'source', SIMILAR)} / {rate(VERDICTS, 'source')}", "{{source}}")],
                    "The first 50 sources have a line each; all others are counted as other.",
                ),
                Panel(
                    "Verdicts by relation",
                    "cps",
                    [(rate(VERDICTS, "relation"), "{{relation}}")],
                    "Verdicts per second.",
                    stacked=True,
                ),
                Panel(
                    "Verdicts by source",
                    "cps",
                    [(rate(VERDICTS, "source"), "{{source}}")],
                    "Verdicts per second.",
                    stacked=True,
                ),
                Panel(
                    "Verdicts by profile",
                    "cps",
                    [(rate(VERDICTS, "profile"), "{{profile}}")],
                    "Verdicts per second.",
                    stacked=True,
                ),
            ],
        ),
        (
            "Latency and lag",
            [
                Panel(
                    "End-to-end latency",
                    "s",
                    quantiles(END_TO_END),
                    "From the check-in to its verdict. The age of replayed documents counts too.",
                ),
                Panel(
                    "Processing latency",
                    "s",
                    quantiles(PROCESSING),
                    "From a check-in's arrival at the worker to its verdict.",
                ),
                Panel(
                    "Consumer lag by partition",
                    "short",
                    [("gate_consumer_lag_records", "{{topic}} {{partition}}")],
                    "Check-ins that wait.",
                    stacked=True,
                ),
            ],
        ),
        (
            "Other results",
            [
                Panel(
                    "Dead letters by reason",
                    "cps",
                    [(rate("gate_dead_letters_total", "reason"), "{{reason}}")],
                    "Records per second that could not be processed.",
                ),
                Panel(
                    "Records lost",
                    "short",
                    [
                        (
                            f"sum by (topic, partition) (increase(gate_records_lost_total[{WINDOW}]))",
                            "{{topic}} {{partition}}",
                        )
                    ],
                    "Records that were deleted before the gate read them.",
                ),
                Panel(
                    "Trace headers left out",
                    "cps",
                    [(rate("gate_trace_headers_dropped_total"), "left out")],
                    "Trace headers per second that verdicts do not carry on (trace_header_bytes).",
                ),
                Panel(
                    "Routed documents",
                    "cps",
                    [(rate("gate_routed_documents_total", "destination"), "{{destination}}")],
                    "Documents per second sent on to the accepted and the quarantine topic.",
                ),
                Panel(
                    "Deletes",
                    "cps",
                    [(rate("gate_deletes_total", "known"), "known: {{known}}")],
                    "Deletes per second, by whether the document id was in the index.",
                ),
            ],
        ),
    ],
)

REQUEST = "gate_index_request_duration_seconds"

INDEX = Dashboard(
    "gate-index",
    "Gate: index",
    [
        (
            "Requests to Redis",
            [
                Panel(
                    "Requests by operation",
                    "cps",
                    [(rate(f"{REQUEST}_count", "operation"), "{{operation}}")],
                    "Successful requests per second.",
                ),
                Panel("Request duration", "s", quantiles(REQUEST), "Of successful requests."),
                Panel(
                    "Mean request duration by operation",
                    "s",
                    [(mean(REQUEST, "operation"), "{{operation}}")],
                    "Of successful requests.",
                ),
                Panel(
                    "Request errors",
                    "cps",
                    [(rate("gate_index_request_errors_total", "operation, reason"), "{{operation}} {{reason}}")],
                    "Failed requests per second; each retry that fails counts again.",
                ),
                Panel(
                    "Open circuit breakers",
                    "short",
                    [("sum(gate_index_circuit_breaker_open)", "open")],
                    "Workers that send no requests for a while, after failures in a row.",
                ),
                Panel(
                    "Share of failed requests",
                    "percentunit",
                    [("gate:index_request_errors:ratio_rate5m", "failed")],
                    "Over 5 minutes.",
                ),
            ],
        ),
        (
            "Candidates and matches",
            [
                Panel(
                    "Candidates per document",
                    "short",
                    [
                        (mean("gate_candidates_per_document"), "mean"),
                        *quantiles("gate_candidates_per_document"),
                        (
                            f"{rate('gate_candidates_ruled_out_total')} / {rate('gate_candidates_per_document_count')}",
                            "ruled out by length",
                        ),
                    ],
                    "How many candidates a document was compared with, and how many a length filter ruled out (mean).",
                ),
                Panel(
                    "Distance to the best match",
                    "short",
                    [(rate("gate_match_distance_bits_bucket", "le"), "{{le}}")],
                    "Bits in which the SimHash fingerprints differ.",
                    kind="heatmap",
                ),
                Panel(
                    "Resemblance to the best match",
                    "short",
                    [(rate("gate_match_resemblance_ratio_bucket", "le"), "{{le}}")],
                    "The estimated Jaccard similarity of the two documents' features.",
                    kind="heatmap",
                ),
                Panel(
                    "Degraded verdicts",
                    "cps",
                    [(rate("gate_degraded_verdicts_total", "reason"), "{{reason}}")],
                    "Verdicts per second that hit a limit or passed unchecked.",
                ),
            ],
        ),
        (
            "Stages of a batch",
            [
                Panel(
                    "Stage duration, p95",
                    "s",
                    [
                        (
                            f"histogram_quantile(0.95, {rate('gate_stage_duration_seconds_bucket', 'le, stage')})",
                            "{{stage}}",
                        )
                    ],
                    "For one batch.",
                ),
                Panel(
                    "Busy time by stage",
                    "short",
                    [(rate("gate_stage_duration_seconds_sum", "stage"), "{{stage}}")],
                    "Seconds of work per second, summed over all workers.",
                    stacked=True,
                ),
                Panel(
                    "Time per document by stage",
                    "s",
                    [
                        (
                            f"{rate('gate_stage_duration_seconds_sum', 'stage')} / ignoring (stage) group_left "
                            f"{rate('gate_batch_documents_sum')}",
                            "{{stage}}",
                        )
                    ],
                    "The mean over all documents.",
                    stacked=True,
                ),
            ],
        ),
    ],
)

HTTP = "gate_http_request_duration_seconds"
ANSWERS = "gate_http_requests_total"

SERVICE = Dashboard(
    "gate-service",
    "Gate: HTTP service",
    [
        (
            "Requests",
            [
                Panel(
                    "Requests by operation",
                    "cps",
                    [(rate(ANSWERS, "operation"), "{{operation}}")],
                    "Requests answered per second.",
                    stacked=True,
                ),
                Panel("Request duration", "s", quantiles(HTTP), "From the head of a request to its answer."),
                Panel(
                    "Mean request duration by operation",
                    "s",
                    [(mean(HTTP, "operation"), "{{operation}}")],
                    "Of all answers.",
                ),
                Panel(
                    "Refused requests by status",
                    "cps",
                    [(rate(ANSWERS, "status", '{status=~"4..|5.."}'), "{{status}}")],
                    "429 and 503: limits and outages. Other 4xx: requests that are wrong, or may not do this.",
                ),
                Panel(
                    "Requests in progress",
                    "short",
                    [("sum(gate_http_requests_in_progress)", "in progress")],
                    "Requests that are not answered yet (api_max_requests).",
                ),
                Panel(
                    "Bytes in progress",
                    "bytes",
                    [("sum(gate_http_pending_bytes)", "bodies")],
                    "Of the bodies of requests that are not answered yet (api_max_pending_bytes).",
                ),
            ],
        ),
    ],
)

WORKERS = Dashboard(
    "gate-workers",
    "Gate: workers",
    [
        (
            "Processes",
            [
                Panel(
                    "Workers",
                    "short",
                    [("sum(gate_workers_running)", "running"), ("sum(gate_workers_desired)", "desired")],
                ),
                Panel(
                    "Restarts",
                    "short",
                    [(f"increase(gate_worker_restarts_total[{WINDOW}])", "{{instance}} {{worker}}")],
                    "By the supervisor, of workers that had ended.",
                ),
                Panel(
                    "Health connections dropped",
                    "cps",
                    [(rate("gate_http_connections_dropped_total", by="reason"), "{{reason}}")],
                    "Connections per second that were closed before their request was answered (http_max_connections).",
                ),
                Panel("Uptime", "s", [("time() - gate_worker_start_time_seconds", "{{instance}} {{worker}}")]),
                Panel(
                    "CPU",
                    "percentunit",
                    [(f"rate(gate_worker_cpu_seconds_total[{WINDOW}])", "{{instance}} {{worker}}")],
                    "Of one core.",
                ),
                Panel(
                    "Memory",
                    "bytes",
                    [("gate_worker_resident_memory_bytes", "{{instance}} {{worker}}")],
                    "Resident memory.",
                ),
                Panel(
                    "Versions",
                    "short",
                    [("sum by (version, python, kernel) (gate_build_info)", "{{version}} {{python}} {{kernel}}")],
                ),
            ],
        ),
        (
            "Batches",
            [
                Panel(
                    "Documents per batch",
                    "short",
                    [(mean("gate_batch_documents"), "mean"), *quantiles("gate_batch_documents")],
                ),
                Panel(
                    "Characters per batch",
                    "short",
                    [(mean("gate_batch_characters"), "mean"), *quantiles("gate_batch_characters")],
                ),
                Panel("Batches", "cps", [(rate("gate_batch_documents_count"), "batches")], "Batches per second."),
            ],
        ),
        (
            "Consumer group and dependencies",
            [
                Panel("Assigned partitions", "short", [("gate_assigned_partitions", "{{instance}} {{worker}}")]),
                Panel(
                    "Rebalances",
                    "cps",
                    [(rate("gate_rebalances_total", "kind"), "{{kind}}")],
                    "Rebalances per second that assigned or revoked partitions.",
                ),
                Panel(
                    "Dependencies up",
                    "short",
                    [("gate_dependency_up", "{{instance}} {{dependency}}")],
                    "1: up. 0: at least one worker cannot reach it and retries.",
                ),
                Panel(
                    "Index lost",
                    "short",
                    [("gate_index_lost", "{{instance}}")],
                    "Workers whose index is gone, incomplete, or another one than their group has worked on.",
                ),
                Panel(
                    "Retries",
                    "cps",
                    [(rate("gate_dependency_retries_total", "dependency"), "{{dependency}}")],
                    "Failed attempts per second to reach a dependency.",
                ),
                Panel(
                    "Downtime of dependencies",
                    "s",
                    [
                        (
                            f"sum by (dependency) (increase(gate_dependency_down_seconds_total[{WINDOW}]))",
                            "{{dependency}}",
                        )
                    ],
                    "Summed over workers, and added when the dependency is up again.",
                ),
                Panel(
                    "Lost producers",
                    "cps",
                    [
                        (f"{rate('gate_producers_discarded_total')} or vector(0)", "discarded"),
                        (rate("gate_producers_fenced_total"), "fenced"),
                    ],
                    "Kafka producers discarded after an error, or fenced by a newer owner of their partition.",
                ),
            ],
        ),
    ],
)

DASHBOARDS = (OVERVIEW, INDEX, SERVICE, WORKERS)


def render(dashboard: Dashboard) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in dashboard.rows:
        position = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": position, "panels": []})
        top, left = top + 1, 0
        for panel in row:
            height = STAT_HEIGHT if panel.kind == "stat" else HEIGHT
            if left + panel.width > COLUMNS:
                top, left = top + height, 0
            position = {"x": left, "y": top, "w": panel.width, "h": height}
            panels.append(render_panel(panel, len(panels) + 1, position))
            left += panel.width
        top += STAT_HEIGHT if row[-1].kind == "stat" else HEIGHT
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["gate"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [{"type": "dashboards", "tags": ["gate"], "title": "Gate", "asDropdown": False, "keepTime": True}],
        "panels": panels,
    }


def render_panel(panel: Panel, number: int, position: dict[str, int]) -> dict[str, Any]:
    data_format = "heatmap" if panel.kind == "heatmap" else "time_series"
    targets = [
        {
            "refId": chr(ord("A") + i),
            "datasource": DATASOURCE,
            "expr": expr,
            "legendFormat": legend,
            "format": data_format,
        }
        for i, (expr, legend) in enumerate(panel.queries)
    ]
    rendered: dict[str, Any] = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": position,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {},
    }
    if panel.kind == "timeseries":
        rendered["fieldConfig"]["defaults"]["custom"] = {
            "drawStyle": "line",
            "fillOpacity": 20 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none"},
        }
        rendered["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    elif panel.kind == "stat":
        rendered["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "graphMode": "area", "colorMode": "none"}
    else:
        rendered["options"] = {"calculate": False, "yAxis": {"unit": panel.unit}}
    return rendered


def files() -> dict[Path, str]:
    """What each file must hold, by path."""
    return {
        FOLDER / f"{dashboard.uid}.json": json.dumps(render(dashboard), indent=2, ensure_ascii=False) + "\n"
        for dashboard in DASHBOARDS
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text)
