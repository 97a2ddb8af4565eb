"""Content that an event refers to is read from regular files beneath one folder, and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gate.errors import BadDocument
from gate.limits import Limits
from gate.stream.content import attach_content, read_content
from gate.wire import CheckInEvent, Origin

LIMITS = Limits(max_document_chars=1000)


def read(uri: str, root: Path) -> str:
    return read_content(uri, root=root, limits=LIMITS)


def test_a_path_may_be_relative_to_the_folder_or_absolute(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one two.txt").write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9")
    assert read("file:docs/one%20two.txt", tmp_path) == "café"
    assert read((tmp_path / "docs" / "one two.txt").as_uri(), tmp_path) == "café"


def test_an_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert read("file:empty.txt", tmp_path) == ""


def test_a_file_outside_the_folder_is_refused_however_it_is_named(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("outside")
    (inside / "link.txt").symlink_to(outside / "a.txt")
    for uri in ("file:../out/a.txt", "file:%2e%2e/out/a.txt", (outside / "a.txt").as_uri(), "file:link.txt"):
        with pytest.raises(BadDocument, match="content_root") as refused:
            read(uri, inside)
        assert refused.value.code == "unreadable_content"
    assert read("file:a.txt", outside) == "outside"


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("file:missing.txt", "unreadable_content"),
        ("file:.", "unreadable_content"),
        ("file:pipe", "unreadable_content"),
        ("file:circle", "unreadable_content"),
        ("file:" + "x" * 300, "unreadable_content"),
        ("file:binary", "binary_content"),
        ("file:latin1", "bad_utf8"),
        ("file:long", "too_large"),
        ("file:very-long", "too_large"),
        ("http://example.org/a.txt", "bad_field"),
        ("file://elsewhere/a.txt", "bad_field"),
        ("/etc/hostname", "bad_field"),
        ("file:", "bad_field"),
        ("file:a%00b", "bad_field"),
        ("file:a#b", "bad_field"),
        ("file://[", "bad_field"),
    ],
)
def test_content_that_cannot_be_read_is_refused_with_the_reason_and_the_field(
    tmp_path: Path, uri: str, code: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "binary").write_bytes(b"PK\0\1")
    (tmp_path / "latin1").write_bytes(b"caf\xe9")
    (tmp_path / "long").write_text("x" * 1001)
    (tmp_path / "very-long").write_text("x" * 5000)
    with pytest.raises(BadDocument, match="field `content_uri`") as refused:
        read(uri, tmp_path)
    assert refused.value.code == code


def test_the_text_is_attached_to_the_event_and_an_error_names_its_origin(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    event, origin = CheckInEvent(document_id="a", content_uri="file:a.txt"), Origin(topic="in", partition=3, offset=14)
    attached = attach_content(event, "file:a.txt", origin=origin, root=tmp_path, limits=LIMITS)
    assert (attached.document_id, attached.text) == ("a", "some text")
    assert event.text is None
    with pytest.raises(BadDocument, match=r"in\[3\]@14: field `content_uri`"):
        attach_content(event, "file:b.txt", origin=origin, root=tmp_path, limits=LIMITS)
