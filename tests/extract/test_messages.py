"""Messages between a pool and its children."""

from __future__ import annotations

import io

from gate.errors import BadDocument
from gate.extract.messages import Request, Response, pack, read_request
from gate.extract.text_of import ExtractedText, ReadOptions


def test_requests_are_read_one_after_another() -> None:
    requests = [Request(path="a.pdf", options=ReadOptions(html="full")), Request(data=b"\0\xff")]
    stream = io.BytesIO(b"".join(pack(request) for request in requests))
    assert [read_request(stream), read_request(stream), read_request(stream)] == [*requests, None]


def test_a_response_is_a_text_or_an_error() -> None:
    extracted = ExtractedText(text="text", format="PDF")
    assert Response(extracted=extracted).result() is extracted
    error = Response(code="encrypted", message="is locked").result()
    assert isinstance(error, BadDocument)
    assert (error.code, str(error)) == ("encrypted", "is locked")
