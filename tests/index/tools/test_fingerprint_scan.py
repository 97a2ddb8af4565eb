"""A scan of fingerprints finds exactly what is near, on every kind of index, and no more than it may."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.index.protocol.candidates import CandidateSet
from gate.index.redis.store import RedisStore
from gate.index.scan import ScannableStore
from gate.index.tools.fingerprint_scan import FIRST_BLOCK_TABLE, FingerprintScan
from gate.model import CheckIn, Degraded
from tests.index.corrupted_index import KINDS, open_gate, profile_of, server_url, unrelated_documents

WHOLE = 10**6


def scanned(
    gate: Gate, fingerprint: int, radius: int, *, most: int = WHOLE, max_scanned: int = WHOLE
) -> tuple[FingerprintScan, CandidateSet]:
    async def run(store: ScannableStore) -> tuple[FingerprintScan, CandidateSet]:
        scan = FingerprintScan(store, fingerprint, radius, max_candidates=most, max_scanned=max_scanned)
        while await scan.step():
            pass
        return scan, await scan.found(gate.method, gate.profile, fingerprint.to_bytes(8, "little"))

    return gate.with_store(run)


def fingerprints(gate: Gate, documents: Sequence[CheckIn]) -> dict[str, int]:
    bodies = [claim.body for claim in gate.signer.sign(documents).claims]
    return {one.document_id: int.from_bytes(body[:8], "little") for one, body in zip(documents, bodies, strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_within_the_radius_is_found_and_nothing_else(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    documents = unrelated_documents(60)
    with open_gate(kind, server_url(request, kind), tmp_path, profile_of("roth-2013")) as gate:
        gate.check_in(documents)
        gate.delete([documents[0].document_id])
        known = fingerprints(gate, documents[1:])
        for probe in (*list(known.values())[:5], 0):
            scan, found = scanned(gate, probe, 24)
            expected = {name for name, number in known.items() if (number ^ probe).bit_count() <= 24}
            assert {record.owner.document_id for record, _ in found.alike.values()} <= expected
            assert {record.owner.document_id for record, _ in found.alike.values()} >= {
                name
                for name, number in known.items()
                if (number ^ probe).bit_count() <= 12  # the profile decides
            }
            assert len(found.candidates) == len(expected)
            assert (scan.scanned, scan.complete) == (59, True)
        assert len(known) == 59


def test_of_many_the_nearest_are_compared_and_the_answer_says_so() -> None:
    with Gate(BUILT_IN["roth-2013"]) as gate:
        documents = unrelated_documents(60)
        gate.check_in(documents)
        known = fingerprints(gate, documents)
        probe = known[documents[7].document_id]
        _, found = scanned(gate, probe, 64, most=5)
        assert found.degraded == {Degraded.CANDIDATES_CAPPED}
        nearest = sorted((number ^ probe).bit_count() for number in known.values())[:5]
        compared = gate.with_store(lambda store: store.records(sorted(found.candidates)))
        assert sorted((known[one.owner.document_id] ^ probe).bit_count() for one in compared if one) == nearest
        assert scanned(gate, probe, 64, most=60)[1].degraded == set()


@pytest.mark.parametrize(("most", "complete"), [(59, False), (60, True)])
def test_no_more_is_scanned_than_may_be(most: int, complete: bool) -> None:
    with Gate(BUILT_IN["roth-2013"]) as gate:
        gate.check_in(unrelated_documents(60))
        scan, _ = scanned(gate, 0, 24, max_scanned=most)
        assert (scan.scanned, scan.complete) == (most, complete)


def test_every_fingerprint_is_once_in_the_table_that_is_scanned() -> None:
    async def count(store: ScannableStore) -> int:
        return sum([len(keys) async for keys, _, _ in store.scan().postings(FIRST_BLOCK_TABLE)])

    for profile in ("standard", "simhash"):
        with Gate(BUILT_IN[profile]) as gate:
            gate.check_in(unrelated_documents(30))
            assert gate.with_store(count) == 30


@pytest.mark.redis
def test_a_scan_begins_anew_when_a_generation_begins(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    documents = unrelated_documents(40)

    async def run(store: ScannableStore) -> tuple[int, CandidateSet]:
        assert isinstance(store, RedisStore)
        scan = FingerprintScan(store, probe, 24, max_candidates=WHOLE, max_scanned=WHOLE)
        assert await scan.step()
        other = RedisStore(
            store.shards.client, prefix=prefix, view=store.shards.view, layout=gate.method.layout, max_bucket=4096
        )
        await other.rotate(now=time.time())
        while await scan.step():
            pass
        return scan.scanned, await scan.found(gate.method, gate.profile, probe.to_bytes(8, "little"))

    with open_gate("redis", server_url(request, "redis"), tmp_path, profile_of("roth-2013")) as gate:
        gate.check_in(documents)
        probe = next(iter(fingerprints(gate, documents).values()))
        prefix = f"gate:{gate.profile.ref}"
        count, found = gate.with_store(run)
    assert count == 40
    assert found.alike
