"""What the buckets of every index backend must do; a part of `store_contract`, which says how it is used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np

from gate.index.reading import ReadLimit
from gate.index.store import Keys, NewEntry, Postings, ProbingStore, Store

OpenStore = Callable[[int], Awaitable[Store]]  # by the length that a bucket is read to

GREATEST = 2**64 - 1
EXTREMES = [1, 2**63 - 1, 2**63, GREATEST]
BODY = b"\x00a body\xff"
LARGEST_KEY = (0xFF << 32) | 0xFFFFFF


def content_of(entry: int, name: bytes) -> bytes:
    """A content id that an entry of that number may have: their upper 32 bits are the same."""
    return (entry >> 32).to_bytes(4, "big") + name[-12:].ljust(12)


FIRST, SECOND = content_of(1, b"first"), content_of(1, b"second")


def u64(*numbers: int) -> Keys:
    return np.array(numbers, np.uint64)


def new_entry(document_id: str = "d1", content: bytes = FIRST, *, entry: int = 1, share: bool = False) -> NewEntry:
    return NewEntry(document_id, f"{document_id}'s version", content, entry, BODY, share)


def by_key(postings: Postings) -> list[list[tuple[int, int]]]:
    """The postings of each key, in the order they were given."""
    ends = np.cumsum(postings.counts).tolist()
    pairs = list(zip(postings.entries.tolist(), postings.tags.tolist(), strict=True))
    return [pairs[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class BucketContract:
    """Sentences that are true of the buckets of every backend."""

    async def test_a_bucket_gives_its_postings_oldest_first(self, store: Store) -> None:
        await store.append(u64(5, 6, 5), u64(30, 10, 20), u64(1, 2, 3))
        await store.append(u64(5), u64(10), u64(4))
        assert by_key(await store.read(u64(5, 6, 7))) == [[(30, 1), (20, 3), (10, 4)], [(10, 2)], []]

    async def test_a_key_may_occur_twice_in_a_read(self, store: Store) -> None:
        mark = (await store.read(u64(5))).mark
        await store.append(u64(5, 6), u64(1, 1), u64(9, 8))
        assert by_key(await store.read(u64(6, 5, 6))) == [[(1, 8)], [(1, 9)], [(1, 8)]]
        assert by_key(await store.read(u64(6, 5, 6), since=mark)) == [[(1, 8)], [(1, 9)], [(1, 8)]]

    async def test_appending_twice_changes_nothing(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        for _ in range(3):
            await store.append(u64(5, 6), u64(1, 1), u64(9, 9))
        await store.append(u64(6, 7, 7), u64(1, 1, 1), u64(9, 9, 9))
        assert by_key(await store.read(u64(5, 6, 7))) == [[(1, 9)], [(1, 9)], [(1, 9)]]

    async def test_one_call_that_names_a_posting_twice_appends_it_once(self, store: Store) -> None:
        await store.append(u64(5, 5, 5), u64(1, 2, 1), u64(9, 9, 9))
        assert by_key(await store.read(u64(5))) == [[(1, 9), (2, 9)]]

    async def test_an_entry_may_be_in_a_bucket_with_two_tags(self, store: Store) -> None:
        await store.append(u64(5, 5), u64(1, 1), u64(8, 9))
        await store.append(u64(5), u64(1), u64(7))
        assert by_key(await store.read(u64(5))) == [[(1, 8), (1, 9), (1, 7)]]

    async def test_a_posting_is_not_mistaken_for_the_halves_of_two_neighbours(self, store: Store) -> None:
        await store.append(u64(5, 5), u64(1, 3), u64(2, 4))  # in a packed bucket 1 2 3 4: 2 3 lies across
        await store.append(u64(5), u64(2), u64(9))
        await store.append(u64(5), u64(2), u64(3))
        assert by_key(await store.read(u64(5))) == [[(1, 2), (3, 4), (2, 9), (2, 3)]]

    async def test_every_bit_of_keys_entries_and_tags_counts(self, store: Store) -> None:
        keys = u64(0, 1, 0xFFFFFF, 0xFF << 32, LARGEST_KEY)
        for key in keys.tolist():
            await store.append(u64(*[key] * 4), u64(*EXTREMES), u64(*EXTREMES[::-1]))
        expected = list(zip(EXTREMES, EXTREMES[::-1], strict=True))
        assert by_key(await store.read(keys)) == [expected] * len(keys)
        await store.remove_postings(keys, u64(*[GREATEST] * len(keys)))
        assert by_key(await store.read(keys)) == [expected[:-1]] * len(keys)

    # Marks.

    async def test_a_read_since_a_mark_has_all_that_came_after_it(self, store: Store) -> None:
        await store.append(u64(5), u64(1), u64(1))
        mark = (await store.read(u64(5, 6))).mark
        await store.append(u64(5, 6, 7), u64(2, 2, 2), u64(2, 2, 2))
        await store.append(u64(6), u64(3), u64(3))
        fives, sixes, eights = by_key(await store.read(u64(5, 6, 8), since=mark))
        assert {(2, 2)} <= set(fives) <= {(1, 1), (2, 2)}
        assert sixes == [(2, 2), (3, 3)]
        assert eights == []

    async def test_a_mark_serves_keys_that_were_not_read_with_it(self, store: Store) -> None:
        mark = (await store.read(u64(1))).mark
        await store.append(u64(5), u64(2), u64(2))
        assert by_key(await store.read(u64(5), since=mark)) == [[(2, 2)]]

    async def test_a_read_since_a_mark_gives_a_mark_to_go_on_from(self, store: Store) -> None:
        mark = (await store.read(u64(5))).mark
        for entry in range(1, 6):
            await store.append(u64(5), u64(entry), u64(0))
            tail = await store.read(u64(5), since=mark)
            assert (entry, 0) in by_key(tail)[0]
            mark = tail.mark

    async def test_a_removal_after_a_mark_hides_nothing_that_came_later(self, store: Store) -> None:
        await store.append(u64(5, 5, 6), u64(1, 2, 1), u64(1, 2, 1))
        mark = (await store.read(u64(5, 6))).mark
        await store.append(u64(5, 5), u64(3, 4), u64(3, 4))
        await store.remove_postings(u64(5, 5, 5, 6), u64(1, 2, 3, 1))
        await store.append(u64(5, 6), u64(5, 5), u64(5, 5))
        assert by_key(await store.read(u64(5, 6), since=mark)) == [[(4, 4), (5, 5)], [(5, 5)]]

    async def test_an_old_mark_still_finds_everything(self, store: Store) -> None:
        mark = (await store.read(u64(5))).mark
        await store.append(u64(5), u64(1), u64(1))
        for start in range(10, 90_010, 10_000):  # more than a backend may keep of its latest appends
            many = np.arange(start, start + 10_000, dtype=np.uint64)
            await store.append(many, many, many)
        assert (1, 1) in by_key(await store.read(u64(5), since=mark))[0]

    # Caps.

    async def test_a_bucket_over_the_limit_gives_its_oldest_postings_and_says_so(self, open_store: OpenStore) -> None:
        store = await open_store(3)
        await store.append(u64(5, 5, 5, 5, 6, 6, 6), u64(4, 3, 2, 1, 1, 2, 3), u64(0, 0, 0, 0, 0, 0, 0))
        postings = await store.read(u64(6, 5, 7))
        assert by_key(postings) == [[(1, 0), (2, 0), (3, 0)], [(4, 0), (3, 0), (2, 0)], []]
        assert postings.capped.tolist() == [False, True, False]

    async def test_a_bucket_far_over_the_limit_is_cut_all_the_same(self, open_store: OpenStore) -> None:
        store = await open_store(3)
        entries = np.arange(1, 1001, dtype=np.uint64)
        await store.append(np.full(1000, 5, np.uint64), entries, entries)
        await store.append(u64(6), u64(1), u64(0))
        postings = await store.read(u64(6, 5, 5))
        assert by_key(postings) == [[(1, 0)], [(1, 1), (2, 2), (3, 3)], [(1, 1), (2, 2), (3, 3)]]
        assert postings.capped.tolist() == [False, True, True]

    async def test_a_tail_that_leaves_postings_out_is_capped(self, open_store: OpenStore) -> None:
        store = await open_store(3)
        await store.append(u64(5, 5, 5, 5), u64(1, 2, 3, 4), u64(0, 0, 0, 0))
        mark = (await store.read(u64(5))).mark
        await store.append(u64(5), u64(9), u64(0))
        postings = await store.read(u64(5), since=mark)
        assert (9, 0) in by_key(postings)[0] or postings.capped[0]

    async def test_a_bucket_that_shrinks_to_the_limit_is_whole_again(self, open_store: OpenStore) -> None:
        store = await open_store(3)
        await store.append(u64(5, 5, 5, 5), u64(1, 2, 3, 4), u64(0, 0, 0, 0))
        await store.remove_postings(u64(5), u64(2))
        postings = await store.read(u64(5))
        assert by_key(postings) == [[(1, 0), (3, 0), (4, 0)]]
        assert not postings.capped.any()

    async def test_a_document_reads_no_more_of_all_its_buckets_than_its_limit(self, open_store: OpenStore) -> None:
        store = await open_store(4096)
        for key, count in ((5, 1200), (6, 700), (7, 3)):
            entries = np.arange(1, count + 1, dtype=np.uint64)
            await store.append(np.full(count, key, np.uint64), entries, np.zeros(count, np.uint64))
        keys, limit = u64(5, 6, 7, 6), ReadLimit(np.array([0, 0, 0, 1]), postings=1000, matches=200)
        postings = await store.read(keys, limit=limit)
        assert [len(some) for some in by_key(postings)] == [498, 498, 3, 700]
        assert by_key(postings)[0][-1] == (498, 0)  # the oldest
        assert postings.capped.tolist() == [True, True, False, False]
        if isinstance(store, ProbingStore):
            found = (await store.probe(keys, u64(0, 0, 0, 0), np.zeros(4, np.uint8), limit=limit)).within(limit)
            assert np.bincount(found.probes).tolist() == [98, 98, 3, 200]
            assert (found.capped.tolist(), found.cut.tolist()) == (
                [True, True, False, False],
                [True, True, False, True],
            )

    async def test_a_tail_needs_not_have_the_entries_to_ignore(self, store: Store) -> None:
        await store.append(u64(5, 6), u64(1, 1), u64(0, 0))
        mark = (await store.read(u64(5, 6))).mark
        await store.append(u64(5, 5, 6), u64(2, 3, 3), u64(0, 0, 0))
        assert by_key(await store.read(u64(5, 6), since=mark, ignoring={2, 3})) == [[], []]
        await store.append(u64(5), u64(4), u64(0))
        fives, _ = by_key(await store.read(u64(5, 6), since=mark, ignoring={2, 3}))
        assert (4, 0) in fives

    # Removing postings.

    async def test_removing_takes_an_entry_from_the_named_buckets_only(self, store: Store) -> None:
        await store.append(u64(5, 5, 5, 6), u64(1, 1, 2, 1), u64(8, 9, 8, 8))
        for _ in range(2):
            await store.remove_postings(u64(5, 7), u64(1, 1))
            assert by_key(await store.read(u64(5, 6))) == [[(2, 8)], [(1, 8)]]

    async def test_a_removed_posting_can_be_appended_again(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        for _ in range(2):
            await store.append(u64(5, 6), u64(1, 1), u64(8, 8))
            await store.remove_postings(u64(5), u64(1))
        await store.append(u64(5, 6), u64(1, 1), u64(8, 8))
        assert by_key(await store.read(u64(5, 6))) == [[(1, 8)], [(1, 8)]]
