"""`gate run`: events in, verdicts out."""

from __future__ import annotations

import gzip
import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from gate.demo import BREAD, LIGHTHOUSE
from tests.archive.packed_samples import tar_of
from tests.cli.command import EDITED

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


def test_a_bad_line_is_reported_without_its_text_and_the_rest_is_judged() -> None:
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


def test_with_json_stderr_is_json_too() -> None:
    result = gate("--json", stdin="no json\n" + event("a", LIGHTHOUSE) + "\n")
    letter, summary = lines(result.stderr)
    assert letter["reason"] == "bad_json"
    assert "original" not in letter
    assert summary == {"summary": {"dead_lettered": 1, "new": 1}}


def test_a_delete_frees_the_copies_of_a_document_and_takes_effect_in_its_place() -> None:
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


def test_events_read_so_far_are_answered_where_the_input_pauses() -> None:
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


# Inputs of other programs


def test_fields_of_other_names_are_mapped() -> None:
    lines_in = [{"id": 1, "body": LIGHTHOUSE}, {"id": "b", "body": LIGHTHOUSE.upper(), "title": "another"}]
    result = gate("--id-field", "id", "--text-field", "body", stdin="\n".join(map(json.dumps, lines_in)))
    assert result.exit_code == 0, result.stderr
    assert [(v["document_id"], v["relation"]) for v in lines(result.stdout)] == [("1", "new"), ("b", "exact")]


def test_options_are_suggested_where_the_fields_have_other_names() -> None:
    result = gate(stdin=json.dumps({"id": 1, "content": "a private text"}) + "\n")
    assert result.exit_code == 1
    assert "add --id-field id --text-field content" in result.stderr
    assert "private" not in result.stderr


def test_the_original_of_a_dead_letter_has_its_own_field_names() -> None:
    raw = json.dumps({"id": "a", "body": 7})
    assert gate("--id-field", "id", "--text-field", "body", "--dead-letters", "dead.jsonl", stdin=raw).exit_code == 1
    assert lines(Path("dead.jsonl").read_text())[0]["original"] == raw


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    result = gate(stdin=b"\xef\xbb\xbf" + COPIES.encode())
    assert (result.exit_code, len(lines(result.stdout))) == (0, 3)


def test_a_file_of_prose_is_reported_once_and_the_next_file_is_judged(tmp_path: Path) -> None:
    prose, events = tmp_path / "prose.txt", tmp_path / "events.jsonl"
    prose.write_text("A line of prose.\n" * 5000)
    events.write_text(COPIES)
    result = gate(prose, events)
    assert result.exit_code == 1
    assert len(lines(result.stdout)) == 3
    refused, summary = result.stderr.splitlines()
    assert refused.startswith(f"dead letter: {prose}: is not JSON Lines: none of its first 25 lines is a JSON object")
    assert refused.endswith("pass files of text to `gate check` (not_json_lines)")
    assert summary == "done: 1 dead_lettered, 2 new, 1 exact"


@pytest.mark.slow
def test_standard_input_that_is_not_json_lines_is_named(tmp_path: Path) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("A line of prose.\n" * 50)
    with prose.open("rb") as file:
        command = [sys.executable, "-m", "gate", "run"]
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("dead letter: standard input: is not JSON Lines")


def test_dead_letters_are_summarised_by_reason_and_v_reports_each() -> None:
    bad = event("good", BREAD) + "\n" + "no json\n" * 10 + json.dumps({"text": "t"}) + "\n"
    Path("bad.jsonl").write_text(bad)
    summary = gate("bad.jsonl").stderr.splitlines()
    prefix = "dead letter: bad.jsonl:"
    assert [line.startswith(prefix) and line.endswith("(bad_json)") for line in summary[:3]] == [True, True, True]
    assert summary[3] == "dead letter: 10 in all for the reason bad_json; -v reports each"
    assert summary[4].startswith(prefix)
    assert summary[4].endswith("(missing_field)")
    assert len(summary) == 6
    assert sum(line.startswith(prefix) for line in gate("bad.jsonl", "-v").stderr.splitlines()) == 11


def test_with_a_file_of_dead_letters_there_is_a_summary_too_unless_quiet() -> None:
    options = ("--dead-letters", "dead.jsonl")
    assert "(bad_json)" in gate(*options, stdin="no json\n").stderr
    assert gate(*options, "--quiet", stdin="no json\n").stderr == ""


def test_field_options_are_refused_for_topics() -> None:
    result = gate("--kafka", "localhost:1", "--id-field", "id")
    assert result.exit_code == 2
    assert "--format: are for files" in result.stderr


def test_a_bad_line_of_standard_input_is_reported_while_the_input_is_open() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gate", "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("no json\n")
        assert process.stderr.readline().startswith("dead letter: -:1: the line is not JSON")
        process.stdin.close()
        assert process.stderr.read() == "done: 1 dead_lettered\n"
        assert process.wait(30) == 1


def test_files_of_dead_letters_and_of_verdicts_are_private() -> None:
    gate("--dead-letters", "dead.jsonl", "-o", "verdicts.jsonl", stdin="no json\n")
    for written in ("dead.jsonl", "verdicts.jsonl"):
        assert stat.S_IMODE(Path(written).stat().st_mode) == 0o600


def test_archives_are_judged_as_events_are(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar_of({"x.txt": LIGHTHOUSE, "y.jsonl": event("b", EDITED)}))
    (tmp_path / "b.csv").write_text(f"key,body\nz,{LIGHTHOUSE!r}\n".replace("'", '"'))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(event("d", BREAD).encode()))
    (tmp_path / "e.txt").write_text("no event\n")
    result = gate(tmp_path / "a.tar", tmp_path / "c.jsonl.gz", tmp_path / "e.txt", "--quiet")
    assert [(one["document_id"], one["relation"]) for one in lines(result.stdout)] == [
        ("x.txt", "new"),
        ("b", "near"),
        ("d", "new"),
    ]
    assert result.exit_code == 1
    packed = (tmp_path / "b.csv").read_bytes()
    for arguments, stdin in (((tmp_path / "b.csv",), None), (("-", "--format", "csv"), packed)):
        result = gate(*arguments, "--id-field", "key", "--text-field", "body", stdin=stdin)
        assert [one["document_id"] for one in lines(result.stdout)] == ["z"]
