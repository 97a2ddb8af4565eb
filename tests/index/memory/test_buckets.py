"""The flat arrays of the memory store hold what a dictionary of lists would hold."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gate.index.memory import buckets
from gate.index.memory.buckets import Buckets
from gate.index.store import Keys

Posting = tuple[int, int]

# Crowded keys, keys of two tables, and one that makes its table longer.
KEYS = st.sampled_from([0, 1, 2, 3, 7 << 32, 7 << 32 | 1, 7 << 32 | 70_000])
ENTRIES = st.integers(1, 12)
TAGS = st.sampled_from([0, 1, 3, 2**63, 2**64 - 1])


def u64(values: list[int]) -> Keys:
    return np.array(values, np.uint64)


class LikeLists(RuleBasedStateMachine):
    """With so little room and so short a log everything moves, is compacted and dropped all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for name, value in (("SMALL", 4), ("PIECE", 1000), ("LOG_POSTINGS", 12), ("BUCKETS", 4)):
            self.patch.setattr(buckets, name, value)
        self.limit = 6
        self.flat = Buckets(self.limit)
        self.lists: dict[int, list[Posting]] = defaultdict(list)
        self.marks: list[tuple[int, dict[int, list[Posting]]]] = []

    def teardown(self) -> None:
        self.patch.undo()

    @rule(postings=st.lists(st.tuples(KEYS, ENTRIES, TAGS), max_size=12))
    def append(self, postings: list[tuple[int, int, int]]) -> None:
        keys, entries, tags = (u64([posting[n] for posting in postings]) for n in range(3))
        self.flat.append(keys, entries, tags)
        for key, entry, tag in postings:
            if (entry, tag) not in self.lists[key]:
                self.lists[key].append((entry, tag))

    @rule(entries=st.lists(st.tuples(KEYS, ENTRIES), max_size=6))
    def remove(self, entries: list[tuple[int, int]]) -> None:
        self.flat.remove(u64([key for key, _ in entries]), u64([entry for _, entry in entries]))
        for key, entry in entries:
            self.lists[key] = [posting for posting in self.lists[key] if posting[0] != entry]

    @rule(keys=st.lists(KEYS, max_size=6))
    def mark(self, keys: list[int]) -> None:
        found = self.flat.read(u64(keys), None)
        self.marks.append((found.mark, {key: list(held) for key, held in self.lists.items()}))

    @rule(keys=st.lists(KEYS, max_size=6), which=st.integers(0, 9))
    def read_since(self, keys: list[int], which: int) -> None:
        if not self.marks:
            return
        mark, before = self.marks[which % len(self.marks)]
        found = self.flat.read(u64(keys), mark)
        read = self.by_key(found.counts.tolist(), found.entries.tolist(), found.tags.tolist())
        for key, postings, capped in zip(keys, read, found.capped.tolist(), strict=True):
            new = [posting for posting in self.lists[key] if posting not in before.get(key, [])]
            assert capped or set(new) <= set(postings) <= set(self.lists[key])

    @rule(keys=st.lists(KEYS, max_size=6), tag=TAGS, radius=st.integers(0, 2), any_bits=st.integers(0, 1))
    def probe(self, keys: list[int], tag: int, radius: int, any_bits: int) -> None:
        radii = np.full(len(keys), radius, np.uint8)
        found = self.flat.probe(u64(keys), u64([tag] * len(keys)), radii, any_bits, None)
        expected = [
            (probe, entry, other)
            for probe, key in enumerate(keys)
            for entry, other in self.lists[key][: self.limit]
            if ((other ^ tag) >> any_bits).bit_count() <= radius
        ]
        assert list(zip(found.probes.tolist(), found.entries.tolist(), found.tags.tolist(), strict=True)) == expected
        assert found.capped.tolist() == [len(self.lists[key]) > self.limit for key in keys]

    @invariant()
    def everything_is_there_oldest_first(self) -> None:
        keys = sorted(self.lists)
        found = self.flat.read(u64(keys), None)
        read = self.by_key(found.counts.tolist(), found.entries.tolist(), found.tags.tolist())
        assert read == [self.lists[key][: self.limit] for key in keys]
        info = self.flat.info()
        assert info["postings"] == sum(map(len, self.lists.values()))
        assert info["buckets"] == sum(1 for held in self.lists.values() if held)
        assert info["largest_bucket"] == max(map(len, self.lists.values()), default=0)

    def by_key(self, counts: list[int], entries: list[int], tags: list[int]) -> list[list[Posting]]:
        postings = iter(zip(entries, tags, strict=True))
        return [[next(postings) for _ in range(count)] for count in counts]


TestLikeLists = LikeLists.TestCase
TestLikeLists.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_pool_that_is_mostly_waste_is_compacted() -> None:
    flat = Buckets(1 << 30)
    keys = np.arange(1000, dtype=np.uint64)
    for entry in range(1, 200):
        flat.append(keys, np.full(1000, entry, np.uint64), keys)
    assert flat.info()["bytes_buckets"] < 2.5 * 16 * 199_000 + 2**21
    found = flat.read(keys[500:501], None)
    assert found.entries.tolist() == list(range(1, 200))


@pytest.mark.slow
def test_the_set_of_appended_entries_drops_those_long_removed() -> None:
    flat = Buckets(1 << 30)
    keys = np.arange(1000, dtype=np.uint64)
    for first in range(1, 20_000, 1000):
        entries = np.arange(first, first + 1000, dtype=np.uint64)
        flat.append(keys, entries, keys)
        flat.remove(keys, entries)
    assert flat.info()["postings"] == 0
    assert len(flat._appended) < buckets.SMALL
