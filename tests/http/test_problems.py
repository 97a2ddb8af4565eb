"""Every error becomes a problem that names the field and the remedy, and quotes no value."""

from __future__ import annotations

import re

import msgspec
import pytest

from gate.errors import (
    REASONS,
    BadDocument,
    ConfigError,
    GateError,
    IndexLost,
    Unavailable,
    UnknownDocument,
    UsageError,
)
from gate.http.messages import CheckInBody, FingerprintQuery, SimilarQuery, check_contents
from gate.http.problems import KINDS, RequestError, of_error, of_invalid, of_unreadable


@pytest.mark.parametrize(
    ("error", "status", "code", "field"),
    [
        (UnknownDocument("a"), 404, "unknown_document", "document_id"),
        (BadDocument("too_large", "text: has 9 characters, over 8"), 413, "too_large", "text"),
        (BadDocument("bad_text", "title: has a lone surrogate"), 422, "bad_text", "title"),
        (BadDocument("no_text", "is a PDF file without text"), 422, "no_text", None),
        (UsageError("threshold: 2 is not allowed"), 422, "bad_parameter", "threshold"),
        (ConfigError("fingerprint: profile minhash@1 keeps none"), 422, "not_supported", "fingerprint"),
        (Unavailable("Redis does not answer"), 503, "unavailable", None),
        (IndexLost("shard 3 is gone"), 503, "unavailable", None),
        (GateError("?"), 500, "internal", None),
    ],
)
def test_an_error_of_the_gate_has_a_status_a_code_and_a_field(
    error: GateError, status: int, code: str, field: str | None
) -> None:
    problem = of_error(error).problem()
    assert (problem.status, problem.code, problem.field) == (status, code, field)
    assert problem.type == f"urn:checkin-gate:problem:{code}"


def test_an_outage_says_when_to_try_again() -> None:
    assert of_error(Unavailable("down")).headers == ((b"retry-after", b"2"),)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_why_a_document_cannot_be_judged_is_an_error_of_the_client(reason: str) -> None:
    assert RequestError(reason, "detail").status in (400, 413, 422)


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b'{"document_id": "a", "text": 5}', "bad_field", "text"),
        (b'{"document_id": "a"}', "missing_field", "text"),
        (b'[{"document_id": "a", "text": "secret"}, {"document_id": "b"}]', "missing_field", "[1].text"),
        (b'[{"document_id": "", "text": "secret"}]', "bad_field", "[0].document_id"),
        (b'{"document_id": "a", "text": "t", "checked_in_at": "secret"}', "bad_field", "checked_in_at"),
        (b'"secret"', "bad_field", None),
        (b"null", "bad_field", None),
    ],
)
def test_a_body_of_another_form_is_refused_by_its_field_and_without_its_values(
    body: bytes, code: str, field: str | None
) -> None:
    with pytest.raises(msgspec.ValidationError) as invalid:
        check_contents(msgspec.json.decode(body, type=CheckInBody), body)
    error = of_invalid(invalid.value)
    assert (error.code, error.field) == (code, field)
    assert "secret" not in error.detail


@pytest.mark.parametrize(
    ("query", "field"), [({"limit": "0"}, "limit"), ({"most": "3"}, "most"), ({"threshold": "x" * 500}, "threshold")]
)
def test_a_query_is_refused_by_its_parameter(query: dict[str, str], field: str) -> None:
    with pytest.raises(msgspec.ValidationError) as invalid:
        msgspec.convert(query, SimilarQuery, strict=False)
    error = of_invalid(invalid.value, where="parameter")
    assert (error.code, error.field) == ("bad_parameter", field)
    assert len(error.detail) < 200


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(msgspec.ValidationError) as invalid:
        msgspec.convert({}, FingerprintQuery, strict=False)
    assert of_invalid(invalid.value, where="parameter").field == "fingerprint"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "ends too soon"),
        (b'{"text": "secret', "ends too soon"),
        (b"{secret}", "is not JSON"),
        (b'{"document_id": "\xff"}', "not UTF-8|is not JSON"),
        (b'{"document_id": "a", "text": "secret \\ud800"}', "is not JSON"),
        (b'{"metadata":' + b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_body_that_is_no_json_is_refused_without_its_values(body: bytes, expected: str) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError, RecursionError)) as unreadable:
        msgspec.json.decode(body, type=CheckInBody)
    error = of_unreadable(unreadable.value)
    assert error.code == "bad_json"
    assert "secret" not in error.detail
    assert re.search(expected, error.detail)


def test_a_kind_of_problem_has_a_short_title() -> None:
    assert all(kind.title and len(kind.title) < 60 and not kind.title.endswith(".") for kind in KINDS.values())
