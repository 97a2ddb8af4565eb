"""BSW_n: which fingerprint or hash represents each chunk of a text, and which chunks a change moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core import chunking, sketches
from gate.core.text import normalise
from tests.core import reference, reference_sampling
from tests.core.window_samples import WIDTH, prints_of, sets, texts, windows_of


@pytest.mark.slow
@given(texts, st.integers(1, 9))
def test_bsw_n_keeps_the_smallest_fingerprint_of_each_chunk(batch: list[str], n: int) -> None:
    expected = [sorted(set(reference_sampling.chunk_minima(prints_of(text), n))) for text in batch]
    assert sets(chunking.smallest_n(windows_of(batch), n)) == expected


@pytest.mark.slow
@given(texts, st.integers(1, 9), st.sampled_from([b"", b"secret"]))
def test_plain_bsw_n_keeps_a_hash_of_each_chunk(batch: list[str], n: int, secret: bytes) -> None:
    expected = [
        sorted(
            set(reference_sampling.chunk_hashes(reference.normalise(text).encode(), prints_of(text), WIDTH, n, secret))
        )
        for text in batch
    ]
    assert sets(chunking.whole_n(windows_of(batch), n, secret)) == expected


def test_windows_of_one_byte_end_where_their_text_does() -> None:
    windows = sketches.windows(normalise(["ab", "", "c"]), 1)
    assert sets(chunking.smallest_n(windows, 1)) == sets(sketches.mod_n(windows, 1))
    assert [len(one) for one in sets(sketches.mod_n(windows, 1))] == [2, 0, 1]


def test_a_change_moves_no_chunk_but_its_own() -> None:
    draw = np.random.default_rng(5)
    words = ["".join(map(chr, draw.integers(97, 123, 6))) for _ in range(600)]
    before = " ".join(words)
    words[300] = "changed"
    windows = windows_of([before, " ".join(words)])
    for found in (sets(chunking.smallest_n(windows, 100)), sets(chunking.whole_n(windows, 100))):
        gone = set(found[0]) - set(found[1])
        assert len(found[0]) > 25
        assert len(gone) <= 2
    smallest, whole = (
        len(set.intersection(*map(set, sets(f(windows, 100))))) for f in (chunking.smallest_n, chunking.whole_n)
    )
    assert smallest >= whole
