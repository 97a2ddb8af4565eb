"""The examples do what their page says: with a real repository, real PDFs, systemd, requests and a Parquet file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import numpy as np
import pyarrow.parquet as pq
import pytest

from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from gate.extract.pool import ExtractorPool
from gate.lab.ocr_errors import misread
from tests.docs.pages import ROOT
from tests.extract.office_samples import pdf

EXAMPLES = ROOT / "docs" / "examples"
BILL = "\n".join(
    f"Position {n}: delivery and installation of part number {n} as ordered in writing, per piece" for n in range(12)
)


def loaded(name: str) -> ModuleType:
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The git hook.


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    hook = folder / ".git" / "hooks" / "pre-commit"
    text = (EXAMPLES / "pre-commit").read_text()
    hook.write_text(text.replace("/usr/bin/env python3", sys.executable, 1))
    hook.chmod(0o755)
    (folder / "light.txt").write_text(LIGHTHOUSE)
    assert commit(folder).returncode == 0
    return folder


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | identity
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def commit(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    git(folder, "add", "-A")
    return git(folder, "commit", "-q", "-m", "a change", *options)


def test_the_git_hook_refuses_a_near_copy_until_it_is_meant(repository: Path) -> None:
    (repository / "bread.txt").write_text(BREAD)
    (repository / "picture.bin").write_bytes(bytes(range(256)))
    assert commit(repository).returncode == 0
    (repository / "again.txt").write_text(LIGHTHOUSE.replace("three summers", "four summers"))
    refused = commit(repository)
    assert refused.returncode == 1
    assert re.search(r"again.txt: near of light.txt, \d+% alike", refused.stderr)
    assert commit(repository, "--no-verify").returncode == 0


def test_the_git_hook_lets_a_moved_file_pass(repository: Path) -> None:
    git(repository, "mv", "light.txt", "tower.txt")
    done = commit(repository)
    assert done.returncode == 0, done.stderr


# paperless-ngx.


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractorPool]:
    with ExtractorPool(processes=1) as opened:
        yield opened


def consumed(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(pdf([text]))
    return path


def test_a_second_scan_is_proposed_and_a_bill_with_another_amount_is_not(tmp_path: Path, pool: ExtractorPool) -> None:
    script, index = loaded("paperless_post_consume"), str(tmp_path / "index.sqlite")
    bill = consumed(tmp_path, "0000001.pdf", f"{BILL}\nTotal 120.50 EUR")
    assert script.propose(pool, index, bill) == []
    other = consumed(tmp_path, "0000002.pdf", f"{BILL}\nTotal 99.00 EUR")
    assert script.propose(pool, index, other) == [
        "0000002.pdf: like 0000001.pdf, but with other numbers (120.50, 99.00): keep both"
    ]
    letter = consumed(tmp_path, "0000003.pdf", LIGHTHOUSE)
    assert script.propose(pool, index, letter) == []
    scan = consumed(tmp_path, "0000004.pdf", misread(re.sub(r"\d", "", LIGHTHOUSE), 0.02, np.random.default_rng(3)))
    [line] = script.propose(pool, index, scan)
    assert line.startswith("0000004.pdf: ")
    assert "0000003.pdf" in line


def test_the_paperless_script_reads_its_variables_and_never_fails_a_document(tmp_path: Path) -> None:
    path = consumed(tmp_path, "a.pdf", BREAD)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "DOCUMENT_SOURCE_PATH": str(path),
        "GATE_INDEX": str(tmp_path / "index.sqlite"),
    }
    run = [sys.executable, str(EXAMPLES / "paperless_post_consume.py")]
    for expected in ("", ""):  # the same document again is no duplicate of itself
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
    empty = consumed(tmp_path, "empty.pdf", "")
    done = subprocess.run(
        run, env={**environment, "DOCUMENT_ARCHIVE_PATH": str(empty)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "empty.pdf: no text, so it was compared with nothing\n")


# The scheduled task.


def test_the_nightly_command_leaves_a_report_and_its_findings_are_no_failure(tmp_path: Path) -> None:
    unit = (EXAMPLES / "gate-nightly.service").read_text()
    [command] = re.findall(r"^ExecStart=/opt/gate/bin/gate (.*)$", unit, flags=re.MULTILINE)
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, text in (("a.txt", LIGHTHOUSE), ("b.txt", LIGHTHOUSE), ("c.txt", BRIDGE)):
        (documents / name).write_text(text)
    arguments = command.replace("${STATE_DIRECTORY}", str(tmp_path)).replace("/srv/documents", str(documents)).split()
    done = subprocess.run(
        [sys.executable, "-m", "gate", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Near-duplicates in" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "results.csv").is_file()


def test_systemd_accepts_the_unit_and_its_timer(tmp_path: Path) -> None:
    assert shutil.which("systemd-analyze"), "systemd is missing: run the tests with `make test`, which installs it"
    service, timer = (tmp_path / f"gate-nightly.{kind}" for kind in ("service", "timer"))
    command = str(Path(sys.executable).parent / "gate")
    service.write_text((EXAMPLES / service.name).read_text().replace("/opt/gate/bin/gate", command))
    timer.write_text((EXAMPLES / timer.name).read_text())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", service, timer], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# The web application.


async def test_the_upload_handler_accepts_the_first_and_refuses_its_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_INDEX", str(tmp_path / "index.sqlite"))
    module = loaded("starlette_app")
    transport = httpx2.ASGITransport(app=module.app)
    async with module.lifespan(module.app), httpx2.AsyncClient(transport=transport, base_url="http://app") as client:

        async def put(name: str, content: str | bytes) -> tuple[int, dict[str, Any]]:
            reply = await client.put(f"/documents/{name}", content=content)
            return reply.status_code, reply.json()

        assert await put("first", LIGHTHOUSE) == (201, {"relation": "new"})
        status, answer = await put("second", LIGHTHOUSE.replace("three summers", "four summers"))
        assert (status, answer["relation"], answer["like"]) == (409, "near", "first")
        assert (await put("first", LIGHTHOUSE))[0] == 201
        assert (await put("third", b"\xff\xfe\xfd"))[0] == 422


# The notebook.


def test_the_cells_of_the_notebook_run_and_leave_the_first_of_each_family(
    empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = json.loads((EXAMPLES / "corpus.ipynb").read_text())
    assert (notebook["nbformat"], len({cell["id"] for cell in notebook["cells"]})) == (4, len(notebook["cells"]))
    shared: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec(compile("".join(cell["source"]), cell["id"], "exec"), shared)  # noqa: S102
    assert pq.read_table("clean.parquet").num_rows == 200
    assert "article-200 is like article-0" in capsys.readouterr().out


def test_the_page_names_every_example() -> None:
    page = (EXAMPLES / "index.md").read_text()
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix != ".md" and path.name != "__pycache__"}
    assert names == set(re.findall(r"\]\(([\w.-]+)\)", page))
