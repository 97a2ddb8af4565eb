"""Attacks on the index: forged documents are what they claim to be, and what they cause is bounded, counted in work."""

from __future__ import annotations

from itertools import islice

import pytest

from gate.api import Gate
from gate.limits import Limits, OnCapped
from gate.model import CheckIn
from load.attacks import BATCH, KINDS, PROFILE, SECRET, attack, documents, false_refusal, work_of
from load.forged_documents import decoys, least_sequences, victim

WORDS = 4000  # of the original: as many places are decided by it, in a fifth of the time
MANY = 1500
VICTIM = victim(WORDS)


def test_decoys_share_every_bucket_of_the_copy_and_are_like_nothing() -> None:
    gate = Gate(PROFILE, limits=Limits(max_candidates=1000))
    gate.check_in(documents("decoy", list(islice(decoys(VICTIM.copy, PROFILE), 100))))
    assert gate.info()["entries"] == 100
    [verdict] = gate.preview([CheckIn(document_id="copy", text=VICTIM.copy)])
    assert (verdict.relation, verdict.candidates) == ("new", 100)
    assert len(least_sequences(VICTIM.copy, PROFILE)) == 128


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_batch_of_an_attack_reads_and_fetches_is_bounded(kind: str) -> None:
    work, copy = work_of(kind, count=MANY, words=WORDS)
    limits = Limits()
    assert work.postings <= BATCH * 4 * limits.max_candidates  # that match; twice: before and after appending
    assert work.records <= MANY + 1 + BATCH  # each once, however many documents of the batch meet it
    assert work.body_bytes <= (MANY + 1 + BATCH) * 200
    assert copy.similar  # no decoy hides the original


@pytest.mark.parametrize(("on_capped", "relation"), [("pass", "new"), ("quarantine", "undecided")])
def test_a_copy_that_decoys_hide_passes_or_is_held_up_as_the_settings_say(on_capped: OnCapped, relation: str) -> None:
    """Decoys that were there before the original, more of them than are looked at."""
    gate = Gate(PROFILE, limits=Limits(max_candidates=2, on_capped=on_capped))
    hiding = [
        CheckIn(document_id=f"decoy-{n}", text=text) for n, text in enumerate(islice(decoys(VICTIM.copy, PROFILE), 9))
    ]
    passing = gate._index(PROFILE)
    passing._limits = Limits()
    pipeline, gate.pipeline.index = gate.pipeline.index, passing
    gate.check_in([*hiding, CheckIn(document_id="original", text=VICTIM.original)])
    gate.pipeline.index = pipeline
    [verdict] = gate.check_in([CheckIn(document_id="copy", text=VICTIM.copy)])
    assert (verdict.relation, verdict.degraded) == (relation, ("candidates_capped",))


def test_a_secret_makes_decoys_of_a_text_miss_its_buckets() -> None:
    gate = Gate(PROFILE, secret=SECRET)
    gate.check_in(documents("decoy", list(islice(decoys(VICTIM.copy, PROFILE), 100))))
    [verdict] = gate.preview([CheckIn(document_id="copy", text=VICTIM.copy)])
    assert verdict.candidates < 10


@pytest.mark.parametrize("secret", [b"", SECRET])
def test_a_forged_sketch_does_not_have_its_original_refused(secret: bytes) -> None:
    assert false_refusal(secret=secret, words=20_000)["original"] == "new"


def test_documents_of_a_flood_share_a_part_and_pass() -> None:
    for kind in ("halves", "template"):
        verdicts = Gate(PROFILE).check_in(documents(kind, list(islice(attack(kind, VICTIM), 50))))
        assert sum(verdict.similar for verdict in verdicts) <= 1
