"""The Rabin fingerprint of whole sequences: the remainder of a long division."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core import rabin_sequence
from tests.core import reference_similarity_index as plain
from tests.core.similarity_index_samples import codes, packed


@pytest.mark.slow
@given(st.lists(codes, max_size=5), st.sampled_from([b"", b"secret"]))
def test_a_rabin_hash_is_the_remainder_of_a_long_division(batch: list[list[int]], secret: bytes) -> None:
    features = packed(batch)
    found = rabin_sequence.fingerprints(features.hashes.astype(np.uint32), features.starts, secret)
    assert found.view(np.int64).tolist() == [plain.rabin(one, secret) for one in batch]


def test_an_empty_sequence_has_the_fingerprint_0() -> None:
    values, starts = np.array([7], np.uint32), np.array([0, 0, 1, 1])
    assert [value == 0 for value in rabin_sequence.fingerprints(values, starts).tolist()] == [True, False, True]
