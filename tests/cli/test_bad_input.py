"""Any input is judged, or reported with its origin and a remedy; the rest is judged, and nothing is lost."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from gate.cli import main
from gate.demo import BREAD, LIGHTHOUSE
from tests.extract.office_samples import docx_of

pytestmark = pytest.mark.usefixtures("empty_folder")

CANARY = "quetzalcoatl"  # stands in every document here, and must not be on stderr
TEXT = f"{CANARY} {BREAD} {CANARY}"
NOBODY = 65534


def gate(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    result = CliRunner().invoke(main, [*map(str, arguments)], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert CANARY not in result.stderr
    return result


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def event(document_id: str, **fields: Any) -> bytes:
    return json.dumps({"document_id": document_id, **fields}).encode()


GOOD = [event("first", text=LIGHTHOUSE), event("last", text=LIGHTHOUSE.upper())]

# The line, its reason, and a part of its message.
BAD_LINES = [
    (f"no json {CANARY}".encode(), "bad_json", "is not JSON"),
    (event("x", text=TEXT)[:-1], "bad_json", "ends too soon"),
    (event("x", text=TEXT) * 2, "bad_json", "trailing"),
    (json.dumps([CANARY]).encode(), "bad_json", "no object: send one object per line"),
    (json.dumps({"text": TEXT}).encode(), "missing_field", "field `document_id` is missing"),
    (event("x", title=CANARY), "no_content", "neither field `text` nor `content_uri` is given: send one"),
    (event("x", text=TEXT, content_uri="file:a"), "bad_field", "both given: send one of them"),
    (event("x", text=[CANARY]), "bad_field", "field `text`: expected str"),
    (event("x", text=TEXT, checked_in_at=CANARY), "bad_field", "field `checked_in_at`"),
    (event("x", text=TEXT, version=1.5), "bad_field", "field `version`"),
    (event("", text=TEXT), "bad_field", "field `document_id`: expected str of length >= 1"),
    (event("x", text=TEXT, type=CANARY), "bad_field", "field `type`: unknown; allowed are"),
    (event("x", text=TEXT).replace(b"oven", b"\xff\xfe"), "bad_utf8", "field `text`: not UTF-8 at byte"),
    (event("x", text=TEXT + "\ud83d"), "bad_text", "field `text`: holds half of a surrogate pair"),
    (event("x", text=TEXT * 40), "too_large", "more than 5000 characters: cut the document in parts, or raise limits."),
    (event("x", content_uri="file:missing.txt"), "unreadable_content", "cannot be read (no such file or directory)"),
    (event("x", content_uri="file:folder"), "unreadable_content", "cannot be read (is a directory)"),
    (event("x", content_uri="file:../up.txt"), "unreadable_content", "set content_root"),
    (event("x", content_uri="file:binary.bin"), "binary_content", "the file is binary: extract its text first"),
    (event("x", content_uri="file:latin.txt"), "bad_utf8", "not UTF-8 at byte"),
    (event("x", content_uri="file:long.txt"), "too_large", "more than 5000 characters"),
    (event("x", content_uri=f"https://example.org/{CANARY}"), "bad_field", "only local file: URIs are read"),
]


@pytest.fixture
def contents(empty_folder: Path) -> Path:
    (empty_folder / "folder").mkdir()
    (empty_folder / "binary.bin").write_bytes(b"PK\0\1" + CANARY.encode())
    (empty_folder / "latin.txt").write_bytes(f"{CANARY} Stück".encode("latin-1"))
    (empty_folder / "long.txt").write_text(TEXT * 40)
    return empty_folder


@pytest.mark.parametrize(("bad", "reason", "message"), BAD_LINES)
def test_a_bad_line_is_reported_with_its_origin_and_a_remedy_and_the_rest_is_judged(
    contents: Path, bad: bytes, reason: str, message: str
) -> None:
    stream = b"\n".join([GOOD[0], bad, GOOD[1]]) + b"\n"
    limit = ("--set", "limits.max_document_chars=5000", "--content-root", ".")
    result = gate("run", *limit, stdin=stream)
    assert result.exit_code == 1
    assert [v["relation"] for v in lines(result.stdout)] == ["new", "exact"]
    report, summary = result.stderr.splitlines()
    assert report.startswith("dead letter: -:2: ")
    assert report.endswith(f"({reason})")
    assert message in report
    assert "1 dead_lettered" in summary

    again = gate("run", *limit, "--quiet", "--dead-letters", "dead.jsonl", stdin=stream)
    assert (again.exit_code, again.stderr) == (1, "")
    [letter] = lines(Path("dead.jsonl").read_text())
    assert (letter["reason"], letter["origin"]) == (reason, {"file": "-", "line": 2})
    kept = letter["original"].encode() if "original" in letter else base64.b64decode(letter["original_base64"])
    assert kept == bad


def test_dead_letters_can_be_corrected_and_sent_again() -> None:
    gate("run", "--dead-letters", "dead.jsonl", stdin=event("x", content_uri="file:late.txt") + b"\n")
    Path("late.txt").write_text(LIGHTHOUSE)
    [letter] = lines(Path("dead.jsonl").read_text())
    again = gate("run", "--content-root", ".", stdin=letter["original"])
    assert [v["document_id"] for v in lines(again.stdout)] == ["x"]


words = st.text(st.sampled_from('ab \n"\\{}:,\ud83d\udfffé漢\0'), max_size=12)
good = st.builds(lambda n, text: event(f"d{n}", text=text), st.integers(0, 5), st.text("abc ", max_size=60))
delete = st.builds(lambda n: event(f"d{n}", type="delete"), st.integers(0, 5))
odd = st.builds(lambda **fields: json.dumps(fields).encode(), document_id=words, text=words | st.none(), version=words)
garbage = st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b""))


@pytest.mark.slow
@given(st.lists(good | good | good | delete | odd | garbage, max_size=20), st.integers(1, 8))
def test_every_line_of_any_stream_becomes_a_verdict_a_deletion_or_a_dead_letter(stream: list[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dead = Path(folder) / "dead.jsonl"
        batches = ("--set", f"limits.batch_documents={size}")
        result = gate("run", *batches, "--json", "--dead-letters", dead, stdin=b"\n".join(stream))
        letters = lines(dead.read_text())
    verdicts = lines(result.stdout)
    [summary] = [line["summary"] for line in lines(result.stderr)]
    deletes = summary.get("deleted", 0) + summary.get("already_gone", 0)

    written = {number: raw for number, raw in enumerate(stream, start=1) if raw.strip()}
    if stream and stream[0].startswith(b"\xef\xbb\xbf"):  # a byte order mark is no part of the line
        written[1] = stream[0][3:]
        if not written[1].strip():
            del written[1]
    judged = [verdict["origin"]["line"] for verdict in verdicts]
    refused = {letter["origin"]["line"]: letter for letter in letters}
    assert judged == sorted(set(judged))
    assert len(judged) + len(letters) + deletes == len(written)
    assert set(judged).isdisjoint(refused)
    assert {*judged, *refused} <= set(written)
    for number, letter in refused.items():
        kept = letter["original"].encode() if "original" in letter else base64.b64decode(letter["original_base64"])
        assert kept == written[number]
    assert result.exit_code == (1 if letters else 0)


# Files


@contextmanager
def without_privileges() -> Iterator[None]:
    """As a user who may not read everything; tests are often run by root."""
    if os.geteuid():
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def public(empty_folder: Path) -> Iterator[Path]:
    """A folder that everybody may enter: those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "b.txt").write_text(BREAD)
        gate("check", folder)  # whatever is imported late is imported before the privileges are gone
        os.chdir(folder)
        yield folder
        os.chdir(empty_folder)


