"""Reads the body of a request: no further than its limit, and decoded off the event loop where that takes a while."""

from __future__ import annotations

from functools import partial

import msgspec
from starlette.types import Receive

from gate.http import problems, uploads
from gate.http.access import RequestHeaders
from gate.http.admission import Admitted
from gate.http.calls import ServiceParts
from gate.http.messages import check_contents
from gate.http.operations import Operation
from gate.http.problems import RequestError

_INLINE_BYTES = 64 * 1024  # decoding less holds up the event loop for less than handing it to a thread costs
_JSON = "application/json"


class Disconnected(Exception):
    """The client has gone before its request was complete."""


class BodyReader:
    """Reads the bodies of one operation: JSON, a form with files, or either."""

    def __init__(self, operation: Operation, parts: ServiceParts) -> None:
        self._parts = parts
        self._decoder = None if operation.body is None else msgspec.json.Decoder(operation.body)
        self._media_types = [
            name for name, taken in ((_JSON, operation.body is not None), (uploads.MEDIA_TYPE, operation.form)) if taken
        ]

    async def receive(self, headers: RequestHeaders, receive: Receive, admitted: Admitted) -> bytes:
        """The body, refused as soon as it is known to be of another kind or too large."""
        if _media_type(headers) not in self._media_types:
            kinds = " or ".join(self._media_types)
            raise RequestError("wrong_media_type", f"content-type: send {kinds}", field="content-type", closes=True)
        most = self._parts.settings.max_body_bytes
        if headers.content_length.isdigit() and int(headers.content_length) > most:
            raise _too_large(most)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            admitted.hold(len(chunk))
            chunks.append(chunk)
            if not message.get("more_body", False):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def decode(self, raw: bytes, headers: RequestHeaders) -> object:
        if _media_type(headers) == uploads.MEDIA_TYPE:
            most = self._parts.settings.max_documents
            read = partial(uploads.read_form, headers.content_type, raw, max_files=most)
            return await self._parts.in_thread(read)
        if len(raw) <= _INLINE_BYTES:
            return self._decode_json(raw)
        return await self._parts.in_thread(partial(self._decode_json, raw))

    def _decode_json(self, raw: bytes) -> object:
        assert self._decoder is not None  # noqa: S101 - the operation takes JSON
        try:
            body = self._decoder.decode(raw)
            check_contents(body, raw)
            return body
        except msgspec.ValidationError as exc:
            raise problems.of_invalid(exc) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise problems.of_unreadable(exc) from None


def _media_type(headers: RequestHeaders) -> str:
    return headers.content_type.partition(";")[0].strip().lower()


def _too_large(most: int) -> RequestError:
    return RequestError(
        "too_large",
        f"the body has more than {most} bytes (api_max_body_bytes); send fewer documents at once, or raise it",
        closes=True,
    )
