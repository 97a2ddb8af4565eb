"""What is in a file of an archive: texts in several encodings, JSON Lines, packed or not, and all that can be wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from gate.archive import unpack
from gate.archive.readers import Found, Item, ItemReader, Readable, items
from gate.archive.unpack import unpacked
from gate.errors import BadDocument
from gate.limits import Limits
from gate.wire import CheckInEvent, DeleteEvent, Rejected, decode_event

LIMITS = Limits(max_document_chars=1000)
NOON = datetime(2020, 5, 17, 12, tzinfo=UTC)
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


def found(*paths: Path, **how: Any) -> list[Readable]:
    return [one for item in items(paths) for one in ItemReader(item, limits=how.pop("limits", LIMITS), **how)]


def documents(*paths: Path, **how: Any) -> dict[str, str | None]:
    read = found(*paths, **how)
    events = [one.event for one in read if isinstance(one, Found)]
    assert len(events) == len(read), read
    return {event.document_id: event.text for event in events if isinstance(event, CheckInEvent)}


def refusals(*paths: Path, **how: Any) -> list[tuple[str, str]]:
    return [(one.error.code, str(one.error)) for one in found(*paths, **how) if isinstance(one, Rejected)]


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    return path


def line(document_id: str, text: str = "text", **more: Any) -> str:
    return json.dumps({"document_id": document_id, "text": text, **more}) + "\n"


# Texts


def test_files_come_in_the_order_of_their_names_with_their_paths_as_ids(tmp_path: Path) -> None:
    for name in ("b/z.txt", "b/a.md", "a.txt", "c", ".hidden", "b/.git/config"):
        write(tmp_path / name, name)
    assert list(documents(tmp_path).items()) == [
        ("a.txt", "a.txt"),
        ("b/a.md", "b/a.md"),
        ("b/z.txt", "b/z.txt"),
        ("c", "c"),
    ]
    assert list(documents(tmp_path / "b", tmp_path / "c")) == [
        f"{tmp_path}/{name}" for name in ("b/a.md", "b/z.txt", "c")
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_texts_are_read_in_the_encodings_that_tell_themselves(tmp_path: Path, encoding: str) -> None:
    text = "Grüße, 東京 und 🗼\n"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    write(tmp_path / "a.txt", mark + text.encode(encoding))
    assert documents(tmp_path) == {"a.txt": text}


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("é".encode("latin-1") + b"t\xe9", "bad_encoding", "is not UTF-8 (byte 0)"),
        ("wide".encode("utf-32"), "bad_encoding", "is UTF-32"),
        ("odd".encode("utf-16")[:-1], "bad_encoding", "is not UTF-16"),
        (b"\x89PNG\r\n\0\0", "binary", "is not a text file"),
        ("a\0b".encode("utf-16"), "binary", "is not a text file"),
        ("x" * 1001, "too_large", "has more than 1,000 characters"),
        ("é" * 1001, "too_large", "has more than 1,000 characters"),
        (b"x" * 100_000, "too_large", "has more than 1,000 characters"),
    ],
)
def test_a_file_that_is_no_text_is_told_with_its_reason_and_the_rest_goes_on(
    tmp_path: Path, content: bytes | str, code: str, said: str
) -> None:
    write(tmp_path / "bad.txt", content)
    write(tmp_path / "good.txt", "x" * 1000)
    [(reason, message)] = refusals(tmp_path)
    assert reason == code
    assert message.startswith(f"bad.txt: {said}")
    assert len(found(tmp_path)) == 2


def test_links_that_lead_nowhere_or_in_circles_are_told_and_folders_behind_links_are_not_walked(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "text")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "lost").symlink_to("nowhere")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("a.txt")
    assert [code for code, _ in refusals(tmp_path)] == ["unreadable", "unreadable"]
    assert [one.event.document_id for one in found(tmp_path) if isinstance(one, Found)] == ["a.txt", "link"]


def test_a_file_that_fails_while_it_is_read_is_told(tmp_path: Path) -> None:
    for name in ("a.txt", "b.jsonl", "c.gz"):
        (tmp_path / name).symlink_to("/proc/self/mem")  # the first page of a process is never there to be read
    assert [code for code, _ in refusals(tmp_path)] == ["unreadable"] * 3


def test_a_path_that_is_too_long_for_an_id_is_told(tmp_path: Path) -> None:
    write(tmp_path.joinpath(*["x" * 200] * 6), "text")
    assert [code for code, _ in refusals(tmp_path)] == ["bad_field"]


def test_the_date_of_a_text_is_that_of_its_file_and_its_source_the_one_that_was_given(tmp_path: Path) -> None:
    [one] = found(write(tmp_path / "a.txt", "text"), source="archive")
    assert isinstance(one, Found)
    assert isinstance(one.event, CheckInEvent)
    assert (one.event.checked_in_at, one.event.source) == (NOON, "archive")
    assert decode_event(one.message, limits=LIMITS) == one.event


@pytest.mark.parametrize("moment", [-(2**40), 2**40, 2**33])
def test_a_file_from_an_impossible_time_is_read_all_the_same(tmp_path: Path, moment: int) -> None:
    path = write(tmp_path / "a.txt", "text")
    with suppress(OSError):  # a file system may know no such time
        os.utime(path, (moment, moment))
    assert documents(path)


# JSON Lines


@pytest.mark.parametrize("suffix", PACKINGS)
@pytest.mark.parametrize("name", ["events.jsonl", "EVENTS.NDJSON"])
def test_events_are_read_whatever_they_are_packed_with(tmp_path: Path, suffix: str, name: str) -> None:
    written = line("a", "one") + "\n" + line("b", "two") + '{"document_id": "a", "type": "delete"}'
    read = found(write(tmp_path / (name + suffix), PACKINGS[suffix](written.encode())))
    events = [one.event for one in read if isinstance(one, Found)]
    assert [(event.document_id, getattr(event, "text", None)) for event in events] == [
        ("a", "one"),
        ("b", "two"),
        ("a", None),
    ]
    assert isinstance(events[2], DeleteEvent)
    assert [one.origin.line for one in read if one is not None and one.origin is not None] == [1, 3, 4]


@pytest.mark.parametrize("suffix", PACKINGS)
def test_a_packed_text_is_a_document_too(tmp_path: Path, suffix: str) -> None:
    assert documents(write(tmp_path / f"a.txt{suffix}", PACKINGS[suffix](b"text"))) == {
        f"{tmp_path}/a.txt{suffix}": "text"
    }


def test_what_an_event_says_of_itself_counts_more_than_what_its_file_does(tmp_path: Path) -> None:
    own = line("a", checked_in_at="1999-12-31T00:00:00Z", source="itself", colour="blue")
    path = write(tmp_path / "events.jsonl", own + line("b", colour="red"))
    first, second = (one for one in found(path, source="archive") if isinstance(one, Found))
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
def test_a_message_gets_the_fields_that_it_lacks_whatever_it_looks_like(tmp_path: Path, own: str) -> None:
    path = write(tmp_path / "e.jsonl", f' {{"document_id": "a", "text": "}}"{own} }} \r\n')
    [one] = found(path, source="archive")
    assert isinstance(one, Found)
    assert decode_event(one.message, limits=LIMITS) == one.event
    assert json.loads(one.message)["source"] == "archive"
    assert json.loads(one.message)["checked_in_at"] == "2020-05-17T12:00:00Z"


def test_a_long_text_is_read_to_its_end(tmp_path: Path) -> None:
    text = "x" * 200_000
    assert documents(write(tmp_path / "a.txt", text), limits=Limits()) == {f"{tmp_path}/a.txt": text}


def test_content_that_an_event_points_to_is_sent_with_it(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "b.txt", "from the file")
    path = write(tmp_path / "events.jsonl", json.dumps({"document_id": "b", "content_uri": "file:docs/b.txt"}))
    [one] = found(path)
    assert isinstance(one, Found)
    sent = decode_event(one.message, limits=LIMITS)
    assert isinstance(sent, CheckInEvent)
    assert (sent.text, sent.content_uri) == ("from the file", None)


def test_lines_that_are_no_events_are_told_by_their_places_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = write(
        tmp_path / "e.jsonl",
        b"no json\n" + line("a").encode() + b"\xff\n" + b"x" * 2_000_000 + b"\n" + line("b").encode(),
    )
    assert [code for code, _ in refusals(path)] == ["bad_json", "bad_utf8", "too_large"]
    assert all(f"e.jsonl:{number}: " in said for number, (_, said) in zip((1, 3, 4), refusals(path), strict=True))
    assert len(found(path)) == 5


def test_lines_that_were_done_before_are_not_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "events.jsonl", line("a") + "no json\n" + line("b") + line("c"))
    assert list(documents(path, after_line=2)) == ["b", "c"]


def test_standard_input_is_read_as_json_lines_packed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer: Any

    for suffix, pack in PACKINGS.items():
        stdin = Stdin()
        stdin.buffer = io.BufferedReader(io.BytesIO(pack(line("a", suffix).encode())))
        monkeypatch.setattr("sys.stdin", stdin)
        [one] = found(Path("-"))
        assert isinstance(one, Found)
        assert isinstance(one.event, CheckInEvent)
        assert (one.event.text, one.event.checked_in_at, str(one.origin)) == (suffix, None, "-:1")


# Packed


def read_all(packed: bytes) -> bytes:
    return unpacked(io.BufferedReader(io.BytesIO(packed))).read()


@pytest.mark.parametrize("suffix", [suffix for suffix in PACKINGS if suffix])
@given(parts=st.lists(st.binary(max_size=2000), min_size=1, max_size=4), padding=st.integers(0, 20))
def test_parts_that_are_put_one_behind_the_other_are_read_as_one(suffix: str, parts: list[bytes], padding: int) -> None:
    packed = (b"\0" * padding).join(map(PACKINGS[suffix], parts)) + b"\0" * padding
    assert read_all(packed) == b"".join(parts)


@pytest.mark.parametrize("suffix", [suffix for suffix in PACKINGS if suffix])
@given(text=st.binary(min_size=50, max_size=500), cut=st.integers(0, 10**6), flip=st.integers(0, 10**6))
def test_damage_is_told_and_never_anything_else(suffix: str, text: bytes, cut: int, flip: int) -> None:
    packed = bytearray(PACKINGS[suffix](text))
    with pytest.raises(BadDocument) as caught:
        read_all(bytes(packed[: unpack.HEAD_BYTES + cut % (len(packed) - unpack.HEAD_BYTES)]))
    assert caught.value.code == "bad_compression"
    packed[unpack.HEAD_BYTES + flip % (len(packed) - unpack.HEAD_BYTES)] ^= 0xFF
    with suppress(BadDocument):  # or the flipped bits were of no weight
        read_all(bytes(packed))


@pytest.mark.parametrize("suffix", [suffix for suffix in PACKINGS if suffix])
def test_something_else_behind_the_packed_data_is_damage(suffix: str) -> None:
    with pytest.raises(BadDocument, match="damaged"):
        read_all(PACKINGS[suffix](b"text") + b"something else, and long enough")


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".zst"])
def test_a_bomb_is_put_out_in_time_and_in_little_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "FREE_BYTES", 4 * 2**20)
    bomb = PACKINGS[suffix](bytes(64 * 2**20))
    path = write(tmp_path / f"bomb.jsonl{suffix}", PACKINGS[suffix](line("a").encode()) + bomb)
    tracemalloc.start()
    try:
        read = found(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(read[0], Found)  # what came before it is kept
    assert isinstance(read[1], Rejected)
    assert read[1].error.code == "bomb"
    assert peak < 32 * 2**20


def test_a_file_that_asks_for_much_memory_is_not_given_it(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    path = write(tmp_path / "a.jsonl.xz", lzma.compress(line("a").encode(), filters=filters))
    assert [code for code, _ in refusals(path)] == ["bad_compression"]


def test_without_a_reader_of_zstd_the_message_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.jsonl.zst", zstd.compress(line("a").encode()))
    monkeypatch.setitem(__import__("sys").modules, "compression.zstd", None)
    monkeypatch.setitem(__import__("sys").modules, "backports.zstd", None)
    [(code, said)] = refusals(path)
    assert code == "unreadable"
    assert "checkin-gate[zstd]" in said


def test_an_item_is_known_by_its_name_its_size_and_its_time(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "text")
    [before] = items([path])
    assert [before] == list(items([path]))
    write(path, "other")
    [after] = items([path])
    assert before.mark != after.mark
    assert Item(name="a", path=path).mark != Item(name="b", path=path).mark
