"""Equal hashes within a document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import distinct
from gate.core.distinct import standing_for
from tests.core.samples import feature_batches, packed


def check(batch: list[list[int]]) -> None:
    found = packed(batch)
    standing = standing_for(found.hashes, found.starts).tolist()
    for begin, hashes in zip(found.starts.tolist(), batch):
        places = standing[begin : begin + len(hashes)]
        assert all(hashes[place - begin] == value for place, value in zip(places, hashes))
        assert len(set(places)) == len(set(hashes))
        assert all(standing[place] == place for place in places)


@given(feature_batches)
@example([[], [1, 1], [1], [], [2, 1, 2, 1]])
def test_one_of_equal_hashes_stands_for_all_of_them_in_its_document(batch: list[list[int]]) -> None:
    check(batch)


@given(feature_batches, st.integers(0, 2))
def test_hashes_that_share_a_cell_in_every_round_are_told_apart(batch: list[list[int]], rounds: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "_ROUNDS", rounds)
        check([[value & 3 for value in one] + one for one in batch])


def test_a_document_of_a_million_hashes_has_as_many_that_stand_as_are_distinct() -> None:
    hashes = np.arange(1_000_000, dtype=np.uint64) % np.uint64(300_000)
    standing = standing_for(hashes, np.array([0, hashes.size]))
    assert np.unique(standing).size == 300_000
    assert np.array_equal(hashes[standing], hashes)
