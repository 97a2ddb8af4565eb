"""Every metric, setting, command, option, file and module that a page names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from prometheus_client import CollectorRegistry

from gate.cli import main
from gate.config.reference import DESCRIPTIONS
from gate.http.service_metrics import ServiceMetrics
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector
from tests.docs.pages import PAGES, ROOT, name_of

HISTORY = {"CHANGELOG.md"}  # it names what there was
NOT_METRICS = {"gate_reason"}  # a header of dead letters
NOT_SETTINGS = {"GATE_CONFIG", "GATE_KERNEL"}  # the file of settings; what signs
# At the beginning of a span or a line, or behind what a shell may have before a command.
_COMMAND = re.compile(
    r"(?:^|[|&;(] |exec gate )(?:\$ )?gate ((?:[a-z][a-z0-9-]* )*[a-z][a-z0-9-]*)([^\n`|;&()]*)", re.MULTILINE
)
CURRENT = [page for page in PAGES if name_of(page) not in HISTORY]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def code_of(text: str) -> Iterator[str]:
    """The blocks and the spans of code in a page."""
    blocks = re.compile(r"^```(?:console|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    yield from blocks.findall(text)
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def metric_names() -> set[str]:
    registry = CollectorRegistry()
    WorkerMetrics(registry)
    SupervisorMetrics(registry, workers=1)
    ServiceMetrics(registry)
    registry.register(WorkerProcessCollector(dict))
    names = set[str]()
    for metric in registry.collect():
        kinds = {"counter": ["_total"], "histogram": ["", "_bucket", "_sum", "_count"]}
        names |= {metric.name + suffix for suffix in kinds.get(metric.type, [""])}
    return names


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_the_metrics_that_a_page_names_are_there(page: Path) -> None:
    assert set(re.findall(r"\bgate_[a-z_]+[a-z]\b", read(page))) - NOT_METRICS - metric_names() == set()


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_the_settings_that_a_page_names_are_there(page: Path) -> None:
    variables = {f"GATE_{key.replace('.', '_').upper()}" for key in DESCRIPTIONS}
    assert set(re.findall(r"\bGATE_[A-Z_]+[A-Z]\b", read(page))) - NOT_SETTINGS - variables == set()
    keys = re.findall(r"`((?:limits\.|redis_|kafka_|api_)[a-z_]+[a-z])\b", read(page))
    assert set(keys) - set(DESCRIPTIONS) == set()


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_the_commands_and_options_that_a_page_shows_are_there(page: Path) -> None:
    for code in code_of(read(page)):
        for words, rest in _COMMAND.findall(code.replace("\n> ", " ")):
            command, path = resolve(words.split())
            assert command is not None, f"{name_of(page)}: gate {words}"
            known = {name for option in options_of(command) for name in (*option.opts, *option.secondary_opts)}
            options = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest.split(" #")[0]))
            assert options - known == set(), f"{name_of(page)}: gate {path}"


def resolve(words: list[str]) -> tuple[click.Command | None, str]:
    """The command that the first words name; the words after it are arguments."""
    command: click.Command | None = main
    taken: list[str] = []
    while words and isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words[0])
        taken.append(words.pop(0))
    return command, " ".join(taken)


def options_of(command: click.Command) -> list[click.Parameter]:
    return command.get_params(click.Context(command))


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_the_files_and_modules_that_a_page_names_are_there(page: Path) -> None:
    files = re.findall(r"`((?:gate|load|tests|deploy|schemas|docs)/[\w./-]+\.\w+)", read(page))
    modules = re.findall(r"\b-m ((?:load|tests|docs)(?:\.\w+)+)", read(page))
    missing = {name for name in files if not (ROOT / name).exists()}
    missing |= {name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").exists()}
    assert missing == set()
