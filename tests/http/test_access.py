"""Hosts, origins and tokens: what a request has to bring before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.http.access import AccessPolicy, RequestHeaders, read_headers
from gate.http.problems import RequestError
from gate.http.settings import ServiceSettings
from gate.http.tokens import TokenFile, new_token, token_table

LOOPBACK = AccessPolicy(ServiceSettings(), None)
PUBLIC = AccessPolicy(ServiceSettings(host="0.0.0.0"), None)  # noqa: S104 nothing listens


def refused(policy: AccessPolicy, **headers: str) -> str | None:
    try:
        policy.check_host(RequestHeaders(**headers))
    except RequestError as error:
        return error.code
    return None


def test_headers_are_read_by_their_names() -> None:
    headers = read_headers([(b"host", b"a:1"), (b"x-other", b"y"), (b"content-type", b"text/\xe4")])
    assert headers == RequestHeaders(host="a:1", content_type="text/ä")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8400", "[::1]", "[::1]:8400"])
def test_a_service_on_loopback_goes_by_the_names_of_loopback(host: str) -> None:
    assert refused(LOOPBACK, host=host) is None


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8400", "localhost.evil.example", "127.0.0.1.evil.example", "[::1].evil", "::1"],
)
def test_another_name_that_points_to_loopback_is_refused(host: str) -> None:
    assert refused(LOOPBACK, host=host) == "wrong_host"


def test_a_name_may_be_allowed_beside_those_of_loopback() -> None:
    policy = AccessPolicy(ServiceSettings(allowed_hosts=("Gate.Local",)), None)
    assert refused(policy, host="gate.local:8400") is None
    assert refused(policy, host="localhost") is None
    assert refused(policy, host="other.local") == "wrong_host"


def test_a_public_service_goes_by_any_name_unless_names_are_set() -> None:
    assert refused(PUBLIC, host="anything.example") is None
    named = AccessPolicy(ServiceSettings(host="0.0.0.0", allowed_hosts=("gate.example",)), None)  # noqa: S104
    assert refused(named, host="gate.example") is None
    assert refused(named, host="localhost") == "wrong_host"


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("", None),
        ("http://localhost:8400", None),
        ("HTTP://LOCALHOST:8400", None),
        ("http://localhost:3000", "forbidden_origin"),
        ("https://evil.example", "forbidden_origin"),
        ("null", "forbidden_origin"),
    ],
)
def test_pages_of_other_origins_are_refused(origin: str, expected: str | None) -> None:
    assert refused(LOOPBACK, host="localhost:8400", origin=origin) == expected


def test_a_token_allows_what_its_scopes_say(tmp_path: Path) -> None:
    reader, writer = new_token(), new_token()
    path = tmp_path / "tokens.toml"
    path.write_text(token_table("reader", reader, ("read",)) + token_table("writer", writer, ("write", "delete")))
    policy = AccessPolicy(ServiceSettings(), TokenFile(path))

    def code(token: str, scope: str | None) -> str | None:
        headers = RequestHeaders(authorization=f"Bearer {token}" if token else "")
        try:
            policy.authorize(headers, scope)  # type: ignore[arg-type]
        except RequestError as error:
            return error.code
        return None

    assert code(reader, "read") is None
    assert code(reader, "write") == "forbidden_scope"
    assert code(writer, "write") is None
    assert code(writer, "delete") is None
    assert code(writer, "read") == "forbidden_scope"
    assert code("", "read") == "unauthorized"
    assert code("gate_wrong", "read") == "unauthorized"
    assert code("", None) is None


def test_a_refusal_names_the_token_by_its_name_alone(tmp_path: Path) -> None:
    token = new_token()
    path = tmp_path / "tokens.toml"
    path.write_text(token_table("reader", token, ("read",)))
    with pytest.raises(RequestError) as refusal:
        AccessPolicy(ServiceSettings(), TokenFile(path)).authorize(
            RequestHeaders(authorization=f"Bearer {token}"), "delete"
        )
    assert "reader" in refusal.value.detail
    assert token not in str(refusal.value.headers) + refusal.value.detail
    assert (b"www-authenticate", b'Bearer error="insufficient_scope", scope="delete"') in refusal.value.headers
