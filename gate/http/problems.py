"""Problem details (RFC 9457): one status, title and body for every error of the service.

    errors of the gate, of a request, of a limit ──▶ RequestError ──.problem()──▶ application/problem+json

A detail names the field and the remedy, and quotes no text.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from gate.errors import BadDocument, ConfigError, GateError, Unavailable, UnknownDocument, UsageError
from gate.http.messages import Problem

MEDIA_TYPE = "application/problem+json"
CLOSE = (b"connection", b"close")
URN = "urn:checkin-gate:problem:"


class ProblemKind(NamedTuple):
    """A kind of problem: the status of its answers, and its title."""

    status: HTTPStatus
    title: str


_UNPROCESSABLE = HTTPStatus.UNPROCESSABLE_ENTITY
KINDS: dict[str, ProblemKind] = {
    "bad_json": ProblemKind(HTTPStatus.BAD_REQUEST, "The body is not JSON"),
    "bad_path": ProblemKind(HTTPStatus.BAD_REQUEST, "The path cannot be read"),
    "bad_multipart": ProblemKind(HTTPStatus.BAD_REQUEST, "The body is no form with files"),
    "unauthorized": ProblemKind(HTTPStatus.UNAUTHORIZED, "A token is needed"),
    "forbidden_scope": ProblemKind(HTTPStatus.FORBIDDEN, "The token does not allow this"),
    "forbidden_origin": ProblemKind(HTTPStatus.FORBIDDEN, "Pages of other origins are refused"),
    "wrong_host": ProblemKind(HTTPStatus.MISDIRECTED_REQUEST, "This is another host"),
    "unknown_path": ProblemKind(HTTPStatus.NOT_FOUND, "There is nothing at this path"),
    "unknown_document": ProblemKind(HTTPStatus.NOT_FOUND, "The document is not known"),
    "wrong_method": ProblemKind(HTTPStatus.METHOD_NOT_ALLOWED, "The method is not allowed here"),
    "slow_body": ProblemKind(HTTPStatus.REQUEST_TIMEOUT, "The body came too slowly"),
    "too_large": ProblemKind(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "It is too large"),
    "wrong_media_type": ProblemKind(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The media type is not read"),
    "bad_field": ProblemKind(_UNPROCESSABLE, "A field is wrong"),
    "missing_field": ProblemKind(_UNPROCESSABLE, "A field is missing"),
    "bad_parameter": ProblemKind(_UNPROCESSABLE, "A parameter is wrong"),
    "not_supported": ProblemKind(_UNPROCESSABLE, "The profile does not support this"),
    "too_many_requests": ProblemKind(HTTPStatus.TOO_MANY_REQUESTS, "The client has too many requests in progress"),
    "internal": ProblemKind(HTTPStatus.INTERNAL_SERVER_ERROR, "An error of the service"),
    "unavailable": ProblemKind(HTTPStatus.SERVICE_UNAVAILABLE, "The index is unavailable"),
    "overloaded": ProblemKind(HTTPStatus.SERVICE_UNAVAILABLE, "The service is at its limit"),
    "timeout": ProblemKind(HTTPStatus.SERVICE_UNAVAILABLE, "The answer takes too long"),
}
_UNREADABLE_DOCUMENT = ProblemKind(_UNPROCESSABLE, "The document cannot be judged")


class RequestError(Exception):
    """A request that gets a problem for an answer. `closes`: the connection ends, as its request is not read on."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        retry_after: int | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        closes: bool = False,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.field = field
        self.headers = headers
        if retry_after is not None:
            self.headers += ((b"retry-after", str(retry_after).encode()),)
        if closes:
            self.headers += (CLOSE,)

    @property
    def status(self) -> HTTPStatus:
        return KINDS.get(self.code, _UNREADABLE_DOCUMENT).status

    def problem(self) -> Problem:
        kind = KINDS.get(self.code, _UNREADABLE_DOCUMENT)
        return Problem(
            type=f"{URN}{self.code}",
            title=kind.title,
            status=int(kind.status),
            detail=self.detail,
            code=self.code,
            field=self.field,
        )


_FIELD = re.compile(r"(?P<field>\w+(\[\d+\])?): ")
_PATH = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"missing required field `(?P<field>\w+)`")
_UNKNOWN = re.compile(r"unknown field `(?P<field>[^`]*)`")
MAX_RETRY_SECONDS = 2


def of_error(error: GateError) -> RequestError:
    """The answer to a request that an error of the gate ended."""
    detail = str(error)
    named = _FIELD.match(detail)
    field = named["field"] if named else None
    if isinstance(error, UnknownDocument):
        return RequestError("unknown_document", detail, field="document_id")
    if isinstance(error, BadDocument):
        return RequestError(error.code, detail, field=field)
    if isinstance(error, UsageError):
        return RequestError("bad_parameter", detail, field=field)
    if isinstance(error, ConfigError):
        return RequestError("not_supported", detail, field=field)
    if isinstance(error, Unavailable):
        return RequestError(
            "unavailable", f"{detail}; send the request again: verdicts stay the same", retry_after=MAX_RETRY_SECONDS
        )
    return RequestError("internal", "an error of the service: its log has the place")


def of_invalid(error: msgspec.ValidationError, *, where: str = "field") -> RequestError:
    """A body or a query that does not have the form that it should; names types and bounds, and no value."""
    text = str(error)
    path = _PATH.search(text)
    field = path["path"] if path else ""
    if missing := _MISSING.search(text):
        field = f"{field}.{missing['field']}".lstrip(".")
        return RequestError("missing_field", f"{field}: is missing; give it", field=field)
    if unknown := _UNKNOWN.search(text):
        name = unknown["field"][:100]
        return RequestError(f"bad_{where}", f"{name}: is not known here; leave it out", field=name)
    finding = _PATH.sub("", text).replace("Expected", "expected").replace("`", "")
    return RequestError(f"bad_{where}", f"{field or 'the body'}: {finding}; correct it", field=field or None)


def of_unreadable(error: Exception) -> RequestError:
    """A body that is no JSON at all."""
    if isinstance(error, RecursionError):
        return RequestError("bad_json", "the JSON is nested too deep; flatten `metadata`")
    if isinstance(error, UnicodeDecodeError):
        return RequestError("bad_json", f"the body is not UTF-8 at byte {error.start}; encode it as UTF-8")
    finding = "it ends too soon" if "truncated" in str(error) else str(error).removeprefix("JSON is malformed: ")
    return RequestError("bad_json", f"the body is not JSON: {finding}; send one JSON value")
