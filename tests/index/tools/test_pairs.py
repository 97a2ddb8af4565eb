"""All pairs of an index are those that comparing every two documents gives, on every kind of index."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from gate.api import Gate
from gate.core.judge import Likeness
from gate.demo import LIGHTHOUSE
from gate.errors import ConfigError
from gate.index.protocol import claim
from gate.index.scan import ScannableStore
from gate.index.tools import pairs as pairs_module
from gate.index.tools.pairs import PairBatch
from gate.limits import Limits
from gate.model import CheckIn, Relation, Subject
from tests.index.corrupted_index import KINDS, open_gate, profile_of, server_url, unrelated_documents


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few documents need several batches."""
    monkeypatch.setattr(pairs_module, "BATCH", 7)


def edited(share: float, seed: int) -> str:
    drawn = Random(seed)
    return " ".join(f"x{drawn.randrange(10**6)}" if drawn.random() < share else word for word in LIGHTHOUSE.split())


def batches(gate: Gate, threshold: float | None = None) -> list[PairBatch]:
    finder = gate.pair_finder(threshold)

    async def run(store: ScannableStore) -> list[PairBatch]:
        return [batch async for batch in finder.batches()]

    return gate.with_store(run)


def pairs(gate: Gate, threshold: float | None = None) -> dict[tuple[str, str], Likeness]:
    listed = [pair for batch in batches(gate, threshold) for pair in batch.pairs]
    by_ids = {(pair.document_id, pair.other_id): pair.likeness for pair in listed}
    assert len({frozenset(ids) for ids in by_ids}) == len(listed)  # each once
    return by_ids


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threshold", [None, 0.75, 0.66])
def test_every_pair_within_the_bits_is_listed_once_and_no_other(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, threshold: float | None
) -> None:
    documents = [CheckIn(document_id=f"e{n}", text=edited(0.05 * n, n)) for n in range(6)]
    documents += [CheckIn(document_id="copy", text=LIGHTHOUSE), CheckIn(document_id="short", text="Back at noon.")]
    documents += unrelated_documents(20)
    with open_gate(kind, server_url(request, kind), tmp_path, profile_of("roth-2013")) as gate:
        gate.check_in(documents)
        least = 1 - 12 / 64 if threshold is None else threshold
        expected = {
            frozenset((one.document_id, other.document_id))
            for one, other in combinations(documents, 2)
            if (gate.measure(Subject(text=one.text), Subject(text=other.text)).bit_agreement or 0.0) >= least
        }
        listed = pairs(gate, threshold)
        assert {frozenset(ids) for ids in listed} == expected
        assert len(expected) > 3
        assert listed["e0", "copy"].relation is Relation.EXACT


def test_where_originals_are_kept_each_copy_is_paired_with_what_it_is_like() -> None:
    with Gate() as gate:
        gate.check_in([CheckIn(document_id=name, text=LIGHTHOUSE) for name in ("b", "a")])
        gate.check_in([CheckIn(document_id="c", text=edited(0.02, 1)), *unrelated_documents(10)])
        listed = pairs(gate)
        assert {ids: likeness.relation.value for ids, likeness in listed.items()} == {
            ("a", "b"): "exact",
            ("c", "b"): "near",
        }
        assert listed["c", "b"] != listed["a", "b"]


def test_of_a_document_with_several_contents_the_best_pair_is_listed() -> None:
    with Gate("roth-2013") as gate:
        gate.check_in([CheckIn(document_id="a", text=LIGHTHOUSE)])
        for version, share in (("1", 0.02), ("2", 0.04)):
            gate.check_in([CheckIn(document_id="b", text=edited(share, 3), version=version)])
        first, second = (
            gate.measure(Subject(text=LIGHTHOUSE), Subject(text=edited(s, 3))).distance for s in (0.02, 0.04)
        )
        assert first is not None
        assert second is not None
        assert [(ids, likeness.distance) for ids, likeness in pairs(gate).items()] == [(("b", "a"), min(first, second))]


@pytest.mark.parametrize("threshold", [None, 0.66])
def test_a_document_with_more_candidates_than_are_compared_is_counted(
    threshold: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "SEARCHED", 1)
    with Gate("roth-2013", limits=Limits(max_candidates=3)) as gate:
        gate.check_in([CheckIn(document_id=f"e{n}", text=edited(0.01, n)) for n in range(8)])
        assert sum(batch.capped for batch in batches(gate, threshold)) == 8
        assert sum(batch.documents for batch in batches(gate, threshold)) == 8


def test_more_fingerprints_than_may_be_scanned_are_an_error_before_any_pair() -> None:
    with Gate("roth-2013", limits=Limits(max_scanned=7)) as gate:
        gate.check_in([CheckIn(document_id=f"e{n}", text=edited(0.05, n)) for n in range(8)])
        assert pairs(gate, 0.75)
        with pytest.raises(ConfigError, match=r"threshold: .*limits.max_scanned = 7; give 0\.75 or more"):
            batches(gate, 0.66)
