"""The image and the compose file: the files they name exist, and the gate accepts their settings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from gate.cli import main
from gate.config.settings import load_settings
from gate.http.health import Checks, health_server
from gate.supervisor import RestartPolicy
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


def test_every_instruction_of_the_dockerfile_is_known() -> None:
    assert {name for name, _ in dockerfile()} <= INSTRUCTIONS


def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    lint = Path(sys.executable).parent / "hadolint"
    result = subprocess.run([lint, DEPLOY / "Dockerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_the_image_has_a_build_stage_and_copies_only_the_environment_from_it() -> None:
    froms = arguments("FROM")
    assert [line.split()[0] for line in froms] == ["python:3.11-slim-bookworm"] * 2
    last = dockerfile()[max(i for i, (name, _) in enumerate(dockerfile()) if name == "FROM") :]
    assert [rest for name, rest in last if name == "COPY"] == ["--from=build /opt/gate /opt/gate"]


def test_the_image_does_not_run_as_root() -> None:
    assert arguments("USER") == ["10001:10001"]


def test_copied_files_exist_and_pass_dockerignore() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in arguments("COPY"):
        if line.startswith("--from"):
            continue
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists()
            assert source in let_through


def test_all_files_that_the_build_needs_are_copied() -> None:
    build = (ROOT / "pyproject.toml").read_text()
    needed = set(re.findall(r'(?:readme = |license-files = \[)"(.+?)"', build))
    copied = {source for line in arguments("COPY") for source in line.split()}
    assert needed <= copied


@pytest.mark.parametrize(("reasons", "code"), [({}, 0), ({"event_loop": "stuck for 20 seconds"}, 1)])
def test_the_healthcheck_fails_when_the_event_loop_is_stuck(reasons: dict[str, str], code: int) -> None:
    checks = Checks(registry=CollectorRegistry(), alive=lambda: reasons, ready=dict)
    with health_server(checks, host="127.0.0.1", port=0) as port:
        environment = {"GATE_HTTP_PORT": str(port)}
        done = subprocess.run(healthcheck(), env=environment, capture_output=True, timeout=30, check=False)
    assert done.returncode == code, done.stderr


def test_the_image_exposes_the_port_of_the_health_server() -> None:
    assert arguments("EXPOSE") == [image_environment()["GATE_HTTP_PORT"]]


def test_the_entry_point_is_the_gate_command() -> None:
    assert arguments("ENTRYPOINT") == ['["gate"]']
    [command] = arguments("CMD")
    assert main.get_command(None, json.loads(command)[0]) is not None  # type: ignore[arg-type]


# Compose


@pytest.mark.parametrize("service", list(SERVICES))
def test_a_service_depends_on_services_that_exist(service: str) -> None:
    waits = SERVICES[service].get("depends_on", {})
    assert set(waits) <= SERVICES.keys()
    for other, how in waits.items() if isinstance(waits, dict) else ():
        healthy = how["condition"] == "service_healthy"
        assert not healthy or "healthcheck" in SERVICES[other]


@pytest.mark.parametrize("service", list(SERVICES))
def test_the_mounts_of_a_service_exist(service: str) -> None:
    volumes = read_yaml(COMPOSE)["volumes"]
    for mount in SERVICES[service].get("volumes", []):
        source = mount.split(":")[0]
        assert (DEPLOY / source).exists() if source.startswith(".") else source in volumes


@pytest.mark.parametrize("service", list(SERVICES))
def test_images_have_versions_and_ports_are_open_to_this_machine_only(service: str) -> None:
    definition = SERVICES[service]
    assert "build" in definition or re.search(r":v?\d", definition["image"])
    assert all(str(port).startswith("127.0.0.1:") for port in definition.get("ports", []))


@pytest.mark.parametrize("service", ["topics", "gate"])
def test_the_gate_accepts_every_setting_of_a_service(service: str, empty_folder: Path) -> None:
    settings, _ = load_settings({}, gate_environment(service), None)
    assert settings.kafka is not None
    assert settings.kafka.brokers == "kafka:9092"
    assert settings.kafka.topics.quarantine == "gate.quarantine"


def test_the_gate_reaches_redis_and_kafka_by_their_service_names(empty_folder: Path) -> None:
    settings, _ = load_settings({}, gate_environment("gate"), None)
    assert settings.index == "redis://redis:6379/0"
    assert "INSIDE://kafka:9092" in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


def test_the_gate_has_the_password_of_redis() -> None:
    redis = SERVICES["redis"]
    assert SERVICES["gate"]["environment"]["GATE_REDIS_PASSWORD"] == redis["environment"]["REDISCLI_AUTH"]
    assert '--requirepass "$$REDISCLI_AUTH"' in redis["command"]


@pytest.mark.parametrize("service", sorted(SERVICES.keys() - {"topics"}))
def test_every_service_that_stays_has_a_health_check(service: str) -> None:
    definition = SERVICES[service]
    assert definition.get("healthcheck") or definition["image"] == "checkin-gate"  # that of the image


def test_compose_waits_for_the_drain_before_it_kills_the_gate(empty_folder: Path) -> None:
    settings, _ = load_settings({}, gate_environment("gate"), None)
    grace = float(SERVICES["gate"]["stop_grace_period"].removesuffix("s"))
    assert grace > settings.worker.drain_seconds + RestartPolicy().drain_margin_seconds


@pytest.mark.parametrize("service", ["topics", "gate"])
def test_the_build_context_and_the_command_exist(service: str) -> None:
    build = SERVICES[service]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert main.get_command(None, SERVICES[service]["command"].split()[0]) is not None  # type: ignore[arg-type]


def test_prometheus_scrapes_the_port_of_the_image() -> None:
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
