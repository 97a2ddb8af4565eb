"""The manifests of Kubernetes: kustomize renders them, schemas and kube-score judge them, and the gate accepts them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from click.testing import CliRunner

from deploy.kubernetes.generate import RULES, prometheus_rule
from gate.cli import main
from gate.config.settings import load_settings
from gate.errors import ConfigError
from tests.deploy.deploy_files import DEPLOY, ROOT, arguments, image_environment

pytestmark = pytest.mark.kubernetes

FOLDER = DEPLOY / "kubernetes"
TOOLS = ROOT / ".cache" / "kubernetes"
VERSIONS = "1.30", kubernetes_validate.latest_version()  # the oldest one that is supported, and the newest
Resource = dict[str, Any]


def render(folder: Path) -> list[Resource]:
    assert (TOOLS / "kustomize").exists(), "kustomize is missing: run the tests with `make test`, which builds it"
    result = subprocess.run([TOOLS / "kustomize", "build", folder], capture_output=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return [resource for resource in yaml.safe_load_all(result.stdout) if resource]


@pytest.fixture(scope="module")
def example() -> list[Resource]:
    return render(FOLDER / "example")


@pytest.fixture
def overlay(tmp_path: Path) -> Callable[[str], list[Resource]]:
    """Renders a kustomization in which {base} stands for the path of the manifests."""

    def rendered(text: str) -> list[Resource]:
        base = os.path.relpath(FOLDER, tmp_path.resolve())
        (tmp_path / "kustomization.yaml").write_text(text.replace("{base}", base))
        return render(tmp_path)

    return rendered


def pick(resources: list[Resource], kind: str, name: str = "gate") -> Resource:
    [resource] = [r for r in resources if r["kind"] == kind and r["metadata"]["name"] == name]
    return resource


def settings_of(resources: list[Resource]) -> dict[str, str]:
    [data] = [
        r["data"] for r in resources if r["kind"] == "ConfigMap" and r["metadata"]["name"].startswith("gate-settings")
    ]
    environment: dict[str, str] = data
    return environment


def pod_specs(resources: list[Resource]) -> list[dict[str, Any]]:
    return [r["spec"]["template"]["spec"] for r in resources if r["kind"] in {"StatefulSet", "Deployment", "Job"}]


def complaints(resource: Resource, version: str) -> list[str]:
    """What is wrong with a resource by the schema of its kind."""
    crd = TOOLS / "crds" / f"{resource['kind'].lower()}.yaml"
    if crd.exists():
        [schema] = [
            v["schema"]["openAPIV3Schema"]
            for v in yaml.safe_load(crd.read_text())["spec"]["versions"]
            if resource["apiVersion"].endswith("/" + v["name"])
        ]
        validator = jsonschema.Draft202012Validator(closed(schema))
        return [error.message for error in validator.iter_errors(resource)]
    try:
        kubernetes_validate.validate(resource, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [error.message]
    return []


def closed(schema: Any) -> Any:
    """A schema that accepts no field which it does not name, as the API server warns of."""
    if not isinstance(schema, dict):
        return schema
    result = {
        key: {name: closed(part) for name, part in value.items()} if key == "properties" else closed(value)
        for key, value in schema.items()
    }
    if "properties" in result and "additionalProperties" not in result and result["properties"].keys() != {"metadata"}:
        result["additionalProperties"] = result.get("x-kubernetes-preserve-unknown-fields", False)
    return result


@pytest.mark.parametrize("version", VERSIONS)
def test_every_resource_is_valid_in_every_field(example: list[Resource], version: str) -> None:
    assert {(r["kind"], *complaints(r, version)) for r in example} == {(r["kind"],) for r in example}


@pytest.mark.parametrize(
    ("kind", "field"), [("StatefulSet", "replica"), ("ScaledObject", "maxReplicas"), ("ServiceMonitor", "endpoint")]
)
def test_a_misspelled_field_is_found(example: list[Resource], kind: str, field: str) -> None:
    resource = pick(example, kind)
    assert complaints({**resource, "spec": {**resource["spec"], field: 2}}, VERSIONS[-1])


def test_kube_score_has_nothing_to_say_against_the_example(example: list[Resource]) -> None:
    command = [str(TOOLS / "kube-score"), "score", "--kubernetes-version", "v1.30", "--output-format", "ci", "-"]
    report = subprocess.run(
        command, input=yaml.safe_dump_all(example), capture_output=True, text=True, timeout=60, check=False
    ).stdout
    assert "[OK]" in report
    assert [line for line in report.splitlines() if not line.startswith(("[OK]", "[SKIPPED]"))] == []


def test_the_gate_accepts_the_settings_of_the_base_and_of_the_example(
    example: list[Resource], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for mounted in "redis-password", "kafka-password", "hash-secret":
        (tmp_path / mounted).write_text("made-up-for-this-test")
    for environment in settings_of(render(FOLDER / "gate")), settings_of(example):
        here = {name: value.replace("/run/secrets/gate", str(tmp_path)) for name, value in environment.items()}
        load_settings({}, here)
        with pytest.raises(ConfigError, match="GATE_KAFKA_GROUPS"):
            load_settings({}, {**here, "GATE_KAFKA_GROUPS": "gate"})


def test_every_container_runs_a_command_of_the_gate(example: list[Resource]) -> None:
    for spec in pod_specs(example):
        [container] = spec["containers"]
        assert CliRunner().invoke(main, [*container["args"], "--help"]).exit_code == 0


def test_pods_run_as_the_user_of_the_image_with_nothing_to_write_to_but_tmp(example: list[Resource]) -> None:
    user, group = map(int, arguments("USER")[0].split(":"))
    for spec in pod_specs(example):
        [container] = spec["containers"]
        for context in spec["securityContext"], container["securityContext"]:
            assert (context["runAsUser"], context["runAsGroup"], context["runAsNonRoot"]) == (user, group, True)
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert [m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")] == ["/tmp"]  # noqa: S108
        assert spec["automountServiceAccountToken"] is False


def test_the_probes_ask_where_the_image_listens(example: list[Resource]) -> None:
    [container] = pick(example, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["metrics"] == int(image_environment()["GATE_HTTP_PORT"])
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"
    }  # fmt: skip
    assert {probe["port"] for probe in probes.values()} == {"metrics"}


def test_a_pod_is_a_static_member_by_its_name_and_has_time_to_drain(example: list[Resource]) -> None:
    spec = pick(example, "StatefulSet")["spec"]["template"]["spec"]
    [container] = spec["containers"]
    [variable] = container["env"]
    assert variable["name"] == "GATE_KAFKA_GROUP_INSTANCE_ID"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    environment = settings_of(example)
    assert spec["terminationGracePeriodSeconds"] > float(environment["GATE_DRAIN_SECONDS"]) + 10
    # A pod that is replaced has to be back before its partitions are given away.
    assert float(environment["GATE_KAFKA_SESSION_TIMEOUT_SECONDS"]) > spec["terminationGracePeriodSeconds"]


def test_the_number_of_pods_is_left_to_whoever_scales_them(
    example: list[Resource], overlay: Callable[[str], list[Resource]]
) -> None:
    assert "replicas" not in pick(example, "StatefulSet")["spec"]
    by_cpu = overlay("resources: ['{base}/gate']\ncomponents: ['{base}/hpa']\n")
    assert "replicas" not in pick(by_cpu, "StatefulSet")["spec"]
    assert pick(by_cpu, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == "gate"
    assert [complaints(resource, VERSIONS[0]) for resource in by_cpu] == [[] for _ in by_cpu]
    assert pick(render(FOLDER / "gate"), "StatefulSet")["spec"]["replicas"] == 2


def test_keda_looks_at_the_topic_and_the_group_of_the_settings(overlay: Callable[[str], list[Resource]]) -> None:
    resources = overlay("""
