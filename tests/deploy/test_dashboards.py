"""Dashboards as code: as generated, whole, and about metrics that there are."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from deploy.grafana import generate
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector
from tests.deploy.deploy_files import DASHBOARDS, DEPLOY, read_dashboard, read_yaml, rules, shown_expressions

UNITS = {"short", "percentunit", "cps", "s", "bytes"}


def known_metrics() -> dict[str, str]:
    """The metrics of the gate with their kinds, by name as it is asked for, without what a histogram adds to it."""
    registry = CollectorRegistry()
    WorkerMetrics(registry)
    SupervisorMetrics(registry, workers=2)
    registry.register(WorkerProcessCollector(dict))
    return {metric.name + ("_total" if metric.type == "counter" else ""): metric.type for metric in registry.collect()}


def named(expression: str) -> set[str]:
    return set(re.findall(r"\bgate_\w+", expression))


def without_suffix(name: str, known: dict[str, str]) -> str:
    bare = re.sub(r"_(bucket|sum|count)$", "", name)
    return bare if known.get(bare) == "histogram" else name


def test_the_dashboards_are_as_generated() -> None:
    assert sorted(generate.written()) == DASHBOARDS
    for path, text in generate.written().items():
        assert path.read_text() == text, "run: make boards"


@pytest.fixture(params=DASHBOARDS, ids=lambda path: path.stem)
def dashboard(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read_dashboard(request.param)


def test_panels_have_ids_of_their_own_and_stand_beside_each_other(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        across, down = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        cells = set(itertools.product(across, down))
        assert max(across) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_panel_has_a_title_a_unit_and_the_provisioned_datasource(dashboard: dict[str, Any]) -> None:
    [datasource] = read_yaml(DEPLOY / "grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    pictures = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert pictures
    for panel in pictures:
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["datasource"] == {"type": datasource["type"], "uid": datasource["uid"]}
        assert panel["targets"]
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


def test_titles_differ_and_uids_are_the_names_of_the_files() -> None:
    found = [read_dashboard(path) for path in DASHBOARDS]
    assert [one["uid"] for one in found] == [path.stem for path in DASHBOARDS]
    assert len({one["title"] for one in found}) == len(found)


def test_dashboards_and_rules_ask_for_metrics_and_records_that_there_are() -> None:
    known = known_metrics()
    asked = dict(shown_expressions())
    asked |= {name: rule["expr"] for kind in ("record", "alert") for name, rule in rules(kind).items()}
    for place, expression in asked.items():
        assert {without_suffix(name, known) for name in named(expression)} <= known.keys(), place
        assert set(re.findall(r"\bgate:[\w:]+", expression)) <= rules("record").keys(), place


def test_every_metric_is_shown_somewhere() -> None:
    known = known_metrics()
    asked = {expression for _, expression in shown_expressions()} | {rule["expr"] for rule in rules("record").values()}
    shown = {without_suffix(name, known) for expression in asked for name in named(expression)}
    assert known.keys() - shown == set()
