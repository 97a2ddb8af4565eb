"""What the client makes of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gate.client.connections import RawAnswer
from gate.client.retries import ResendPolicy, ServiceRefused, raise_for
from gate.errors import BadDocument, Unavailable, UnknownDocument

OK = RawAnswer(200, {}, b"{}")


def problem(status: int, code: str, **headers: str) -> RawAnswer:
    body = {"type": "t", "title": "t", "status": status, "detail": "text: is wrong", "code": code, "field": "text"}
    return RawAnswer(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode()
    )


def sender(*answers: RawAnswer | Unavailable) -> Callable[[], RawAnswer]:
    left = list(answers)

    def send() -> RawAnswer:
        answer = left.pop(0)
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    return send


@pytest.mark.parametrize(
    ("answers", "waits"),
    [
        ([OK], []),
        ([Unavailable("away"), Unavailable("away"), OK], [0.1, 0.2]),
        ([problem(503, "unavailable", retry_after="2"), OK], [2.0]),
        ([problem(429, "too_many_requests", retry_after="3600"), OK], [5.0]),
        ([problem(503, "unavailable", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), OK], [0.1]),
        ([RawAnswer(502, {}, b"<html>"), RawAnswer(504, {}, b""), OK], [0.1, 0.2]),
        ([problem(422, "bad_field")], []),
    ],
)
def test_a_request_is_sent_again_after_what_the_service_asks_for_or_a_back_off(
    answers: list[RawAnswer | Unavailable], waits: list[float]
) -> None:
    waited: list[float] = []
    policy = ResendPolicy(attempts=4, longest_seconds=5.0, sleep=waited.append, draw=lambda: 0.0)
    assert policy.run(sender(*answers)) is answers[-1]
    assert waited == waits


@pytest.mark.parametrize("answer", [Unavailable("away"), problem(503, "overloaded"), RawAnswer(502, {}, b"")])
def test_after_the_last_attempt_the_service_is_unavailable(answer: RawAnswer | Unavailable) -> None:
    waited: list[float] = []
    with pytest.raises(Unavailable):
        ResendPolicy(attempts=3, sleep=waited.append).run(sender(answer, answer, answer))
    assert len(waited) == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(404, "unknown_document"), UnknownDocument),
        (problem(413, "too_large"), BadDocument),
        (problem(422, "bad_text"), BadDocument),
        (problem(422, "bad_field"), ServiceRefused),
        (problem(401, "unauthorized"), ServiceRefused),
        (problem(500, "internal"), ServiceRefused),
        (RawAnswer(404, {"content-type": "text/html"}, b"<html>"), ServiceRefused),
        (RawAnswer(301, {}, b""), ServiceRefused),
    ],
)
def test_an_answer_that_is_none_raises_the_error_of_its_problem(answer: RawAnswer, error: type[Exception]) -> None:
    with pytest.raises(error):
        raise_for(answer, document_id="a")
    raise_for(OK)


def test_a_refused_request_names_the_field_and_the_status() -> None:
    with pytest.raises(ServiceRefused, match=r"text: is wrong \(422 bad_field\)") as refused:
        raise_for(problem(422, "bad_field"))
    assert refused.value.problem.field == "text"
