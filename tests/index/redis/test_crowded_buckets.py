"""A crowded bucket overflows: what came later is kept beside it, and met like the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.method_registry import Room
from gate.index.redis import store as module
from gate.index.redis.connect import open_store as open_redis
from gate.index.redis.packing import Widths, matching, unpack
from gate.index.redis.store import RedisStore
from tests.index.scan_contract import Run, postings, u64

NUMBERS = count()
SPLIT = 3
KEY = (1 << 32) + 5


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPLIT", SPLIT)


@pytest.fixture
def open_store(redis_url: str, run: Run) -> Iterator[Callable[[int], RedisStore]]:
    opened: list[RedisStore] = []

    def open_one(max_bucket: int = 4096) -> RedisStore:
        ref = f"crowded-{next(NUMBERS)}@1"
        opened.append(
            run(open_redis(redis_url, profile_ref=ref, digest="d", room=Room(140, {}), max_bucket=max_bucket))
        )
        return opened[-1]

    yield open_one
    for store in opened:
        run(store.close())


def filled(store: RedisStore, run: Run, last: int) -> None:
    """Entries up to the last one stand in one bucket, each with its own number as its tag."""
    for entry in range(1, last + 1):
        run(store.append(u64(KEY), u64(entry), u64(entry)))


def met(store: RedisStore, run: Run) -> list[int]:
    found: list[int] = run(store.read(u64(KEY))).entries.tolist()
    return found


def test_all_of_a_crowded_bucket_is_met_the_oldest_first(open_store: Callable[[int], RedisStore], run: Run) -> None:
    store = open_store(4096)
    filled(store, run, 8)
    assert met(store, run) == list(range(1, 9))
    assert run(store.read(u64(KEY + 16, KEY))).counts.tolist() == [0, 8]


def test_a_limit_beyond_the_bucket_still_holds(open_store: Callable[[int], RedisStore], run: Run) -> None:
    store = open_store(SPLIT + 2)
    filled(store, run, 8)
    found = run(store.read(u64(KEY)))
    assert (found.entries.tolist(), found.capped.tolist()) == ([1, 2, 3, 4, 5], [True])


def test_what_overflowed_is_not_appended_again(open_store: Callable[[int], RedisStore], run: Run) -> None:
    store = open_store(4096)
    filled(store, run, 6)
    filled(store, run, 6)
    assert met(store, run) == [1, 2, 3, 4, 5, 6]


def test_a_batch_may_overflow_a_bucket(open_store: Callable[[int], RedisStore], run: Run) -> None:
    store = open_store(4096)
    store._unappended.update(range(1, 7))  # as if it had just made them: then nothing is searched
    run(store.append(u64(*[KEY] * 6), u64(*range(1, 7)), u64(*range(6))))
    assert met(store, run) == [1, 2, 3, 4, 5, 6]


def test_entries_are_taken_out_of_a_bucket_and_of_its_overflow(
    open_store: Callable[[int], RedisStore], run: Run
) -> None:
    store = open_store(4096)
    filled(store, run, 6)
    run(store.remove_postings(u64(KEY, KEY), u64(2, 5)))
    assert met(store, run) == [1, 3, 4, 6]
    run(store.remove_postings(u64(KEY, KEY), u64(4, 6)))
    run(store.append(u64(KEY), u64(7), u64(7)))
    assert met(store, run) == [1, 3, 7]
    run(store.remove_postings(u64(KEY, KEY, KEY), u64(1, 3, 7)))
    assert met(store, run) == []
    assert run(store.info())["buckets"] == 0


def test_what_overflowed_is_walked_counted_and_found_missing_when_it_is(
    open_store: Callable[[int], RedisStore], run: Run
) -> None:
    store = open_store(4096)
    filled(store, run, 6)
    assert postings(store, run) == [(KEY, entry, entry) for entry in range(1, 7)]
    told = run(store.info())
    assert (told["postings"], told["buckets"], told["largest_bucket"]) == (6, 1, 6)
    asked = u64(KEY, KEY), u64(6, 7), u64(6, 7)
    assert [column.tolist() for column in run(store.scan().missing(*asked))] == [[KEY], [7], [7]]


def test_both_generations_of_a_crowded_bucket_are_met_and_the_older_one_goes_whole(
    open_store: Callable[[int], RedisStore], run: Run
) -> None:
    store = open_store(4096)
    filled(store, run, 5)
    run(store.rotate(now=1.0))
    for entry in range(11, 16):
        run(store.append(u64(KEY), u64(entry), u64(entry)))
    assert met(store, run) == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]
    run(store.rotate(now=2.0))
    assert met(store, run) == [11, 12, 13, 14, 15]
    assert run(store.info())["postings"] == 5


def test_what_overflows_between_two_reads_is_in_the_tail(open_store: Callable[[int], RedisStore], run: Run) -> None:
    store = open_store(4096)
    filled(store, run, 5)
    mark = run(store.read(u64(KEY))).mark
    run(store.append(u64(KEY), u64(9), u64(9)))
    assert 9 in run(store.read(u64(KEY), since=mark)).entries.tolist()


@given(
    kept=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 9), st.integers(0, 3)), max_size=40),
    asked=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3), st.integers(0, 1)), min_size=1),
    limit=st.integers(1, 4),
)
def test_answers_are_those_of_all_postings_that_are_close_enough(
    kept: list[tuple[int, int, int, int]], asked: list[tuple[int, int, int, int]], limit: int
) -> None:
    """Tables with tags of a byte and of eight, buckets of one shard and of others, some longer than the limit."""
    keys = u64(*(table << 32 | bucket for bucket, table, _, _ in asked))
    tags, radii = u64(*(tag for _, _, tag, _ in asked)), np.array([radius for *_, radius in asked], np.uint8)
    widths = Widths({0: 1})
    rows: dict[int, bytes] = {}
    for bucket, table, entry, tag in kept:
        posting = entry.to_bytes(8, "little") + tag.to_bytes(8 if table else 1, "little")
        rows[table << 32 | bucket] = rows.get(table << 32 | bucket, b"") + posting
    pieces = [rows.get(key, b"") for key in keys.tolist()]
    (which, entries, theirs), capped = unpack(pieces, widths.of(keys), limit)
    close = np.bitwise_count(theirs ^ tags[which]) <= radii[which]
    found, owners, cut = matching(pieces, widths.of(keys), limit, tags, radii)
    assert sorted(zip(found.tolist(), owners.tolist(), strict=True)) == sorted(
        zip(which[close].tolist(), entries[close].tolist(), strict=True)
    )
    assert cut.tolist() == capped.tolist()


def test_answers_of_buckets_their_overflow_and_the_log_are_told_in_the_order_of_the_probes(
    open_store: Callable[[int], RedisStore], run: Run
) -> None:
    store = open_store(4096)
    filled(store, run, 5)
    keys, tags, radii = u64(KEY, KEY + 1, KEY), u64(1, 1, 4), np.array([1, 0, 0], np.uint8)
    found = run(store.probe(keys, tags, radii))
    assert (found.probes.tolist(), found.entries.tolist()) == ([0, 0, 0, 2], [1, 3, 5, 4])
    run(store.append(u64(KEY, KEY), u64(8, 9), u64(4, 2)))
    later = run(store.probe(keys, tags, radii, since=found.mark))
    assert (later.probes.tolist(), later.entries.tolist()) == ([2], [8])
