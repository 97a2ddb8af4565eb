"""What the benchmarks are made of, as far as it runs without the peers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from load.bench_fingerprint import batched, cyrillic, mixed, texts, three_words
from load.bench_gate import quality, shingles, targets
from load.bench_index import FingerprintIndex, near, queries, random_fingerprints
from load.corpus import Kind, PlantedDocument
from load.measure import Timing


@pytest.mark.slow
def test_texts_have_about_the_size_and_number_asked_for() -> None:
    made = texts(100_000, 2_000)
    assert len(made) == 50
    assert np.mean([len(text) for text in made]) == pytest.approx(2_000, rel=0.1)


@pytest.mark.slow
def test_scripts_replace_every_letter_or_some() -> None:
    made = texts(20_000, 2_000)
    assert all(not re.search("[a-zA-Z]", text) for text in cyrillic(made))
    parts = mixed(made)
    assert [bool(re.search("[a-z]", text)) for text in parts] == [n % 4 != 0 for n in range(len(parts))]
    assert not any(text.isascii() for text in parts)


def test_batches_hold_all_documents_in_order_and_no_more_than_the_gate_takes_at_once() -> None:
    seen: list[list[str]] = []
    documents = [str(n) for n in range(300)] + ["x" * 1_500_000, "y" * 1_500_000, "z"]
    batched(lambda some: seen.append(list(some)))(documents)
    assert [text for batch in seen for text in batch] == documents
    assert [len(batch) for batch in seen] == [256, 44, 1, 1, 1]


def test_peers_are_given_the_same_shingles_everywhere() -> None:
    assert three_words("One, two three FOUR") == ["one two three", "two three four"] == shingles("One, two three FOUR")


@pytest.mark.parametrize("bits", [0, 3, 12])
def test_a_near_fingerprint_differs_in_so_many_bits(bits: int) -> None:
    prints = random_fingerprints(100, 1)
    assert set(np.bitwise_count(prints ^ near(prints, bits, np.random.default_rng(2))).tolist()) == {bits}


@pytest.mark.parametrize("k", [0, 3, 8, 12])
def test_the_index_that_is_timed_finds_exactly_what_is_within_k_bits(k: int) -> None:
    stored = random_fingerprints(3_000, 1)
    queried = queries(stored, k, 0)
    distances = np.bitwise_count(queried[:, None] ^ stored[None, :])
    expected = {(int(query), int(entry) + 1) for query, entry in zip(*np.nonzero(distances <= k), strict=True)}
    assert len(expected) >= 76
    assert FingerprintIndex(stored).query(queried, k) == expected


def planted(number: int, kind: Kind, jaccard: float) -> PlantedDocument:
    original = None if kind is Kind.BASE else 0
    return PlantedDocument(number=number, text="", kind=kind, original=original, jaccard=jaccard)


def test_recall_is_by_band_and_bases_that_were_flagged_are_reported() -> None:
    documents = [planted(n, Kind.BASE, 0.0) for n in range(4)]
    documents += [planted(4, Kind.COPY, 0.95), planted(5, Kind.COPY, 0.9), planted(6, Kind.PART, 0.85)]
    flags = [False, False, True, False, True, False, True]
    assert quality(documents, flags) == {
        "recall J >= .9": 50.0,
        "recall .8 - .9": 100.0,
        "recall .7 - .8": None,
        "bases flagged %": 25.0,
    }


def test_a_speed_counts_only_beside_a_recall_that_is_no_lower() -> None:
    def timing(name: str, speed: float) -> Timing:
        return Timing(name=name, microseconds=1.0, fastest=1.0, slowest=1.0, speed=speed)

    high = {"recall J >= .9": 100.0, "recall .8 - .9": 99.0, "recall .7 - .8": None}
    low = high | {"recall .8 - .9": 98.0}
    timings = [timing("standard profile", 3.0), timing("rensa", 1.0), timing("datasketch LSH", 1.0)]
    rows = targets(timings, {"standard profile": low, "rensa": high, "datasketch LSH": low})
    assert [(row["measured"], row["met"], row["recall no lower"]) for row in rows] == [
        (3.0, True, False),
        (3.0, False, True),
    ]
