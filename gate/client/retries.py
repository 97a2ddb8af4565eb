"""What the client does about an answer: take it, send the request again, or raise.

    200                      the answer
    408, 429, 502, 503, 504, none
                             again, after Retry-After or a back-off; in the end Unavailable
    404 unknown_document     UnknownDocument
    4xx by a reason          BadDocument
    any other                ServiceRefused

Every operation may be sent again: a check-in that was judged gets the same verdict, and a deleted document is gone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gate.backoff import Backoff
from gate.client.connections import RawAnswer
from gate.errors import REASONS, BadDocument, GateError, Unavailable, UnknownDocument
from gate.http.messages import Problem

RETRIED = frozenset({408, 429, 502, 503, 504})  # 502, 504: of a proxy


class ServiceRefused(GateError):
    """The service refused a request: correct it, or the settings of the client. `problem` has the field."""

    code = "refused"

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.detail} ({problem.status} {problem.code})")
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendPolicy:
    """How often a request is sent, and how long the client waits in between."""

    attempts: int = 5
    first_seconds: float = 0.1
    longest_seconds: float = 10.0  # of a wait, also where the service asks for more
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random  # uniform in [0, 1), for the jitter; it guards no secret

    def run(self, send: Callable[[], RawAnswer]) -> RawAnswer:
        """Send a request until it is answered otherwise than by a status to retry. Unavailable: it never is."""
        backoff = Backoff(first_seconds=self.first_seconds, longest_seconds=self.longest_seconds, draw=self.draw)
        attempt = 1
        while True:
            wait = backoff.next_seconds()
            try:
                answer = send()
            except Unavailable:
                if attempt >= self.attempts:
                    raise
            else:
                if answer.status not in RETRIED:
                    return answer
                if attempt >= self.attempts:
                    raise Unavailable(f"{problem_of(answer).detail} (tried {attempt} times)")
                wait = max(wait, min(_retry_after(answer), self.longest_seconds))
            attempt += 1
            self.sleep(wait)


def _retry_after(answer: RawAnswer) -> float:
    """Seconds; a date, which proxies may send, counts as none."""
    value = answer.headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() else 0.0


def raise_for(answer: RawAnswer, *, document_id: str = "") -> None:
    """Raise what an answer says, unless it is the one that was asked for."""
    if answer.status == 200:
        return
    problem = problem_of(answer)
    if problem.code == "unknown_document":
        raise UnknownDocument(document_id)
    for reason in REASONS:
        if problem.code == reason and answer.status in (413, 422) and reason not in ("bad_field", "missing_field"):
            raise BadDocument(reason, problem.detail)
    raise ServiceRefused(problem)


def problem_of(answer: RawAnswer) -> Problem:
    try:
        return msgspec.json.decode(answer.body, type=Problem)
    except msgspec.DecodeError:  # of a proxy, or no service at all
        detail = (
            f"the answer is none of the service: {answer.status} {answer.headers.get('content-type', 'of no type')}"
        )
        return Problem(type="about:blank", title="", status=answer.status, detail=detail, code="no_service")
