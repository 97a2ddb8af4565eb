"""Documents of archive files: JSON Lines and texts, with their dates and sources."""

from __future__ import annotations

import io
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gate.archive.parts import ArchivedEvent
from gate.wire import CheckInEvent, DeleteEvent, decode_event
from tests.archive.archive_samples import COMPRESS, LIMITS, NOON, documents, line, read, rejections, write


def test_a_path_that_is_too_long_for_an_id_is_reported(tmp_path: Path) -> None:
    write(tmp_path.joinpath(*["x" * 200] * 6), "text")
    assert [code for code, _ in rejections(tmp_path)] == ["bad_field"]


def test_a_text_has_the_date_of_its_file_and_the_given_source(tmp_path: Path) -> None:
    [one] = read(write(tmp_path / "a.txt", "text"), source="archive")
    assert isinstance(one, ArchivedEvent)
    assert isinstance(one.event, CheckInEvent)
    assert (one.event.checked_in_at, one.event.source) == (NOON, "archive")
    assert decode_event(one.message, limits=LIMITS) == one.event


@pytest.mark.parametrize("moment", [-(2**40), 2**40, 2**33])
def test_a_file_with_an_impossible_date_is_read_without_one(tmp_path: Path, moment: int) -> None:
    path = write(tmp_path / "a.txt", "text")
    with suppress(OSError):  # a file system may know no such time
        os.utime(path, (moment, moment))
    assert documents(path)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", ["events.jsonl", "EVENTS.NDJSON"])
def test_events_are_read_from_every_compression(tmp_path: Path, suffix: str, name: str) -> None:
    written = line("a", "one") + "\n" + line("b", "two") + '{"document_id": "a", "type": "delete"}'
    results = read(write(tmp_path / (name + suffix), COMPRESS[suffix](written.encode())))
    events = [one.event for one in results if isinstance(one, ArchivedEvent)]
    assert [(event.document_id, getattr(event, "text", None)) for event in events] == [
        ("a", "one"),
        ("b", "two"),
        ("a", None),
    ]
    assert isinstance(events[2], DeleteEvent)
    assert [one.origin.line for one in results if one is not None and one.origin is not None] == [1, 3, 4]


def test_the_date_and_source_of_an_event_win_over_those_of_its_file(tmp_path: Path) -> None:
    own = line("a", checked_in_at="1999-12-31T00:00:00Z", source="itself", colour="blue")
    path = write(tmp_path / "events.jsonl", own + line("b", colour="red"))
    first, second = (one for one in read(path, source="archive") if isinstance(one, ArchivedEvent))
    assert first.message == own.strip().encode()  # as it was, to the byte
    assert json.loads(second.message) == {
        "document_id": "b",
        "text": "text",
        "colour": "red",
        "checked_in_at": "2020-05-17T12:00:00Z",
        "source": "archive",
    }
    assert decode_event(second.message, limits=LIMITS) == second.event


@pytest.mark.parametrize("own", ["", ', "source": null', ', "checked_in_at" : null', ', "title": "\\"source\\""'])
def test_missing_fields_are_added_to_a_message_of_any_form(tmp_path: Path, own: str) -> None:
    path = write(tmp_path / "e.jsonl", f' {{"document_id": "a", "text": "}}"{own} }} \r\n')
    [one] = read(path, source="archive")
    assert isinstance(one, ArchivedEvent)
    assert decode_event(one.message, limits=LIMITS) == one.event
    assert json.loads(one.message)["source"] == "archive"
    assert json.loads(one.message)["checked_in_at"] == "2020-05-17T12:00:00Z"


def test_the_content_behind_a_uri_is_sent_with_its_event(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "b.txt", "from the file")
    path = write(tmp_path / "events.jsonl", json.dumps({"document_id": "b", "content_uri": "file:docs/b.txt"}))
    [one] = read(path, content_root=tmp_path)
    assert isinstance(one, ArchivedEvent)
    sent = decode_event(one.message, limits=LIMITS)
    assert isinstance(sent, CheckInEvent)
    assert (sent.text, sent.content_uri) == ("from the file", None)
    [(reason, message)] = rejections(path)
    assert reason == "unreadable_content"
    assert "set content_root" in message


def test_lines_that_are_not_events_are_reported_by_number_and_the_others_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "e.jsonl",
        b"no json\n" + line("a").encode() + b"\xff\n" + b"x" * 2_000_000 + b"\n" + line("b").encode(),
    )
    assert [code for code, _ in rejections(path)] == ["bad_json", "bad_utf8", "too_large"]
    assert all(f"e.jsonl:{number}: " in said for number, (_, said) in zip((1, 3, 4), rejections(path), strict=True))
    assert len(read(path)) == 5


def test_lines_that_were_done_before_are_not_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "events.jsonl", line("a") + "no json\n" + line("b") + line("c"))
    assert list(documents(path, after=2)) == ["b", "c"]


def test_standard_input_is_read_as_json_lines_compressed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer: Any

    for suffix, pack in COMPRESS.items():
        stdin = Stdin()
        stdin.buffer = io.BufferedReader(io.BytesIO(pack(line("a", suffix).encode())))
        monkeypatch.setattr("sys.stdin", stdin)
        [one] = read(Path("-"))
        assert isinstance(one, ArchivedEvent)
        assert isinstance(one.event, CheckInEvent)
        assert (one.event.text, one.event.checked_in_at, str(one.origin)) == (suffix, None, "-:1")


def test_records_alone_are_given_as_they_are_without_a_look_into_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"x":  1}\nno json\n')
    results = read(path, keep_records=True, records_only=True)
    assert [one.record for one in results if isinstance(one, ArchivedEvent)] == [b'{"x":  1}', b"no json"]


def test_records_without_an_id_are_numbered_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n{"document_id": "b", "text": "b"}\n')
    assert documents(path, number_records=True) == {f"{path}:1": "a", "b": "b"}
    assert [code for code, _ in rejections(path)] == ["missing_field"]
