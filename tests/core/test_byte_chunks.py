"""Loads of up to eight bytes at any place."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gate.core.byte_chunks import aligned, load_chunks


@given(st.binary(min_size=1, max_size=60), st.data())
def test_a_chunk_is_the_bytes_from_its_place_on(data: bytes, draw: st.DataObject) -> None:
    span = st.tuples(st.integers(0, len(data) - 1), st.integers(0, 20))
    spans = draw.draw(st.lists(span, max_size=10))
    spans = [(begin, min(length, len(data) - begin)) for begin, length in spans]
    begins, lengths = np.array(spans, np.int64).reshape(-1, 2).T
    found = load_chunks(aligned(np.frombuffer(data, np.uint8)), begins, lengths)
    assert found.tolist() == [int.from_bytes(data[a : a + min(n, 8)], "little") for a, n in spans]
