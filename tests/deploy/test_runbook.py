"""The runbook: every command, setting, log event and panel that it names exists."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from docs.generate.metrics import log_events
from gate.cli import main
from gate.config.settings import KEYS
from tests.deploy.deploy_files import DASHBOARDS, DEPLOY, SERVICES, read_dashboard

RUNBOOK = (DEPLOY / "RUNBOOK.md").read_text()
PROSE = re.sub(r"\s+", " ", re.sub(r"```.*?```", "", RUNBOOK, flags=re.DOTALL))
CODE = set(re.findall(r"`([^`]+)`", PROSE))
BLOCKS = "".join(re.findall(r"```bash\n(.*?)```", RUNBOOK, flags=re.DOTALL)).replace("\\\n", " ")
SHELL = [line.partition("  #")[0].strip() for line in BLOCKS.splitlines()]
GATE_COMMANDS = sorted(
    {line for line in (*CODE, *SHELL) if line.startswith("gate ")}
    | {line.partition(" exec gate ")[2] for line in SHELL if " exec gate gate " in line}
)
COMPOSE_COMMANDS = [line for line in SHELL if line.startswith("docker compose")]


def test_the_commands_of_the_runbook_are_read() -> None:
    assert {"gate lag", "gate config", "gate deadletters replay"} <= set(GATE_COMMANDS)
    assert len(COMPOSE_COMMANDS) == RUNBOOK.count("docker compose -f")


@pytest.mark.parametrize("line", GATE_COMMANDS)
def test_every_gate_command_exists_with_its_options(line: str) -> None:
    command: click.Command = main
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("line", COMPOSE_COMMANDS)
def test_every_compose_command_names_the_compose_file_and_its_services(line: str) -> None:
    assert line.startswith("docker compose -f deploy/compose.yaml ")
    verb, *words = shlex.split(line)[4:]
    assert verb in {"up", "ps", "logs", "exec"}
    assert verb != "exec" or words[0] in SERVICES


def test_every_setting_and_log_event_exists() -> None:
    known = {event.name for event in log_events()} | set(KEYS)
    named = {code.partition(" = ")[0] for code in CODE}
    named = {name for name in named if re.fullmatch(r"(http_|kafka_|log_|on_)[a-z_]+|[a-z_]+\.[a-z_]+", name)}
    assert len(named) > 10
    assert named <= known


def test_every_dashboard_panel_exists() -> None:
    dashboards = [read_dashboard(path) for path in DASHBOARDS]
    titles = {panel["title"] for dashboard in dashboards for panel in dashboard["panels"]}
    titles |= {dashboard["title"] for dashboard in dashboards}
    named = set(re.findall(r'"([^"]+)"', re.sub(r"`[^`]*`", "", PROSE)))
    assert len(named) > 10
    assert named <= titles