resources: ["{base}/gate"]
components: ["{base}/keda"]
""")
    [trigger] = pick(resources, "ScaledObject")["spec"]["triggers"]
    environment = settings_of(resources)
    assert trigger["metadata"]["bootstrapServers"] == environment["GATE_KAFKA_BROKERS"]
    assert trigger["metadata"]["consumerGroup"] == environment["GATE_KAFKA_GROUP"]
    assert trigger["metadata"]["topic"] == environment["GATE_KAFKA_TOPICS"]
    assert trigger["metadata"]["excludePersistentLag"] == "true"


def test_no_policy_keeps_the_gate_from_kafka_redis_and_its_scrapes(example: list[Resource]) -> None:
    policy = pick(example, "NetworkPolicy")["spec"]
    allowed = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    environment = settings_of(example)
    wanted = re.findall(r":(\d+)", environment["GATE_KAFKA_BROKERS"] + environment["GATE_INDEX"])
    assert wanted
    assert {int(port) for port in wanted} <= allowed
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [9400]


def test_a_monitor_finds_its_service_and_the_port_has_that_name(example: list[Resource]) -> None:
    for name in "gate", "gate-service":
        service, monitor = pick(example, "Service", name), pick(example, "ServiceMonitor", name)
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert {e["port"] for e in monitor["spec"]["endpoints"]} <= {p["name"] for p in service["spec"]["ports"]}


def test_every_secret_file_of_the_settings_is_mounted(example: list[Resource]) -> None:
    environment = settings_of(example)
    files = [value for name, value in environment.items() if name.endswith("_FILE")]
    assert files
    for spec in pod_specs(example):
        mounts = {m["name"]: m["mountPath"] for m in spec["containers"][0]["volumeMounts"]}
        secrets = {v["name"]: v["secret"]["secretName"] for v in spec["volumes"] if "secret" in v}
        assert all(Path(file).is_relative_to(mounts["secrets"]) for file in files)
        assert secrets["secrets"] == "gate-secrets"
        assert not any("SECRET" in str(v.get("value", "")) for v in spec["containers"][0].get("env", ()))


def test_the_rules_of_the_operator_are_those_of_prometheus() -> None:
    assert RULES.read_text() == prometheus_rule(), "run `make boards`"


def test_every_dashboard_is_in_the_config_map(example: list[Resource]) -> None:
    dashboards = {path.name for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")}
    config_map = pick(example, "ConfigMap", "gate-dashboards")
    assert config_map["data"].keys() == dashboards
    assert sum(map(len, config_map["data"].values())) < 1_000_000  # Kubernetes takes a MiB


def test_every_file_is_part_of_a_kustomization() -> None:
    for folder in sorted(path.parent for path in FOLDER.glob("*/kustomization.yaml")):
        text = (folder / "kustomization.yaml").read_text()
        parts = {path.name for path in folder.iterdir()} - {"kustomization.yaml"}
        assert {part for part in parts if not re.search(rf"\b{re.escape(part)}\b", text)} == set()


def test_the_page_names_every_folder_and_every_setting_of_the_base() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    for folder in FOLDER.glob("*/"):
        assert f"`{folder.name}`" in page or folder.name.startswith("__")
    for line in (FOLDER / "gate" / "settings.env").read_text().splitlines():
        assert f"`{line.partition('=')[0]}`" in page
