"""Write the dashboards anew: `make boards`. A test fails when they differ from what is said here.

A dashboard is rows of panels; where each stands follows from the widths, so that none overlaps another. `WINDOW` is
the time that a rate is taken over: Grafana puts in what fits the scrape interval and the zoom.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "dashboards"
DATASOURCE = {"type": "prometheus", "uid": "gate-prometheus"}  # as provisioning/datasources names it
WINDOW = "$__rate_interval"
COLUMNS, HEIGHT, STAT_HEIGHT = 24, 8, 4

Kind = Literal["stat", "timeseries", "heatmap"]


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: expressions with their legends."""

    title: str
    unit: str
    lines: Sequence[tuple[str, str]]
    about: str = ""
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


def stat(title: str, unit: str, expression: str, about: str = "") -> Panel:
    return Panel(title, unit, [(expression, "")], about, kind="stat", width=4)


VERDICTS, SIMILAR = "gate_verdicts_total", '{similar="true"}'
CHECKIN, ARRIVAL = "gate_checkin_to_verdict_seconds", "gate_arrival_to_verdict_seconds"

OVERVIEW = Dashboard(
    "gate-overview",
    "Gate: overview",
    [
        (
            "Now",
            [
                stat("Match rate", "percentunit", "gate:match_ratio:rate5m", "Similar check-ins among all, 5 minutes."),
                stat("Verdicts", "cps", "gate:verdicts:rate5m"),
                stat("Check-in to verdict, p99", "s", "gate:checkin_to_verdict_seconds:p99_rate5m"),
                stat("Lag", "short", "gate:lag_records:sum", "Check-ins that wait in the topics."),
                stat("Dead letters", "short", "sum(increase(gate_dead_letters_total[1h])) or vector(0)", "In an hour."),
                stat("Workers", "short", "sum(gate_workers_running)"),
            ],
        ),
        (
            "Matches",
            [
                Panel(
                    "Match rate",
                    "percentunit",
                    [(f"({rate(VERDICTS, where=SIMILAR)} or vector(0)) / {rate(VERDICTS)}", "similar")],
                    "Similar check-ins among all.",
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
                    stacked=True,
                ),
                Panel(
                    "Match rate by source",
                    "percentunit",
                    [(f"{rate(VERDICTS, 'source', SIMILAR)} / {rate(VERDICTS, 'source')}", "{{source}}")],
                    "The first 50 sources have a line of their own.",
                ),
                Panel("Verdicts by relation", "cps", [(rate(VERDICTS, "relation"), "{{relation}}")], stacked=True),
                Panel("Verdicts by source", "cps", [(rate(VERDICTS, "source"), "{{source}}")], stacked=True),
                Panel("Verdicts by profile", "cps", [(rate(VERDICTS, "profile"), "{{profile}}")], stacked=True),
            ],
        ),
        (
            "Time",
            [
                Panel("From check-in to verdict", "s", quantiles(CHECKIN), "What a replay waited counts too."),
                Panel("From arrival to verdict", "s", quantiles(ARRIVAL), "In the worker."),
                Panel("Lag by partition", "short", [("gate_lag_records", "{{topic}} {{partition}}")], stacked=True),
            ],
        ),
        (
            "What else happened",
            [
                Panel("Dead letters by reason", "cps", [(rate("gate_dead_letters_total", "reason"), "{{reason}}")]),
                Panel("Documents sent on", "cps", [(rate("gate_routed_total", "to"), "{{to}}")]),
                Panel("Deletes", "cps", [(rate("gate_deletes_total", "known"), "known: {{known}}")]),
            ],
        ),
    ],
)

TRIP = "gate_index_round_trip_seconds"

