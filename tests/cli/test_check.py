"""The command `check`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gate.cli.check import SHOWN_DOCUMENTS
from gate.demo import BREAD, LIGHTHOUSE
from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def index(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "gate.sqlite"
    assert gate("check", folder, "--index", path).exit_code == 0
    return path


def test_the_files_of_a_folder_are_compared_with_each_other(folder: Path) -> None:
    result = gate("check", folder, "--json")
    assert result.exit_code == 0, result.stderr
    assert [(v["document_id"], v["relation"]) for v in lines(result)] == [
        ("a.txt", "new"),
        ("b.txt", "new"),
        ("new/c.txt", "near"),
    ]


def test_the_table_names_each_document_its_verdict_and_its_like(folder: Path) -> None:
    rows = gate("check", folder).stdout.splitlines()
    assert rows[3].split()[:3] == ["new/c.txt", "near", "a.txt"]
    assert rows[-1] == "3 documents: 2 new, 1 near."


def test_only_similar_leaves_the_others_out(folder: Path) -> None:
    assert [v["document_id"] for v in lines(gate("check", folder, "--only-similar", "--json"))] == ["new/c.txt"]


def test_similar_documents_fail_the_check_only_if_asked(folder: Path) -> None:
    assert gate("check", folder).exit_code == 0
    assert gate("check", folder, "--fail-on-similar").exit_code == 1
    (folder / "new" / "c.txt").unlink()
    assert gate("check", folder, "--fail-on-similar").exit_code == 0


def test_a_link_that_leads_nowhere_named_by_hand_is_a_wrong_use(folder: Path) -> None:
    (folder / "link").symlink_to("nowhere")
    assert gate("check", folder / "link").exit_code == 2


def test_equal_names_in_two_folders_stay_two_documents(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.txt").write_text(LIGHTHOUSE)
    found = lines(gate("check", tmp_path / "x", tmp_path / "y", "--json"))
    assert [v["relation"] for v in found] == ["new", "exact"]


def test_hidden_files_are_left_out_unless_named(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "d.txt").write_text(LIGHTHOUSE)
    assert len(lines(gate("check", folder, "--json"))) == 3
    assert len(lines(gate("check", folder / ".git" / "d.txt", "--json"))) == 1


def test_a_byte_order_mark_makes_no_difference(folder: Path) -> None:
    (folder / "d.txt").write_text(BREAD, encoding="utf-8-sig")
    assert [v["relation"] for v in lines(gate("check", folder, "--json")) if v["document_id"] == "d.txt"] == ["exact"]


def test_control_characters_in_a_name_become_escapes(folder: Path) -> None:
    (folder / "\x1b[31mred[bold].txt").write_text(LIGHTHOUSE + " And more of it.")
    result = gate("check", folder)
    assert "\x1b" not in result.stdout
    assert "\\x1b[31mred[bold].txt" in result.stdout


def test_a_kept_index_answers_the_same_again(folder: Path, index: Path) -> None:
    assert gate("check", folder, "--index", index).stdout == gate("check", folder).stdout


def test_a_dry_run_adds_nothing(index: Path, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("A text of its own about the tide, the moon, seven boats and the price of rope.")
    for _ in range(2):
        found = lines(gate("check", tmp_path / "d.txt", "--index", index, "--dry-run", "--json"))
        assert [v["relation"] for v in found] == ["new"]
    assert json.loads(gate("index", "info", "--index", index, "--json").stdout)["documents"] == 3


def test_a_file_that_is_no_index_is_refused_and_left_alone(folder: Path) -> None:
    result = gate("check", folder, "--index", folder / "a.txt")
    assert result.exit_code == 2
    assert "a.txt" in result.stderr
    assert "Traceback" not in result.output
    assert (folder / "a.txt").read_text() == LIGHTHOUSE


def test_an_index_of_another_profile_is_refused(folder: Path, index: Path) -> None:
    result = gate("check", folder, "--index", index, "--profile", "simhash")
    assert result.exit_code == 2
    assert "profile" in result.stderr


def test_the_oldest_of_two_copies_is_the_original(folder: Path) -> None:
    os.utime(folder / "new" / "c.txt", (1, 1))
    assert [(v["document_id"], v["relation"]) for v in lines(gate("check", folder, "--json"))] == [
        ("new/c.txt", "new"),
        ("a.txt", "near"),
        ("b.txt", "new"),
    ]
    by_name = lines(gate("check", folder, "--order", "name", "--json"))
    assert [v["document_id"] for v in by_name if v["relation"] == "new"] == ["a.txt", "b.txt"]


def test_links_are_shown_and_counted_and_are_no_documents(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(f"{BREAD} marmalade")
    (folder / "0.txt").symlink_to("a.txt")
    (folder / "1.txt").symlink_to("../secret.txt")
    os.link(folder / "b.txt", folder / "c.txt")
    result = gate("check", folder)
    rows = {row.split()[0]: row.split()[1:3] for row in result.stdout.splitlines()[1:-1]}
    assert {name: rows[name] for name in ("0.txt", "1.txt", "c.txt")} == {
        "0.txt": ["link", "a.txt"],
        "1.txt": ["link", "../secret.txt"],
        "c.txt": ["link", "b.txt"],
    }
    assert result.stdout.splitlines()[-1] == "3 documents: 2 new, 1 near; 3 links."
    for_programs = gate("check", folder, "--json")
    assert len(lines(for_programs)) == 3
    assert [json.loads(line) for line in for_programs.stderr.splitlines()] == [
        {"document_id": "c.txt", "link": "hard", "target": "b.txt"},
        {"document_id": "0.txt", "link": "symbolic", "target": "a.txt"},
        {"document_id": "1.txt", "link": "symbolic", "target": "../secret.txt"},
    ]


def test_hidden_files_are_counted_and_read_by_choice(folder: Path) -> None:
    (folder / ".d.txt").write_text(LIGHTHOUSE)
    assert gate("check", folder).stdout.splitlines()[-1] == "3 documents: 2 new, 1 near; 1 hidden."
    assert gate("check", folder, "--hidden").stdout.splitlines()[-1] == "4 documents: 2 new, 1 exact, 1 near."


def test_globs_choose_the_files_that_are_checked(folder: Path) -> None:
    found = lines(gate("check", folder, "--include", "*.txt", "--exclude", "new", "--json"))
    assert [v["document_id"] for v in found] == ["a.txt", "b.txt"]


def test_of_many_documents_the_table_has_the_similar_ones_and_a_program_gets_all(folder: Path) -> None:
    for n in range(SHOWN_DOCUMENTS):
        (folder / f"short-{n}.txt").write_text(f"note {n}")
    shown = gate("check", folder).stdout.splitlines()
    assert [row.split()[0] for row in shown[1:-2]] == ["new/c.txt"]
    assert shown[-2] == f"{SHOWN_DOCUMENTS + 3} documents: 2 new, 1 near, {SHOWN_DOCUMENTS} too_short."
    assert shown[-1] == "Of so many documents only the similar ones are listed; --all lists each."
    every = SHOWN_DOCUMENTS + 3
    assert len(gate("check", folder, "--all").stdout.splitlines()) == every + 2
    assert len(lines(gate("check", folder, "--json"))) == every
    assert "--all" not in gate("check", folder, "--only-similar").stdout
