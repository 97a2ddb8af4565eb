"""Packed postings: pieces of one width are unpacked in their places, as all of them are one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.index.redis.packing import Widths, unpack, unpack_log, unpack_pieces
from tests.index.bucket_contract import u64


@pytest.mark.slow
@given(
    stored=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 9), st.integers(0, 3)), max_size=40),
    most=st.integers(1, 4),
)
def test_pieces_of_a_width_hold_the_first_postings_of_their_buckets(
    stored: list[tuple[int, int, int, int]], most: int
) -> None:
    """Tables with tags of a byte and of eight, some buckets empty and some longer than what is wanted."""
    keys = u64(*(table << 32 | bucket for table in range(2) for bucket in range(3)))
    widths = Widths({0: 1}).of(keys)
    rows: dict[int, bytes] = {}
    for bucket, table, entry, tag in stored:
        posting = entry.to_bytes(8, "little") + tag.to_bytes(8 if table else 1, "little")
        rows[table << 32 | bucket] = rows.get(table << 32 | bucket, b"") + posting
    pieces = [rows.get(key, b"") for key in keys.tolist()]
    counts = np.minimum([len(piece) for piece in pieces] // (8 + widths), most)
    (which, entries, tags), _ = unpack(pieces, widths, most)
    for width in (1, 8):
        of_width = np.flatnonzero(widths == width)
        begins, own_entries, own_tags = unpack_pieces(pieces, of_width, counts, width)
        assert (begins >= 0).tolist() == (widths == width).tolist()
        for i in of_width.tolist():
            part = slice(begins[i], begins[i] + counts[i])
            assert own_entries[part].tolist() == entries[which == i].tolist()
            assert own_tags[part].tolist() == tags[which == i].tolist()


def test_the_log_gives_each_bucket_its_postings_but_those_to_ignore() -> None:
    rows = [(5, 1, 7), (6, 2, 8), (5, 3, 9)]  # bucket, entry, tag
    packed = [key.to_bytes(4, "big") + entry.to_bytes(8, "little") + bytes([tag]) for key, entry, tag in rows]
    logged = [b"sealseal" + bytes([9]) + b"".join(packed)]
    places, entries, tags = unpack_log(u64(6, 5, 5), logged)
    assert (places.tolist(), entries.tolist(), tags.tolist()) == ([0, 1, 1, 2, 2], [2, 1, 3, 1, 3], [8, 7, 9, 7, 9])
    places, entries, _ = unpack_log(u64(6, 5), logged, {1, 2})
    assert (places.tolist(), entries.tolist()) == ([1], [3])
