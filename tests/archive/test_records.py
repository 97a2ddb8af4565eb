"""Rows of tables as check-ins."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from typing import Any

from gate.archive.parts import ArchivedEvent, OpenFile, SourceOptions
from gate.archive.records import event_of_row
from gate.stream.field_names import FieldNames
from gate.wire import CheckInEvent, RejectedMessage
from tests.archive.archive_samples import LIMITS, NOON


def opened(**options: Any) -> OpenFile:
    return OpenFile(
        name="t.csv",
        document_id="t.csv",
        inner_prefix="",
        stream=io.BytesIO(),
        head=b"",
        options=SourceOptions(limits=LIMITS, **options),
    )


def event(row: dict[str, object], **options: Any) -> CheckInEvent:
    result = event_of_row(row, 3, opened(**options))
    assert isinstance(result, ArchivedEvent), result
    assert isinstance(result.event, CheckInEvent)
    return result.event


def rejected(row: dict[str, object], **options: Any) -> RejectedMessage:
    result = event_of_row(row, 3, opened(**options))
    assert isinstance(result, RejectedMessage)
    return result


def test_columns_of_an_event_are_its_fields() -> None:
    found = event({"document_id": "a", "text": "b", "title": "c", "version": "2", "other": 1, "uri": ""})
    assert (found.document_id, found.text, found.title, found.version, found.uri) == ("a", "b", "c", "2", None)


def test_a_table_without_ids_numbers_its_rows() -> None:
    assert event({"text": "b"}).document_id == "t.csv:3"
    assert rejected({"text": "b"}, field_names=FieldNames(document_id="key")).error.code == "missing_field"
    assert event({"id": 7, "text": "b"}, field_names=FieldNames(document_id="id")).document_id == "7"


def test_a_date_may_be_of_any_usual_form() -> None:
    names = FieldNames(date="day")
    for value in (
        "2020-05-17T12:00:00Z",
        "Sun, 17 May 2020 14:00:00 +0200",
        NOON,
        NOON.timestamp(),
        NOON.timestamp() * 1000,
    ):
        assert event({"text": "b", "day": value}, field_names=names).checked_in_at == NOON
    assert event({"text": "b", "day": date(2020, 5, 17)}, field_names=names).checked_in_at == datetime(2020, 5, 17)
    assert event({"text": "b", "day": None}, field_names=names).checked_in_at is None
    assert rejected({"text": "b", "day": "yesterday"}, field_names=names).error.code == "bad_field"


def test_a_row_without_a_text_is_rejected_by_its_number() -> None:
    found = rejected({"document_id": "a", "text": None})
    assert (found.error.code, str(found.origin), found.document_id) == ("no_content", "t.csv:3", "a")
    assert rejected({"document_id": "a", "text": b"\xff"}).error.code == "bad_utf8"
    assert event({"document_id": "a", "text": "Grüße".encode()}).text == "Grüße"
    assert rejected({"document_id": "a", "text": "x" * 1001}).error.code == "too_large"


def test_the_row_is_kept_where_that_is_asked_for() -> None:
    row: dict[str, object] = {"document_id": "a", "text": "b", "other": [1]}
    result = event_of_row(row, 1, opened(keep_records=True))
    assert isinstance(result, ArchivedEvent)
    assert result.record is row


def test_time_and_source_of_the_file_stand_in() -> None:
    assert event({"text": "b"}, source="archive").source == "archive"
    dated = OpenFile(
        name="t",
        document_id="t",
        inner_prefix="",
        stream=io.BytesIO(),
        head=b"",
        options=SourceOptions(),
        modified_at=NOON,
    )
    result = event_of_row({"text": "b"}, 1, dated)
    assert isinstance(result, ArchivedEvent)
    assert isinstance(result.event, CheckInEvent)
    assert result.event.checked_in_at == NOON.astimezone(UTC)
