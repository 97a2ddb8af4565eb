"""`gate lab roth-2013 --write`: the controlled files are written, checked in and found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from tests.lab.lab_samples import unrelated_documents

pytestmark = pytest.mark.usefixtures("empty_folder")

VARIANTS = ("dup", "i_1", "i_5", "i_10", "d_1", "d_5", "d_10")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "texts"
    made.mkdir()
    for name, text in zip(("gettysburg", "other"), unrelated_documents(2, words=400).texts, strict=True):
        (made / f"{name}.txt").write_text(text)
    return made


def write(folder: Path, where: Path, *more: str) -> Result:
    out = folder.parent / "out"
    options = ["--inserted", "1,5,10", "--deleted", "1,5,10", "--write", where, *more]
    return CliRunner().invoke(main, [*map(str, ["lab", "roth-2013", "--corpus", folder, "--out", out, *options])])


def test_selecting_gettysburg_finds_its_copy_and_its_six_variants(folder: Path, tmp_path: Path) -> None:
    done = write(folder, tmp_path / "files", "--json")
    assert done.exit_code == 0, done.stderr
    names = {path.name for path in (tmp_path / "files").iterdir()}
    assert {f"gettysburg_{variant}.txt" for variant in VARIANTS} < names
    documents = json.loads(done.stdout)["documents"]
    found = {one["name"]: one for one in documents if one["control"] == "gettysburg.txt"}
    assert {f"gettysburg_{variant}.txt" for variant in VARIANTS} <= found.keys()
    assert found["gettysburg_dup.txt"]["similarity"] == 1.0
    assert found["gettysburg_d_5.txt"]["paper_similarity"] == 0.953125
    assert found["gettysburg.txt"]["paper_fingerprint"] == "2f470b3dd7a4c041"
    assert found["gettysburg.txt"]["similarity"] is None


def test_table_20_is_printed_with_the_papers_fingerprints_beside(folder: Path, tmp_path: Path) -> None:
    shown = write(folder, tmp_path / "files").stdout
    assert "2f470b3dd7a4c041" in shown
    assert "gettysburg_rearranged.txt" in shown
    assert "similar" in shown


def test_a_folder_with_files_is_refused_before_any_work(folder: Path) -> None:
    done = write(folder, folder)
    assert done.exit_code == 2
    assert "is not empty; give a new folder" in done.stderr
