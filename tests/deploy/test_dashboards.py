"""The Grafana dashboards: as generated, well-formed, and on metrics that the gate exports."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from deploy.grafana import generate
from gate.http.service_metrics import ServiceMetrics
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector
from tests.deploy.deploy_files import DASHBOARDS, DEPLOY, panel_expressions, read_dashboard, read_yaml, rules

UNITS = {"short", "percentunit", "cps", "s", "bytes"}


def known_metrics() -> dict[str, str]:
    """The type of each metric of the gate, by its name in PromQL without the suffixes of a histogram."""
    registry = CollectorRegistry()
    WorkerMetrics(registry)
    SupervisorMetrics(registry, workers=2)
    ServiceMetrics(registry)
    registry.register(WorkerProcessCollector(dict))
    return {metric.name + ("_total" if metric.type == "counter" else ""): metric.type for metric in registry.collect()}


def metrics_in(expression: str) -> set[str]:
    return set(re.findall(r"\bgate_\w+", expression))


def without_suffix(name: str, known: dict[str, str]) -> str:
    bare = re.sub(r"_(bucket|sum|count)$", "", name)
    return bare if known.get(bare) == "histogram" else name


def test_the_dashboards_are_as_generated() -> None:
    assert sorted(generate.files()) == DASHBOARDS
    for path, text in generate.files().items():
        assert path.read_text() == text, "run: make boards"


@pytest.fixture(params=DASHBOARDS, ids=lambda path: path.stem)
def dashboard(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read_dashboard(request.param)


def test_panels_have_unique_ids_and_do_not_overlap(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        across, down = range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])
        cells = set(itertools.product(across, down))
        assert max(across) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_panel_has_a_title_a_unit_and_the_provisioned_datasource(dashboard: dict[str, Any]) -> None:
    [datasource] = read_yaml(DEPLOY / "grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert panels
    for panel in panels:
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["datasource"] == {"type": datasource["type"], "uid": datasource["uid"]}
        assert panel["targets"]
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


def test_titles_differ_and_uids_are_the_names_of_the_files() -> None:
    dashboards = [read_dashboard(path) for path in DASHBOARDS]
    assert [dashboard["uid"] for dashboard in dashboards] == [path.stem for path in DASHBOARDS]
    assert len({dashboard["title"] for dashboard in dashboards}) == len(dashboards)


def test_dashboards_and_rules_query_metrics_and_records_that_exist() -> None:
    known = known_metrics()
    expressions = dict(panel_expressions())
    expressions |= {name: rule["expr"] for kind in ("record", "alert") for name, rule in rules(kind).items()}
    for place, expression in expressions.items():
        assert {without_suffix(name, known) for name in metrics_in(expression)} <= known.keys(), place
        assert set(re.findall(r"\bgate:[\w:]+", expression)) <= rules("record").keys(), place


def test_every_metric_is_on_a_dashboard() -> None:
    known = known_metrics()
    queried = {query for _, query in panel_expressions()} | {rule["expr"] for rule in rules("record").values()}
    shown = {without_suffix(name, known) for expression in queried for name in metrics_in(expression)}
    assert known.keys() - shown == set()
