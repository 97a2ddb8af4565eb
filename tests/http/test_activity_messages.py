"""What a query for verdicts accepts."""

from __future__ import annotations

import msgspec
import pytest

from gate import CheckIn, Gate
from gate.demo import LIGHTHOUSE
from gate.http.activity_messages import FeedQuery


@pytest.mark.parametrize(
    ("query", "accepted"),
    [
        ({}, ["a", "b"]),
        ({"relation": "exact"}, ["b"]),
        ({"source": "archive"}, ["a"]),
        ({"source": "archive", "relation": "exact"}, []),
        ({"similar": "false"}, ["a"]),
        ({"degraded": "true"}, []),
        ({"degraded": "false"}, ["a", "b"]),
        ({"profile": "standard@1"}, ["a", "b"]),
        ({"profile": "standard"}, []),
    ],
)
def test_a_verdict_has_to_fit_every_filter(query: dict[str, str], accepted: list[str]) -> None:
    with Gate() as gate:
        verdicts = gate.check_in(
            [
                CheckIn(document_id="a", text=LIGHTHOUSE, source="archive"),
                CheckIn(document_id="b", text=LIGHTHOUSE),
            ]
        )
    converted = msgspec.convert(query, FeedQuery, strict=False)
    assert [verdict.document_id for verdict in verdicts if converted.accepts(verdict)] == accepted
