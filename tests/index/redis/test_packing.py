"""Packed postings: what matches a probe is what unpacking and comparing every posting would find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.index.redis.packing import Widths, matching, unpack
from tests.index.bucket_contract import u64


@pytest.mark.slow
@given(
    stored=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 9), st.integers(0, 3)), max_size=40),
    probed=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3), st.integers(0, 1)), min_size=1),
    limit=st.integers(1, 4),
    any_bits=st.sampled_from([0, 1]),
)
def test_matches_are_all_postings_that_are_close_enough(
    stored: list[tuple[int, int, int, int]], probed: list[tuple[int, int, int, int]], limit: int, any_bits: int
) -> None:
    """Tables with tags of a byte and of eight, buckets of one shard and of others, some longer than the limit."""
    keys = u64(*(table << 32 | bucket for bucket, table, _, _ in probed))
    tags, radii = u64(*(tag for _, _, tag, _ in probed)), np.array([radius for *_, radius in probed], np.uint8)
    widths = Widths({0: 1})
    rows: dict[int, bytes] = {}
    for bucket, table, entry, tag in stored:
        posting = entry.to_bytes(8, "little") + tag.to_bytes(8 if table else 1, "little")
        rows[table << 32 | bucket] = rows.get(table << 32 | bucket, b"") + posting
    pieces = [rows.get(key, b"") for key in keys.tolist()]
    (which, entries, theirs), capped = unpack(pieces, widths.of(keys), limit)
    close = np.bitwise_count((theirs ^ tags[which]) >> np.uint64(any_bits)) <= radii[which]
    found, cut = matching(pieces, widths.of(keys), limit, tags, radii, any_bits)
    expected = (which[close], entries[close], theirs[close])
    assert sorted(zip(*(column.tolist() for column in found))) == sorted(zip(*(column.tolist() for column in expected)))
    assert cut.tolist() == capped.tolist()
