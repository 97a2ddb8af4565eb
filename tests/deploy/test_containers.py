"""The image and the compose file: what they name is there, and what they set the gate knows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from gate.cli import main
from gate.config.settings import load_settings
from gate.http.health import Checks, health_server
from tests.deploy.deploy_files import (
    COMPOSE,
    DEPLOY,
    PROMETHEUS,
    ROOT,
    SERVICES,
    arguments,
    dockerfile,
    gate_environment,
    healthcheck,
    image_environment,
    read_yaml,
)

INSTRUCTIONS = {
    "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"
}  # fmt: skip


# The image


def test_every_instruction_is_known() -> None:
    assert {name for name, _ in dockerfile()} <= INSTRUCTIONS


def test_the_image_is_built_in_two_steps_and_the_second_has_only_what_runs() -> None:
    froms = arguments("FROM")
    assert [line.split()[0] for line in froms] == ["python:3.11-slim-bookworm"] * 2
    last = dockerfile()[max(i for i, (name, _) in enumerate(dockerfile()) if name == "FROM") :]
    assert [rest for name, rest in last if name == "COPY"] == ["--from=build /opt/gate /opt/gate"]


def test_the_image_does_not_run_as_root() -> None:
    assert arguments("USER") == ["10001:10001"]


def test_what_is_copied_is_there_and_let_through_by_dockerignore() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in arguments("COPY"):
        if line.startswith("--from"):
            continue
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists()
            assert source in let_through


def test_the_project_needs_nothing_else_to_be_built() -> None:
    build = (ROOT / "pyproject.toml").read_text()
    needed = set(re.findall(r'(?:readme = |license-files = \[)"(.+?)"', build))
    copied = {source for line in arguments("COPY") for source in line.split()}
    assert needed <= copied


@pytest.mark.parametrize(("reasons", "code"), [({}, 0), ({"event_loop": "stuck for 20 seconds"}, 1)])
def test_the_healthcheck_fails_when_the_gate_says_that_it_is_stuck(reasons: dict[str, str], code: int) -> None:
    checks = Checks(registry=CollectorRegistry(), alive=lambda: reasons, ready=dict)
    with health_server(checks, host="127.0.0.1", port=0) as port:
        environment = {"GATE_HTTP_PORT": str(port)}
        done = subprocess.run(healthcheck(), env=environment, capture_output=True, timeout=30, check=False)
    assert done.returncode == code, done.stderr


def test_the_port_of_the_image_is_the_one_that_is_asked() -> None:
    assert arguments("EXPOSE") == [image_environment()["GATE_HTTP_PORT"]]


def test_the_entry_point_is_the_command() -> None:
    assert arguments("ENTRYPOINT") == ['["gate"]']
    [command] = arguments("CMD")
    assert main.get_command(None, json.loads(command)[0]) is not None  # type: ignore[arg-type]


# Compose


@pytest.mark.parametrize("service", list(SERVICES))
def test_a_service_waits_for_services_that_there_are(service: str) -> None:
    waits = SERVICES[service].get("depends_on", {})
    assert set(waits) <= SERVICES.keys()
    for other, how in waits.items() if isinstance(waits, dict) else ():
        healthy = how["condition"] == "service_healthy"
        assert not healthy or "healthcheck" in SERVICES[other]


@pytest.mark.parametrize("service", list(SERVICES))
def test_what_a_service_mounts_is_there(service: str) -> None:
    volumes = read_yaml(COMPOSE)["volumes"]
    for mount in SERVICES[service].get("volumes", []):
        source = mount.split(":")[0]
        assert (DEPLOY / source).exists() if source.startswith(".") else source in volumes


@pytest.mark.parametrize("service", list(SERVICES))
def test_an_image_has_a_version_and_a_port_stays_on_this_machine(service: str) -> None:
    said = SERVICES[service]
    assert "build" in said or re.search(r":v?\d", said["image"])
    assert all(str(port).startswith("127.0.0.1:") for port in said.get("ports", []))


@pytest.mark.parametrize("service", ["topics", "gate"])
def test_every_setting_of_a_gate_is_known(service: str, empty_folder: Path) -> None:
    settings, _ = load_settings({}, gate_environment(service), None)
    assert settings.kafka is not None
    assert settings.kafka.brokers == "kafka:9092"
    assert settings.kafka.topics.quarantine == "gate.quarantine"


def test_the_gate_reaches_the_parts_by_their_names(empty_folder: Path) -> None:
    settings, _ = load_settings({}, gate_environment("gate"), None)
    assert settings.index == "redis://redis:6379/0"
    assert "INSIDE://kafka:9092" in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


def test_a_gate_may_drain_before_it_is_killed(empty_folder: Path) -> None:
    settings, _ = load_settings({}, gate_environment("gate"), None)
    grace = float(SERVICES["gate"]["stop_grace_period"].removesuffix("s"))
    assert grace > settings.worker.drain_seconds + 5  # the margin of the supervisor


@pytest.mark.parametrize("service", ["topics", "gate"])
def test_the_build_and_its_command_are_there(service: str) -> None:
    build = SERVICES[service]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert main.get_command(None, SERVICES[service]["command"].split()[0]) is not None  # type: ignore[arg-type]


def test_prometheus_scrapes_the_port_of_the_gates() -> None:
    [job] = read_yaml(PROMETHEUS / "prometheus.yml")["scrape_configs"]
    assert job["job_name"] == "gate"
    assert job["dns_sd_configs"] == [
        {"names": ["gate"], "type": "A", "port": int(image_environment()["GATE_HTTP_PORT"])}
    ]


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    [datasource] = read_yaml(DEPLOY / "grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert datasource["url"] == "http://prometheus:9090"
    assert "127.0.0.1:9090:9090" in SERVICES["prometheus"]["ports"]
    [provider] = read_yaml(DEPLOY / "grafana/provisioning/dashboards/gate.yaml")["providers"]
    mounts = dict(mount.split(":")[:2] for mount in SERVICES["grafana"]["volumes"])
    assert mounts["./grafana/dashboards"] == provider["options"]["path"]
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert str(home.parent) == provider["options"]["path"]
    assert (DEPLOY / "grafana/dashboards" / home.name).exists()
