"""Details come back as they were given, in known bytes, and within their limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.document_details import (
    MAX_METADATA_BRACKETS,
    bytes_of_details,
    decode_details,
    encode_details,
    long_details,
)
from gate.limits import Limits
from gate.model import CheckIn, DocumentDetails

TEXT = "Zwölf Boxkämpfer"
NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)
FULL = CheckIn(
    document_id="a",
    text=TEXT,
    title="T",
    source="s",
    uri="/x",
    size_bytes=7,
    mime_type="m",
    checked_in_at=NOON,
    metadata={"k": [1]},
)
NAMES = st.none() | st.text(max_size=20)


def encoded(document: CheckIn, **limits: Any) -> tuple[bytes, bool]:
    return encode_details(document, Limits(**limits))


def test_stored_details_have_known_bytes() -> None:
    assert encoded(FULL)[0].hex() == "97a154a173a22f7807a16dcf0000019dfd28c200c4097b226b223a5b315d7d"
    assert encoded(CheckIn(document_id="a", text="abc", title="T"))[0].hex() == "94a154c0c003"
    assert decode_details(bytes.fromhex("94a154c0c003")) == DocumentDetails(title="T", size_bytes=3)


def test_details_of_a_later_version_are_read_by_this_one() -> None:
    assert decode_details(msgspec.msgpack.encode(["T", *[None] * 6, "more"])) == DocumentDetails(title="T")


@given(
    NAMES, NAMES, NAMES, NAMES, st.none() | st.integers(0, 2**63 - 1), st.none() | st.datetimes(timezones=st.just(UTC))
)
def test_details_are_decoded_as_they_were_encoded(
    title: str | None,
    source: str | None,
    uri: str | None,
    mime_type: str | None,
    size_bytes: int | None,
    at: datetime | None,
) -> None:
    document = CheckIn(
        document_id="a",
        text=TEXT,
        title=title,
        source=source,
        uri=uri,
        size_bytes=size_bytes,
        mime_type=mime_type,
        checked_in_at=at,
        metadata={"title": title or ""},
    )
    details = decode_details(encoded(document)[0])
    assert details == DocumentDetails(
        title=title,
        source=source,
        uri=uri,
        size_bytes=len(TEXT.encode()) if size_bytes is None else size_bytes,
        mime_type=mime_type,
        checked_in_at=None if at is None else at.replace(microsecond=at.microsecond // 1000 * 1000),
        metadata={"title": title or ""},
    )


def test_a_time_without_a_zone_is_utc_and_one_that_is_missing_is_the_present() -> None:
    times = [NOON, NOON.replace(tzinfo=None), NOON.astimezone(timezone(timedelta(hours=5))), None]
    documents = [msgspec.structs.replace(FULL, checked_in_at=at) for at in times]
    kept = [decode_details(encode_details(one, Limits(), at=NOON.timestamp())[0]) for one in documents]
    assert [details and details.checked_in_at for details in kept] == [NOON] * 4


def test_what_is_over_its_limit_is_cut_or_left_out_and_named() -> None:
    document = msgspec.structs.replace(FULL, title="t" * 9, source="s" * 9, uri="u" * 9)
    limits: dict[str, Any] = {"max_title_chars": 8, "max_source_chars": 7, "max_uri_chars": 6, "max_metadata_bytes": 8}
    details, cut = encoded(document, **limits)
    assert cut
    assert decode_details(details) == DocumentDetails(
        title="t" * 8, source="s" * 7, size_bytes=7, mime_type="m", checked_in_at=NOON
    )
    assert [field for field, _ in long_details(document, Limits(**limits))] == ["title", "source", "uri", "metadata"]
    assert not encoded(document)[1]


@pytest.mark.parametrize(
    "metadata", [b"[1]", b"7", b"{", b'{"a": 1e999}', b'{"a": ' + b"[" * 1000 + b"]" * 1000 + b"}", b'{"a": "\xff"}']
)
def test_metadata_that_some_reader_could_not_take_is_left_out(metadata: bytes) -> None:
    details, cut = encoded(msgspec.structs.replace(FULL, metadata=msgspec.Raw(metadata)))
    assert cut
    kept = decode_details(details)
    assert kept is not None
    assert kept.metadata is None


@pytest.mark.parametrize("metadata", [None, {}, msgspec.Raw(b"null"), msgspec.Raw(b"{}")])
def test_no_metadata_is_none(metadata: Any) -> None:
    details, cut = encoded(msgspec.structs.replace(FULL, metadata=metadata))
    assert not cut
    assert decode_details(details) == decode_details(encoded(msgspec.structs.replace(FULL, metadata=None))[0])


def test_metadata_may_be_nested_as_deep_as_the_limit_says() -> None:
    deepest = b'{"a":' + b"[" * (MAX_METADATA_BRACKETS - 1) + b"]" * (MAX_METADATA_BRACKETS - 1) + b"}"
    assert not encoded(msgspec.structs.replace(FULL, metadata=msgspec.Raw(deepest)))[1]


def test_the_highest_limits_together_fit_a_field_of_an_index() -> None:
    most = Limits(max_title_chars=4096, max_source_chars=1024, max_uri_chars=4096, max_metadata_bytes=16_384)
    document = CheckIn(
        document_id="a",
        text=TEXT,
        title="\N{GRINNING FACE}" * 4096,
        source="\N{GRINNING FACE}" * 1024,
        uri="\N{GRINNING FACE}" * 4096,
        mime_type="\N{GRINNING FACE}" * 255,
        size_bytes=2**63 - 1,
        checked_in_at=NOON,
        metadata={"a": "x" * 16_376},
    )
    details, cut = encode_details(document, most)
    longest_version = 4 * 256
    assert not cut
    assert len(details) + longest_version + 2 < 0xFFFF


def test_the_bytes_of_details_are_within_their_bounds() -> None:
    limits = Limits()
    least, most = bytes_of_details(limits)
    assert len(encode_details(CheckIn(document_id="a", text="x" * 2000), limits, at=1e9)[0]) <= least
    wide = "\N{GRINNING FACE}"
    longest = CheckIn(
        document_id="a",
        text="",
        title=wide * limits.max_title_chars,
        source=wide * limits.max_source_chars,
        uri=wide * limits.max_uri_chars,
        mime_type=wide * 255,
        size_bytes=2**63 - 1,
        checked_in_at=datetime(9999, 1, 1, tzinfo=UTC),
        metadata={"m": "x" * (limits.max_metadata_bytes - 8)},
    )
    encoded, cut = encode_details(longest, limits)
    assert (most - 40 <= len(encoded) <= most, cut) == (True, False)
