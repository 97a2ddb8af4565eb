"""The rules of Prometheus: valid and tested by promtool. Each alert has a section in the runbook."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.deploy_files import DEPLOY, PROMETHEUS, operands, read_yaml, rules
from tests.support.servers import require_program


def promtool(*arguments: str) -> str:
    command = [require_program("promtool", "prometheus"), *arguments]
    done = subprocess.run(command, cwd=PROMETHEUS, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.prometheus
def test_the_configuration_and_its_rules_are_valid() -> None:
    assert "SUCCESS" in promtool("check", "config", "prometheus.yml")


@pytest.mark.prometheus
def test_the_rule_tests_of_promtool_pass() -> None:
    assert "SUCCESS" in promtool("test", "rules", "tests/rules.yml")


@pytest.mark.parametrize("alert", list(rules("alert")))
def test_every_alert_fires_in_a_test_of_promtool(alert: str) -> None:
    cases = [
        case
        for test in read_yaml(PROMETHEUS / "tests" / "rules.yml")["tests"]
        for case in test.get("alert_rule_test", [])
    ]
    assert any(case["alertname"] == alert and case["exp_alerts"] for case in cases)


@pytest.mark.parametrize(("alert", "rule"), list(rules("alert").items()))
def test_every_alert_has_a_severity_a_summary_and_a_section_in_the_runbook(
    alert: str, rule: dict[str, dict[str, str]]
) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    path, _, anchor = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^## (.+)$", (DEPLOY.parent / path).read_text(), re.MULTILINE)
    assert alert in headings
    assert anchor == alert.lower()


def test_the_runbook_has_one_section_per_alert_and_no_broken_link() -> None:
    text = (DEPLOY / "RUNBOOK.md").read_text()
    sections = re.findall(r"^## (Gate\w+)$", text, re.MULTILINE)
    assert sections == list(rules("alert"))
    assert set(re.findall(r"\(#(\w+)\)", text)) <= {section.lower() for section in sections}


def test_the_operands_of_an_alert_are_found_outside_of_brackets() -> None:
    expression = 'a{b=~"c"} > 3 and sum(rate(d[5m]) or vector(0)) == 0'
    assert operands(expression) == ['a{b=~"c"}', "sum(rate(d[5m]) or vector(0))"]


def test_the_configuration_finds_the_rule_files() -> None:
    [pattern] = read_yaml(PROMETHEUS / "prometheus.yml")["rule_files"]
    assert {path.name for path in PROMETHEUS.glob(pattern)} == {"alerts.yml", "recording.yml"}
    assert not Path(pattern).is_absolute()
