"""The files around the code: pinned requirements, workflows, and what must not be in any of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TESTED_PYTHONS = ["3.11", "3.12", "3.13"]


def pinned(requirements: str) -> list[Requirement]:
    return [Requirement(line.rstrip(" \\")) for line in requirements.splitlines() if re.match(r"[a-z]", line)]


def expanded(extra: str) -> list[Requirement]:
    """The requirements of an extra, with those of the extras that it names."""
    requirements = []
    for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
        if requirement.name == PROJECT["name"]:
            requirements += [inner for name in sorted(requirement.extras) for inner in expanded(name)]
        else:
            requirements.append(requirement)
    return requirements


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = msgspec.yaml.decode(workflow.read_bytes())["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


@pytest.mark.parametrize(
    "requirement",
    [*map(Requirement, PROJECT["dependencies"]), *expanded("dev")],
    ids=lambda requirement: str(requirement),
)
def test_every_dependency_is_pinned_within_its_range(requirement: Requirement) -> None:
    pins = [
        pin
        for pin in pinned((ROOT / "requirements/dev.txt").read_text(encoding="utf-8"))
        if pin.name == canonicalize_name(requirement.name)
    ]
    assert pins, f"{requirement.name} is not in requirements/dev.txt: run `make requirements`"
    for pin in pins:
        [version] = pin.specifier
        assert version.version in requirement.specifier, "requirements/dev.txt is out of date: run `make requirements`"


def test_every_pinned_requirement_has_a_hash() -> None:
    text = (ROOT / "requirements/dev.txt").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[a-z])", text)
    assert len(blocks) == len(pinned(text)) > 30
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize(
    "name",
    ["Makefile", ".pre-commit-config.yaml", "deploy/Dockerfile", "requirements/dev.txt", "requirements/build.in"],
)
def test_packages_come_by_name_from_whatever_registry_the_client_is_set_up_for(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://(?!127\.0\.0\.1)", text)
    assert not re.search(r"--(extra-)?index-url|--find-links|--trusted-host", text)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.stem)
def test_a_workflow_only_calls_make(workflow: Path) -> None:
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    for command in commands:
        assert re.fullmatch(r"make [a-z]+( [A-Z]+=\S+)*", command), command


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.stem)
def test_a_workflow_pins_actions_by_commit(workflow: Path) -> None:
    for step in steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"]), step["uses"]


def test_ci_tests_every_python_that_the_package_says_it_supports() -> None:
    classifier = "Programming Language :: Python :: 3."
    supported = [c.removeprefix(classifier) for c in PROJECT["classifiers"] if c.startswith(classifier)]
    assert [f"3.{minor}" for minor in supported] == TESTED_PYTHONS
    strategy = msgspec.yaml.decode((ROOT / ".github/workflows/ci.yml").read_bytes())["jobs"]["check"]["strategy"]
    assert strategy["matrix"]["python"] == TESTED_PYTHONS


# Targets of make


def make_rules(makefile: str) -> set[str]:
    """The targets that have a rule: prerequisites or a recipe."""
    rules = re.findall(r"^([\w./-]+(?: [\w./-]+)*):(?!=)", makefile, re.MULTILINE)
    return {target for targets in rules for target in targets.split()} - {".PHONY"}


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
PHONY = re.findall(r"^\.PHONY: *(.*)$", MAKEFILE, re.MULTILINE)
CALLED = {step["run"].split()[1] for workflow in WORKFLOWS for step in steps(workflow) if "run" in step}


def test_a_phony_target_without_a_rule_is_no_rule() -> None:
    assert make_rules(".PHONY: dist\nBIN := x\ncheck: venv\n\ttrue\na b:\n") == {"check", "a", "b"}


@pytest.mark.parametrize("target", sorted({name for line in PHONY for name in line.split()}))
def test_every_phony_target_has_a_rule(target: str) -> None:
    assert target in make_rules(MAKEFILE), f"Makefile: .PHONY names {target}, and no rule makes it"


@pytest.mark.parametrize("target", sorted(CALLED))
def test_every_target_that_a_workflow_calls_has_a_rule(target: str) -> None:
    assert target in make_rules(MAKEFILE), f"a workflow calls `make {target}`, and no rule makes it"


def test_every_target_without_a_file_of_its_name_is_phony() -> None:
    """Or make would not run the recipe once such a file or folder is there, as docs/ and schemas/ are."""
    names = {name for line in PHONY for name in line.split()}
    assert {target for target in make_rules(MAKEFILE) if re.fullmatch("[a-z]+", target)} == names


# Forms


FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_an_issue_form_has_a_name_a_description_and_labelled_fields(form: Path) -> None:
    content = msgspec.yaml.decode(form.read_bytes())
    assert content["name"]
    assert content["description"]
    fields = [field for field in content["body"] if field["type"] != "markdown"]
    assert fields
    for field in fields:
        assert field["attributes"]["label"]
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names)


def test_the_choice_of_issue_forms_and_the_hooks_are_valid_yaml() -> None:
    assert isinstance(msgspec.yaml.decode((ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_bytes()), dict)
    assert msgspec.yaml.decode((ROOT / ".pre-commit-config.yaml").read_bytes())["repos"]
