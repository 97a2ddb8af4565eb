"""Equal hashes within a document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import equal_hashes
from gate.core.equal_hashes import representatives
from tests.core.samples import feature_batches, packed


def check(batch: list[list[int]]) -> None:
    found = packed(batch)
    representative = representatives(found.hashes, found.starts).tolist()
    for begin, hashes in zip(found.starts.tolist(), batch):
        places = representative[begin : begin + len(hashes)]
        assert all(hashes[place - begin] == value for place, value in zip(places, hashes))
        assert len(set(places)) == len(set(hashes))
        assert all(representative[place] == place for place in places)


@given(feature_batches)
@example([[], [1, 1], [1], [], [2, 1, 2, 1]])
def test_one_of_equal_hashes_represents_all_of_them_in_its_document(batch: list[list[int]]) -> None:
    check(batch)


@given(feature_batches, st.integers(0, 2))
def test_hashes_that_share_a_cell_in_every_round_are_kept_apart(batch: list[list[int]], rounds: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_hashes, "_ROUNDS", rounds)
        check([[value & 3 for value in one] + one for one in batch])


def test_a_document_of_a_million_hashes_has_as_many_representatives_as_distinct_hashes() -> None:
    hashes = np.arange(1_000_000, dtype=np.uint64) % np.uint64(300_000)
    representative = representatives(hashes, np.array([0, hashes.size]))
    assert np.unique(representative).size == 300_000
    assert np.array_equal(hashes[representative], hashes)
