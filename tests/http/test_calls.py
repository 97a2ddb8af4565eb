"""What a request says in its path."""

from __future__ import annotations

import pytest

from gate.http.calls import Call
from gate.http.problems import RequestError


@pytest.mark.parametrize(("encoded", "document_id"), [("a%2Fb", "a/b"), ("%C3%A4", "ä"), ("a+b", "a+b")])
def test_an_id_in_a_path_is_decoded(encoded: str, document_id: str) -> None:
    assert Call(path={"document_id": encoded}).document_id == document_id


def test_an_id_that_is_not_utf8_is_named() -> None:
    with pytest.raises(RequestError) as refused:
        _ = Call(path={"document_id": "%ff"}).document_id
    assert (refused.value.code, refused.value.field) == ("bad_path", "document_id")
