"""A look-up is done in steps, by buckets or by a scan, and says how it was done."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from gate import CheckIn, Gate, Limits, Subject, UsageError
from gate.demo import BREAD, LIGHTHOUSE
from gate.model import Degraded
from tests.index.corrupted_index import unrelated_documents
from tests.support.async_gate import BlockingAsyncGate


def edited(share: float) -> str:
    drawn = Random(5)
    return " ".join(f"x{drawn.randrange(10**6)}" if drawn.random() < share else word for word in LIGHTHOUSE.split())


@pytest.mark.parametrize("kind", [Gate, BlockingAsyncGate])
def test_a_threshold_below_what_buckets_bring_together_is_answered_by_a_scan(kind: type[Gate]) -> None:
    with kind("roth-2013") as gate:
        gate.check_in([CheckIn(document_id="a", text=LIGHTHOUSE), *unrelated_documents(50)])
        for subject in (
            {"text": edited(0.3)},
            {"fingerprint": gate.preview([CheckIn(document_id="?", text=edited(0.3))])[0].fingerprint},
        ):
            distance = gate.measure(Subject(text=LIGHTHOUSE), Subject(**subject)).distance
            assert distance is not None
            assert 16 < distance <= 24
            found = gate.look_up(**subject, threshold=1 - distance / 64)
            assert [match.distance for match in found.matches if match.document_id == "a"] == [distance]
            assert (found.scanned, found.complete, found.degraded) == (51, True, ())
            nearer = gate.look_up(**subject, threshold=1 - (distance - 1) / 64)
            assert "a" not in [match.document_id for match in nearer.matches]
            assert gate.look_up(**subject, threshold=0.75).scanned == 0


def test_a_scan_from_a_document_does_not_name_it_and_an_equal_one_is_exact() -> None:
    with Gate("roth-2013") as gate:
        gate.check_in([CheckIn(document_id=name, text=LIGHTHOUSE) for name in "ab"])
        gate.check_in([CheckIn(document_id="a", text=edited(0.3), version="2")])
        found = gate.look_up(document_id="a", threshold=0.65)
        assert [(match.document_id, match.relation) for match in found.matches] == [("b", "exact")]
        assert found.scanned == 2 * 2  # two contents, and two are known


def test_a_text_too_short_for_a_fingerprint_is_not_scanned_for() -> None:
    with Gate("roth-2013") as gate:
        gate.check_in([CheckIn(document_id="a", text="Back.")])
        found = gate.look_up(text="Back.", threshold=0.65)
        assert ([match.document_id for match in found.matches], found.scanned) == (["a"], 0)


def test_a_scan_that_hits_its_limits_says_so() -> None:
    with Gate("roth-2013", limits=Limits(max_scanned=10, max_candidates=1)) as gate:
        gate.check_in([CheckIn(document_id="a", text=LIGHTHOUSE), *unrelated_documents(50)])
        found = gate.look_up(text=BREAD, threshold=0.625, limit=1)
        assert (found.scanned, found.complete) == (10, False)
        assert found.degraded in ((), (Degraded.CANDIDATES_CAPPED,))


@pytest.mark.parametrize("thing", [{"text": LIGHTHOUSE}, {"fingerprint": "0" * 16}])
def test_a_threshold_below_what_a_scan_may_find_is_refused_before_anything_is_read(thing: Any) -> None:
    with (
        Gate("simhash") as gate,
        pytest.raises(UsageError, match=r"threshold: 0\.6 lets 25 of 64 bits differ.* give 0\.625"),
    ):
        gate.look_up(**thing, threshold=0.6)