def test_a_file_without_permission_is_skipped_and_the_rest_is_judged(public: Path) -> None:
    (public / "a.txt").write_text(TEXT)
    (public / "a.txt").chmod(0)
    with without_privileges():
        result = gate("check", public)
        named = gate("check", public / "a.txt", public / "b.txt")
    for found in (result, named):
        assert found.exit_code == 0
        assert "a.txt: cannot be read: Permission denied" in found.stderr
        assert "1 document: 1 new; 1 could not be read." in found.stdout


def test_a_folder_without_permission_is_skipped_and_the_rest_is_judged(public: Path) -> None:
    (public / "private").mkdir(0)
    with without_privileges():
        result = gate("check", public)
    (public / "private").chmod(0o700)
    assert result.exit_code == 0
    assert "private: cannot be read: Permission denied" in result.stderr
    assert "1 document: 1 new; 1 could not be read." in result.stdout


def test_a_file_that_fails_while_it_is_read_is_skipped_and_the_rest_is_judged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("/proc/self/mem")  # the first page of a process is never there to be read
    (tmp_path / "b.txt").write_text(BREAD)
    result = gate("check", tmp_path, "--follow-links")
    assert result.exit_code == 0
    assert "a.txt: cannot be read: Input/output error" in result.stderr
    assert "1 document: 1 new; 1 could not be read." in result.stdout


