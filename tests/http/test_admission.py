"""What is in progress is bounded, and freed when it ends."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from gate.http.admission import Admission
from gate.http.problems import RequestError
from gate.http.service_metrics import ServiceMetrics
from gate.http.settings import ServiceSettings


def admission_of(**limits: Any) -> Admission:
    return Admission(ServiceSettings(**limits), ServiceMetrics(CollectorRegistry()))


def test_a_client_has_its_own_limit() -> None:
    admission = admission_of(max_client_requests=2)
    with admission.admit("a"), admission.admit("a"):
        with pytest.raises(RequestError, match="api_max_client_requests") as refusal:
            admission.admit("a")
        assert (refusal.value.status, refusal.value.headers) == (429, ((b"retry-after", b"1"),))
        with admission.admit("b"):
            assert admission.requests == 3
    with admission.admit("a"):
        assert admission.requests == 1


def test_all_requests_together_have_a_limit() -> None:
    admission = admission_of(max_requests=2)
    with admission.admit("a"), admission.admit("b"):
        with pytest.raises(RequestError, match="api_max_requests") as refusal:
            admission.admit("c")
        assert (refusal.value.status, refusal.value.headers) == (503, ((b"retry-after", b"1"),))
    assert admission.requests == 0


def test_the_bytes_of_bodies_have_a_limit_and_are_freed() -> None:
    admission = admission_of(max_pending_bytes=100)
    with admission.admit("a") as first, admission.admit("b") as second:
        first.hold(60)
        second.hold(40)
        with pytest.raises(RequestError, match="api_max_pending_bytes") as refusal:
            second.hold(1)
        assert refusal.value.status == 503
        assert (b"connection", b"close") in refusal.value.headers
    assert admission.pending_bytes == 0


def test_a_request_that_fails_frees_its_room() -> None:
    admission = admission_of(max_pending_bytes=10)

    def fail() -> None:
        with admission.admit("a") as admitted:
            admitted.hold(10)
            admitted.hold(1)

    with pytest.raises(RequestError):
        fail()
    assert (admission.requests, admission.pending_bytes) == (0, 0)
    with admission.admit("a") as admitted:
        admitted.hold(10)