INDEX = Dashboard(
    "gate-index",
    "Gate: index",
    [
        (
            "Calls",
            [
                Panel("Calls by operation", "cps", [(rate(f"{TRIP}_count", "operation"), "{{operation}}")]),
                Panel("Time of a call", "s", quantiles(TRIP)),
                Panel("Mean time of a call by operation", "s", [(mean(TRIP, "operation"), "{{operation}}")]),
                Panel(
                    "Errors",
                    "cps",
                    [(rate("gate_index_errors_total", "operation, reason"), "{{operation}} {{reason}}")],
                ),
                Panel("Workers that let the index rest", "short", [("sum(gate_index_circuit_open)", "circuit open")]),
                Panel(
                    "Share of calls that fail",
                    "percentunit",
                    [("gate:index_error_ratio:rate5m", "failed")],
                ),
            ],
        ),
        (
            "What is found",
            [
                Panel(
                    "Candidates of a document",
                    "short",
                    [(mean("gate_candidates"), "mean"), *quantiles("gate_candidates")],
                    "How many it was compared with.",
                ),
                Panel(
                    "Distance of the best match",
                    "short",
                    [(rate("gate_match_distance_bits_bucket", "le"), "{{le}}")],
                    "In bits.",
                    kind="heatmap",
                ),
                Panel(
                    "Resemblance of the best match",
                    "short",
                    [(rate("gate_match_resemblance_bucket", "le"), "{{le}}")],
                    kind="heatmap",
                ),
                Panel("Degraded verdicts", "cps", [(rate("gate_degraded_total", "reason"), "{{reason}}")]),
            ],
        ),
        (
            "Where the time goes",
            [
                Panel(
                    "Time of a stage, p95",
                    "s",
                    [
                        (
                            f"histogram_quantile(0.95, {rate('gate_stage_seconds_bucket', 'le, stage')})",
                            "{{stage}}",
                        )
                    ],
                    "For a batch.",
                ),
                Panel(
                    "Busy by stage",
                    "short",
                    [(rate("gate_stage_seconds_sum", "stage"), "{{stage}}")],
                    "Seconds a second, of all workers.",
                    stacked=True,
                ),
                Panel(
                    "Time by stage and document",
                    "s",
                    [
                        (
                            f"{rate('gate_stage_seconds_sum', 'stage')} / ignoring (stage) group_left "
                            f"{rate('gate_batch_documents_sum')}",
                            "{{stage}}",
                        )
                    ],
                    stacked=True,
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
                    [("sum(gate_workers_running)", "running"), ("sum(gate_workers_wanted)", "wanted")],
                ),
                Panel("Begun again", "short", [(f"increase(gate_worker_restarts_total[{WINDOW}])", "{{worker}}")]),
                Panel("Running for", "s", [("time() - gate_worker_start_time_seconds", "{{instance}} {{worker}}")]),
                Panel(
                    "CPU",
                    "percentunit",
                    [(f"rate(gate_worker_cpu_seconds_total[{WINDOW}])", "{{instance}} {{worker}}")],
                    "Of one core.",
                ),
                Panel("Memory", "bytes", [("gate_worker_memory_bytes", "{{instance}} {{worker}}")]),
                Panel("Versions", "short", [("sum by (version, python) (gate_build_info)", "{{version}} {{python}}")]),
            ],
        ),
        (
            "Batches",
            [
                Panel(
                    "Documents in a batch",
                    "short",
                    [(mean("gate_batch_documents"), "mean"), *quantiles("gate_batch_documents")],
                ),
                Panel(
                    "Characters in a batch",
                    "short",
                    [(mean("gate_batch_characters"), "mean"), *quantiles("gate_batch_characters")],
                ),
                Panel("Batches", "cps", [(rate("gate_batch_documents_count"), "batches")]),
            ],
        ),
        (
            "Group and broker",
            [
                Panel("Partitions held", "short", [("gate_assigned_partitions", "{{instance}} {{worker}}")]),
                Panel("Changes of partitions", "cps", [(rate("gate_rebalances_total", "kind"), "{{kind}}")]),
                Panel("Workers that wait", "short", [("sum by (what) (gate_away)", "for the {{what}}")]),
                Panel("Tries in vain", "cps", [(rate("gate_retries_total", "what"), "{{what}}")]),
                Panel(
                    "Away",
                    "s",
                    [(f"sum by (what) (increase(gate_away_seconds_total[{WINDOW}]))", "{{what}}")],
                    "Told when it is back.",
                ),
                Panel(
                    "Producers",
                    "cps",
                    [
                        (f"{rate('gate_producers_discarded_total')} or vector(0)", "discarded"),
                        (rate("gate_fenced_total"), "fenced"),
                    ],
                ),
            ],
        ),
    ],
)

DASHBOARDS = (OVERVIEW, INDEX, WORKERS)


def dashboard(said: Dashboard) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in said.rows:
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        top, left = top + 1, 0
        for panel in row:
            height = STAT_HEIGHT if panel.kind == "stat" else HEIGHT
            if left + panel.width > COLUMNS:
                top, left = top + height, 0
            place = {"x": left, "y": top, "w": panel.width, "h": height}
            panels.append(picture(panel, len(panels) + 1, place))
            left += panel.width
        top += STAT_HEIGHT if row[-1].kind == "stat" else HEIGHT
    return {
        "uid": said.uid,
        "title": said.title,
        "tags": ["gate"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [{"type": "dashboards", "tags": ["gate"], "title": "Gate", "asDropdown": False, "keepTime": True}],
        "panels": panels,
    }


def picture(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    shape = "heatmap" if panel.kind == "heatmap" else "time_series"
    targets = [
        {"refId": chr(ord("A") + i), "datasource": DATASOURCE, "expr": expr, "legendFormat": legend, "format": shape}
        for i, (expr, legend) in enumerate(panel.lines)
    ]
    drawn: dict[str, Any] = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATASOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {},
    }
    if panel.kind == "timeseries":
        drawn["fieldConfig"]["defaults"]["custom"] = {
            "drawStyle": "line",
            "fillOpacity": 20 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none"},
        }
        drawn["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    elif panel.kind == "stat":
        drawn["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "graphMode": "area", "colorMode": "none"}
    else:
        drawn["options"] = {"calculate": False, "yAxis": {"unit": panel.unit}}
    return drawn


def written() -> dict[Path, str]:
    """The files, by path, as they should be."""
    return {
        FOLDER / f"{said.uid}.json": json.dumps(dashboard(said), indent=2, ensure_ascii=False) + "\n"
        for said in DASHBOARDS
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in written().items():
        path.write_text(text)
