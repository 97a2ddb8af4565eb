"""`gate run`: events in, verdicts out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from gate.demo import BREAD, LIGHTHOUSE

pytestmark = pytest.mark.usefixtures("empty_folder")


def event(document_id: str, text: str, **more: Any) -> str:
    return json.dumps({"document_id": document_id, "text": text, **more})


def gate(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, arguments)], input=stdin)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


COPIES = "\n".join([event("a", LIGHTHOUSE), event("b", BREAD), event("c", LIGHTHOUSE.upper())]) + "\n"


def test_every_check_in_gets_one_verdict_in_the_order_of_the_input() -> None:
    result = gate(stdin=COPIES)
    assert result.exit_code == 0, result.stderr
    verdicts = lines(result.stdout)
    assert [v["document_id"] for v in verdicts] == ["a", "b", "c"]
    assert [v["relation"] for v in verdicts] == ["new", "new", "exact"]
    assert verdicts[2]["matches"][0]["document_id"] == "a"
    assert verdicts[2]["origin"] == {"file": "-", "line": 3}


def test_several_files_and_standard_input_are_read_one_after_another(tmp_path: Path) -> None:
    first = tmp_path / "first.jsonl"
    first.write_text(event("a", LIGHTHOUSE) + "\n")
    result = gate(first, "-", stdin=event("b", LIGHTHOUSE) + "\n")
    assert [v["relation"] for v in lines(result.stdout)] == ["new", "exact"]


def test_a_line_that_cannot_be_judged_is_told_without_its_text_and_the_rest_goes_on() -> None:
    broken = '{"document_id": "x", "text": 42, "title": "a private title"}\n'
    result = gate(stdin=event("a", LIGHTHOUSE) + "\n" + broken + event("b", LIGHTHOUSE) + "\n")
    assert result.exit_code == 1
    assert [v["document_id"] for v in lines(result.stdout)] == ["a", "b"]
    assert "-:2" in result.stderr
    assert "`text`" in result.stderr
    assert "private" not in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_of_dead_letters_holds_the_originals_and_grows(tmp_path: Path) -> None:
    letters = tmp_path / "dead.jsonl"
    for _ in range(2):
        result = gate("--dead-letters", letters, stdin="no json\n" + event("a", LIGHTHOUSE) + "\n")
        assert result.exit_code == 1
        assert "no json" not in result.stderr
    assert [letter["original"].strip() for letter in lines(letters.read_text())] == ["no json", "no json"]
    assert lines(letters.read_text())[0]["reason"] == "bad_json"


def test_with_json_what_goes_to_stderr_is_json_too() -> None:
    result = gate("--json", stdin="no json\n" + event("a", LIGHTHOUSE) + "\n")
    letter, summary = lines(result.stderr)
    assert letter["reason"] == "bad_json"
    assert "original" not in letter
    assert summary == {"summary": {"dead_lettered": 1, "new": 1}}


def test_a_delete_frees_what_was_refused_for_its_sake_and_takes_effect_in_its_place() -> None:
    delete = json.dumps({"type": "delete", "document_id": "a"})
    result = gate(
        stdin="\n".join([event("a", LIGHTHOUSE), event("b", LIGHTHOUSE), delete, event("c", LIGHTHOUSE)]) + "\n"
    )
    assert result.exit_code == 0
    verdicts = lines(result.stdout)
    assert [v["document_id"] for v in verdicts] == ["a", "b", "c"]
    assert verdicts[1]["matches"][0]["document_id"] == "a"
    assert all(match["document_id"] != "a" for match in verdicts[2]["matches"])


def test_a_replay_on_a_kept_index_gets_the_same_verdicts_again(tmp_path: Path) -> None:
    index = tmp_path / "gate.sqlite"
    first, again = (lines(gate("--index", index, stdin=COPIES).stdout) for _ in range(2))
    for verdict in (*first, *again):
        del verdict["judged_at"]
    assert first == again


def test_verdicts_go_to_a_file_and_the_summary_to_stderr(tmp_path: Path) -> None:
    output = tmp_path / "verdicts.jsonl"
    result = gate("-o", output, stdin=COPIES)
    assert result.stdout == ""
    assert len(lines(output.read_text())) == 3
    assert "2 new, 1 exact" in result.stderr


def test_quiet_means_no_summary() -> None:
    assert gate("--quiet", stdin=COPIES).stderr == ""


def test_an_input_is_never_written_over(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text(COPIES)
    result = gate(events, "-o", events)
    assert result.exit_code == 2
    assert "another file" in result.stderr
    assert events.read_text() == COPIES


def test_a_file_that_is_not_there_is_a_wrong_use() -> None:
    result = gate("nowhere.jsonl")
    assert result.exit_code == 2
    assert "nowhere.jsonl" in result.stderr


def test_nothing_in_gives_nothing_out() -> None:
    result = gate(stdin="")
    assert (result.exit_code, result.stdout) == (0, "")


def test_where_the_input_pauses_what_came_so_far_is_answered() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gate", "run", "--quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for document_id, relation in (("a", "new"), ("b", "exact")):
            process.stdin.write(event(document_id, LIGHTHOUSE) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["relation"] == relation
        process.stdin.close()
        assert process.wait(30) == 0