BAD_FILES = {
    "image.png": (b"\x89PNG\r\n\0\0" + CANARY.encode(), "binary", "is not a text file"),
    "cut.txt": (CANARY.encode("utf-16")[:-1], "bad_encoding", "is no text in utf-16 at byte"),
    "cut.docx": (docx_of(CANARY)[:-100], "damaged", "is a damaged ZIP file, or an office document in one"),
    "long.txt": ((TEXT * 10).encode(), "too_large", "has more than 5,000 characters; split it, or raise limits."),
    "huge.txt": (("é" * 20001).encode(), "too_large", "has more than 5,000 characters"),
}


@pytest.fixture
def bad_folder(tmp_path: Path) -> Path:
    for name, (content, _, _) in BAD_FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "lost.txt").symlink_to("nowhere")
    (tmp_path / "good.txt").write_text(BREAD)
    return tmp_path


def test_files_without_text_are_compared_by_their_bytes_and_the_reason_is_reported(bad_folder: Path) -> None:
    result = gate("check", bad_folder, "-v", "--set", "limits.max_document_chars=5000")
    assert result.exit_code == 0
    for name, (_, _, message) in BAD_FILES.items():
        assert f"no text: {name}: {message}" in result.stderr
    assert "skipped: lost.txt: cannot be read: No such file or directory" in result.stderr
    assert "6 documents: 1 new, 5 unreadable; 1 could not be read." in result.stdout


def test_a_file_that_cannot_be_read_fails_a_strict_check(bad_folder: Path) -> None:
    result = gate("check", bad_folder, "--strict", "--set", "limits.max_document_chars=5000")
    assert result.exit_code == 1
    assert gate("check", bad_folder, "--strict", "--include", "good.txt").exit_code == 0
    assert gate("check", bad_folder, "--strict", "--include", "*.png").exit_code == 1
    assert gate("check", bad_folder, "--strict", "--include", "lost.txt").exit_code == 1


def test_files_that_are_no_text_are_reported_to_programs_in_json(bad_folder: Path) -> None:
    result = gate("check", bad_folder, "--json", "--set", "limits.max_document_chars=5000")
    judged = {verdict["document_id"]: verdict["unreadable_reason"] for verdict in lines(result.stdout)}
    assert judged == {name: reason for name, (_, reason, _) in BAD_FILES.items()} | {"good.txt": None}
    reasons = {name: reason for name, (_, reason, _) in BAD_FILES.items()} | {"lost.txt": "unreadable"}
    assert {one["document_id"]: one["reason"] for one in lines(result.stderr)} == reasons


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_command_about_one_file_ends_with_the_reason_if_that_is_no_text(bad_folder: Path, name: str) -> None:
    message = BAD_FILES[name][2]
    index = bad_folder / "gate.sqlite"
    limit = ("--set", "limits.max_document_chars=5000")
    gate("check", bad_folder / "good.txt", "--index", index)
    for command in (
        ("compare", bad_folder / "good.txt", bad_folder / name),
        ("similar", bad_folder / name, "--index", index),
    ):
        result = gate(*command, *limit)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{name}: {message}" in result.stderr


def test_standard_input_follows_the_same_rules(bad_folder: Path) -> None:
    for content, _, message in BAD_FILES.values():
        limit = ("--set", "limits.max_document_chars=5000")
        result = gate("compare", "-", bad_folder / "good.txt", *limit, stdin=content)
        assert result.exit_code == 2
        assert f"error: standard input: {message}" in result.stderr


# Nothing of a document reaches stderr


@pytest.mark.slow
def test_no_command_writes_anything_of_a_document_to_stderr(bad_folder: Path) -> None:
    """`gate` above looks for the canary after every call; here every command meets it."""
    (bad_folder / "copy.txt").write_text(TEXT)
    index = ("--index", str(bad_folder / "gate.sqlite"))
    for json_too in ((), ("--json",)):
        gate("check", bad_folder, *index, *json_too)
        gate("run", *index, *json_too, stdin=b"\n".join(bad for bad, _, _ in BAD_LINES))
        gate("run", *index, *json_too, "--profile", "simhash", stdin=event("x", text=TEXT))
        gate("compare", bad_folder / "copy.txt", bad_folder / "good.txt", *json_too)
        gate("similar", "copy.txt", *index, *json_too)
        gate("similar", bad_folder / "copy.txt", "--as", "file", *index, *json_too)
        gate("explain", "copy.txt", *index, *json_too)
        gate("explain", "nobody", *index, *json_too)
        gate("delete", "copy.txt", "nobody", *index, *json_too)
        gate("index", "info", *index, *json_too)
