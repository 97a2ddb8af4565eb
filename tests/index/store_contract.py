"""What every index backend must do, written once.

A test module for a backend defines two fixtures and subclasses `StoreContract`:

    open_store   (max_bucket) -> an empty store
    run          runs one coroutine of the store to its end
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np
import pytest

from gate.index.store import Enrolment, Held, Holder, Keys, Memory, Postings, Record, Registration, Standing, Store

T = TypeVar("T")
OpenStore = Callable[[int], Store]

GREATEST = 2**64 - 1
EXTREMES = [1, 2**63 - 1, 2**63, GREATEST]
BODY = b"\x00a body\xff"
FIRST, SECOND = b"first content id", b"other content id"


class Run(Protocol):
    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T: ...


def u64(*numbers: int) -> Keys:
    return np.array(numbers, np.uint64)


def wish(document_id: str = "d1", content: bytes = FIRST, *, entry: int = 1, share: bool = False) -> Enrolment:
    return Enrolment(document_id, f"{document_id}'s version", content, entry, BODY, share)


def by_key(postings: Postings) -> list[list[tuple[int, int]]]:
    """The postings of each key asked for, in the order they were given."""
    ends = np.cumsum(postings.counts).tolist()
    pairs = list(zip(postings.entries.tolist(), postings.tags.tolist(), strict=True))
    return [pairs[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def contents_of(held: Iterable[Held]) -> set[bytes]:
    return {one.content for one in held}


class StoreContract:
    """Sentences that are true of every backend."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        return open_store(4096)

    # Enrolling.

    def test_the_first_wish_for_a_content_is_granted(self, store: Store, run: Run) -> None:
        [standing] = run(store.enrol([wish(entry=7)]))
        record = Record(7, FIRST, (Holder("d1", "d1's version"),), BODY)
        assert standing == Standing(record, None, ())
        assert run(store.records([7])) == [record]
        assert run(store.contents([FIRST])) == [7]
        assert run(store.document("d1")) == (Held(FIRST, "d1's version", None, 7),)

    def test_a_second_wish_for_a_content_is_shown_the_first(self, store: Store, run: Run) -> None:
        [first] = run(store.enrol([wish("d1", entry=1)]))
        [second] = run(store.enrol([wish("d2", entry=2)]))
        assert second.record == first.record
        assert run(store.records([2])) == [None]
        assert contents_of(run(store.document("d2"))) == {FIRST}

    def test_wishes_of_one_call_see_each_other_in_their_order(self, store: Store, run: Run) -> None:
        wishes = [wish("d1", entry=1), wish("d2", entry=2), wish("d1", SECOND, entry=3)]
        standings = run(store.enrol(wishes))
        assert [standing.record.entry for standing in standings] == [1, 1, 3]
        assert [standing.others for standing in standings] == [(), (), (FIRST,)]

    def test_enrolling_twice_changes_nothing(self, store: Store, run: Run) -> None:
        for share in (False, True):
            once = run(store.enrol([wish(share=share)]))
            document = run(store.document("d1"))
            assert run(store.enrol([wish(share=share)])) == once
            assert run(store.document("d1")) == document

    def test_a_standing_names_the_other_contents_of_its_document(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(content=bytes([n]) * 16, entry=n) for n in range(1, 5)]))
        [standing] = run(store.enrol([wish(content=b"\x02" * 16, entry=9)]))
        assert set(standing.others) == {b"\x01" * 16, b"\x03" * 16, b"\x04" * 16}
        assert standing.record.entry == 2

    def test_every_enrolment_stamps_the_document_and_keeps_its_version_and_answer(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        run(store.remember([Memory("d1", FIRST, b"answer")]))
        [standing] = run(store.enrol([Enrolment("d1", "another", FIRST, 2, BODY)]))
        assert standing.answer == b"answer"
        assert run(store.document("d1")) == (Held(FIRST, "d1's version", b"answer", 2),)

    def test_a_document_that_shares_joins_the_holders_once(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", entry=1)]))
        [once] = run(store.enrol([wish("d2", entry=2, share=True)]))
        [twice] = run(store.enrol([wish("d2", entry=2, share=True)]))
        assert once.record.holders == (Holder("d1", "d1's version"), Holder("d2", "d2's version"))
        assert once.record.owner.document_id == "d1"
        assert twice.record == once.record
        assert run(store.records([1])) == [once.record]

    def test_nobody_joins_the_holders_of_the_dead(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", entry=1)]))
        run(store.bury(1))
        [standing] = run(store.enrol([wish("d2", entry=2, share=True)]))
        assert standing.record.dead
        assert [holder.document_id for holder in standing.record.holders] == ["d1"]

    def test_an_entry_number_in_use_is_refused(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1)]))
        with pytest.raises(ValueError, match="never used twice"):
            run(store.enrol([wish("d2", SECOND, entry=1)]))
        [record] = run(store.records([1]))
        assert record is not None
        assert record.content == FIRST

    def test_texts_and_bytes_come_back_as_they_were(self, store: Store, run: Run) -> None:
        name, body = 'naïve\x00\n"文書"\U0001f600\'--', bytes(range(256))
        run(store.enrol([Enrolment(name, None, FIRST, 1, body), Enrolment(name + "2", "", FIRST, 2, b"", share=True)]))
        [record] = run(store.records([1]))
        assert record == Record(1, FIRST, (Holder(name, None), Holder(name + "2", "")), body)
        assert run(store.document(name)) == (Held(FIRST, None, None, 1),)

    # Buckets.

    def test_a_bucket_gives_its_postings_oldest_first(self, store: Store, run: Run) -> None:
        run(store.append(u64(5, 6, 5), u64(30, 10, 20), u64(1, 2, 3)))
        run(store.append(u64(5), u64(10), u64(4)))
        assert by_key(run(store.read(u64(5, 6, 7)))) == [[(30, 1), (20, 3), (10, 4)], [(10, 2)], []]

    def test_a_key_may_be_asked_for_twice(self, store: Store, run: Run) -> None:
        mark = run(store.read(u64(5))).mark
        run(store.append(u64(5, 6), u64(1, 1), u64(9, 8)))
        assert by_key(run(store.read(u64(6, 5, 6)))) == [[(1, 8)], [(1, 9)], [(1, 8)]]
        assert by_key(run(store.read(u64(6, 5, 6), since=mark))) == [[(1, 8)], [(1, 9)], [(1, 8)]]

    def test_appending_twice_changes_nothing(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        for _ in range(3):
            run(store.append(u64(5, 6), u64(1, 1), u64(9, 9)))
        run(store.append(u64(6, 7, 7), u64(1, 1, 1), u64(9, 9, 9)))
        assert by_key(run(store.read(u64(5, 6, 7)))) == [[(1, 9)], [(1, 9)], [(1, 9)]]

    def test_one_call_that_names_a_posting_twice_appends_it_once(self, store: Store, run: Run) -> None:
        run(store.append(u64(5, 5, 5), u64(1, 2, 1), u64(9, 9, 9)))
        assert by_key(run(store.read(u64(5)))) == [[(1, 9), (2, 9)]]

    def test_an_entry_may_stand_in_a_bucket_with_two_tags(self, store: Store, run: Run) -> None:
        run(store.append(u64(5, 5), u64(1, 1), u64(8, 9)))
        run(store.append(u64(5), u64(1), u64(7)))
        assert by_key(run(store.read(u64(5)))) == [[(1, 8), (1, 9), (1, 7)]]

    def test_a_posting_is_not_mistaken_for_the_halves_of_two_neighbours(self, store: Store, run: Run) -> None:
        run(store.append(u64(5, 5), u64(1, 3), u64(2, 4)))  # in a packed bucket 1 2 3 4: 2 3 stands across
        run(store.append(u64(5), u64(2), u64(9)))
        run(store.append(u64(5), u64(2), u64(3)))
        assert by_key(run(store.read(u64(5)))) == [[(1, 2), (3, 4), (2, 9), (2, 3)]]

    def test_all_64_bits_of_keys_entries_and_tags_count(self, store: Store, run: Run) -> None:
        keys = u64(0, *EXTREMES)
        for key in keys.tolist():
            run(store.append(u64(*[key] * 4), u64(*EXTREMES), u64(*EXTREMES[::-1])))
        expected = list(zip(EXTREMES, EXTREMES[::-1], strict=True))
        assert by_key(run(store.read(keys))) == [expected] * len(keys)
        run(store.withdraw(keys, u64(*[GREATEST] * len(keys))))
        assert by_key(run(store.read(keys))) == [expected[:-1]] * len(keys)

    def test_extreme_entries_and_tickets_are_kept_in_records(self, store: Store, run: Run) -> None:
        contents = [bytes([n]) * 16 for n in range(4)]
        run(store.enrol([wish(f"d{e}", c, entry=e) for e, c in zip(EXTREMES, contents, strict=True)]))
        run(store.register([Registration(1, duplicate_of=GREATEST), Registration(2**63, ticket=2**53)]))
        records = run(store.records(EXTREMES))
        assert [record.entry for record in records if record] == EXTREMES
        assert [record.duplicate_of for record in records if record] == [GREATEST, 0, 0, 0]
        assert [record.ticket for record in records if record] == [0, 0, 2**53, 0]
        assert run(store.contents(contents)) == EXTREMES
        assert [one.stamp for one in run(store.document(f"d{GREATEST}"))] == [GREATEST]

    def test_nothing_asked_for_is_answered_with_nothing(self, store: Store, run: Run) -> None:
        none = u64()
        run(store.append(none, none, none))
        run(store.withdraw(none, none))
        mark = run(store.read(none)).mark
        run(store.append(u64(5), u64(1), u64(2)))
        assert by_key(run(store.read(none, since=mark))) == []
        assert run(store.enrol([])) == []
        assert run(store.records([])) == []
        assert run(store.register([])) == []
        assert run(store.remember([])) == []
        assert run(store.contents([])) == []

    # Marks.

    def test_a_read_since_a_mark_has_all_that_came_after_it(self, store: Store, run: Run) -> None:
        run(store.append(u64(5), u64(1), u64(1)))
        mark = run(store.read(u64(5, 6))).mark
        run(store.append(u64(5, 6, 7), u64(2, 2, 2), u64(2, 2, 2)))
        run(store.append(u64(6), u64(3), u64(3)))
        fives, sixes, eights = by_key(run(store.read(u64(5, 6, 8), since=mark)))
        assert {(2, 2)} <= set(fives) <= {(1, 1), (2, 2)}
        assert sixes == [(2, 2), (3, 3)]
        assert eights == []

    def test_a_mark_serves_keys_that_were_not_read_with_it(self, store: Store, run: Run) -> None:
        mark = run(store.read(u64(1))).mark
        run(store.append(u64(5), u64(2), u64(2)))
        assert by_key(run(store.read(u64(5), since=mark))) == [[(2, 2)]]

    def test_a_read_since_a_mark_gives_a_mark_to_go_on_from(self, store: Store, run: Run) -> None:
        mark = run(store.read(u64(5))).mark
        for entry in range(1, 6):
            run(store.append(u64(5), u64(entry), u64(0)))
            tail = run(store.read(u64(5), since=mark))
            assert (entry, 0) in by_key(tail)[0]
            mark = tail.mark

    def test_a_withdrawal_after_a_mark_hides_nothing_that_came_later(self, store: Store, run: Run) -> None:
        run(store.append(u64(5, 5, 6), u64(1, 2, 1), u64(1, 2, 1)))
        mark = run(store.read(u64(5, 6))).mark
        run(store.append(u64(5, 5), u64(3, 4), u64(3, 4)))
        run(store.withdraw(u64(5, 5, 5, 6), u64(1, 2, 3, 1)))
        run(store.append(u64(5, 6), u64(5, 5), u64(5, 5)))
        assert by_key(run(store.read(u64(5, 6), since=mark))) == [[(4, 4), (5, 5)], [(5, 5)]]

    def test_an_old_mark_still_finds_everything(self, store: Store, run: Run) -> None:
        mark = run(store.read(u64(5))).mark
        run(store.append(u64(5), u64(1), u64(1)))
        for start in range(10, 90_010, 10_000):  # more than a backend may remember of its latest appends
            many = np.arange(start, start + 10_000, dtype=np.uint64)
            run(store.append(many, many, many))
        assert (1, 1) in by_key(run(store.read(u64(5), since=mark)))[0]

    # Caps.

    def test_a_bucket_over_the_limit_gives_its_oldest_postings_and_says_so(
        self, open_store: OpenStore, run: Run
    ) -> None:
        store = open_store(3)
        run(store.append(u64(5, 5, 5, 5, 6, 6, 6), u64(4, 3, 2, 1, 1, 2, 3), u64(0, 0, 0, 0, 0, 0, 0)))
        postings = run(store.read(u64(6, 5, 7)))
        assert by_key(postings) == [[(1, 0), (2, 0), (3, 0)], [(4, 0), (3, 0), (2, 0)], []]
        assert postings.capped.tolist() == [False, True, False]

    def test_a_bucket_far_over_the_limit_is_cut_all_the_same(self, open_store: OpenStore, run: Run) -> None:
        store = open_store(3)
        entries = np.arange(1, 1001, dtype=np.uint64)
        run(store.append(np.full(1000, 5, np.uint64), entries, entries))
        run(store.append(u64(6), u64(1), u64(0)))
        postings = run(store.read(u64(6, 5, 5)))
        assert by_key(postings) == [[(1, 0)], [(1, 1), (2, 2), (3, 3)], [(1, 1), (2, 2), (3, 3)]]
        assert postings.capped.tolist() == [False, True, True]

    def test_what_is_left_out_of_a_tail_is_told(self, open_store: OpenStore, run: Run) -> None:
        store = open_store(3)
        run(store.append(u64(5, 5, 5, 5), u64(1, 2, 3, 4), u64(0, 0, 0, 0)))
        mark = run(store.read(u64(5))).mark
        run(store.append(u64(5), u64(9), u64(0)))
        postings = run(store.read(u64(5), since=mark))
        assert (9, 0) in by_key(postings)[0] or postings.capped[0]

    def test_a_bucket_that_shrinks_to_the_limit_is_whole_again(self, open_store: OpenStore, run: Run) -> None:
        store = open_store(3)
        run(store.append(u64(5, 5, 5, 5), u64(1, 2, 3, 4), u64(0, 0, 0, 0)))
        run(store.withdraw(u64(5), u64(2)))
        postings = run(store.read(u64(5)))
        assert by_key(postings) == [[(1, 0), (3, 0), (4, 0)]]
        assert not postings.capped.any()

    # Withdrawing.

    def test_withdrawing_takes_an_entry_from_the_named_buckets_only(self, store: Store, run: Run) -> None:
        run(store.append(u64(5, 5, 5, 6), u64(1, 1, 2, 1), u64(8, 9, 8, 8)))
        for _ in range(2):
            run(store.withdraw(u64(5, 7), u64(1, 1)))
            assert by_key(run(store.read(u64(5, 6)))) == [[(2, 8)], [(1, 8)]]

    def test_what_was_withdrawn_can_be_appended_again(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        for _ in range(2):
            run(store.append(u64(5, 6), u64(1, 1), u64(8, 8)))
            run(store.withdraw(u64(5), u64(1)))
        run(store.append(u64(5, 6), u64(1, 1), u64(8, 8)))
        assert by_key(run(store.read(u64(5, 6)))) == [[(1, 8)], [(1, 8)]]

    # Tickets and registrations.

    def test_tickets_only_rise_and_none_is_drawn_twice(self, store: Store, run: Run) -> None:
        drawn: list[int] = []
        for count in (1, 5, 256, 1):
            first = run(store.draw(count))
            drawn += range(first, first + count)
        assert drawn[0] > 0
        assert drawn == sorted(set(drawn))

    def test_a_registration_is_written_once(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1), wish("d2", SECOND, entry=2)]))
        first = run(store.register([Registration(1, ticket=4), Registration(2, duplicate_of=1)]))
        assert [(r.ticket, r.duplicate_of, r.registered) for r in first if r] == [(4, 0, True), (0, 1, True)]
        assert run(store.register([Registration(1, duplicate_of=2), Registration(2, ticket=9)])) == first
        assert run(store.register([Registration(1, ticket=5), Registration(2, duplicate_of=8)])) == first
        assert run(store.records([1, 2])) == first

    def test_of_two_registrations_in_one_call_the_first_stands(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        standing = run(store.register([Registration(1, ticket=4), Registration(1, ticket=3)]))
        assert [record.ticket for record in standing if record] == [4, 4]

    def test_the_dead_and_the_gone_cannot_be_registered(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1), wish("d2", SECOND, entry=2)]))
        run(store.register([Registration(2, ticket=1)]))
        run(store.bury(1))
        run(store.bury(2))
        assert run(store.register([Registration(e, ticket=2) for e in (1, 2, 3)])) == [None, None, None]
        [never, once] = run(store.records([1, 2]))
        assert never is not None
        assert not never.registered
        assert once is not None
        assert once.ticket == 1

    def test_a_registration_is_a_ticket_or_a_duplicate_but_not_both(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        with pytest.raises(ValueError, match="not both"):
            run(store.register([Registration(1, ticket=1, duplicate_of=2)]))

    # Answers.

    def test_an_answer_is_kept_and_shown_to_the_next_enrolment(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        for _ in range(2):
            assert run(store.remember([Memory("d1", FIRST, b"yes")])) == [b"yes"]
        [standing] = run(store.enrol([wish(entry=2)]))
        assert standing.answer == b"yes"

    def test_an_answer_replaces_the_one_it_names_and_no_other(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        assert run(store.remember([Memory("d1", FIRST, b"a", b"not there")])) == [None]
        assert run(store.remember([Memory("d1", FIRST, b"a")])) == [b"a"]
        assert run(store.remember([Memory("d1", FIRST, b"b")])) == [b"a"]
        assert run(store.remember([Memory("d1", FIRST, b"b", b"x")])) == [b"a"]
        assert run(store.remember([Memory("d1", FIRST, b"b", b"a"), Memory("d1", FIRST, b"c", b"a")])) == [b"b", b"b"]
        assert [one.answer for one in run(store.document("d1"))] == [b"b"]

    def test_an_empty_answer_is_an_answer(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        assert run(store.remember([Memory("d1", FIRST, b"")])) == [b""]
        assert run(store.remember([Memory("d1", FIRST, b"later")])) == [b""]
        assert run(store.remember([Memory("d1", FIRST, b"later", b"")])) == [b"later"]

    def test_answers_belong_to_one_content_of_one_document(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2), wish("d2", FIRST, entry=3)]))
        run(store.remember([Memory("d1", FIRST, b"one"), Memory("d1", SECOND, b"two")]))
        assert {one.content: one.answer for one in run(store.document("d1"))} == {FIRST: b"one", SECOND: b"two"}
        assert [one.answer for one in run(store.document("d2"))] == [None]

    def test_a_document_without_the_content_remembers_nothing(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1)]))
        assert run(store.remember([Memory("d1", SECOND, b"x"), Memory("d9", FIRST, b"x")])) == [None, None]
        assert run(store.document("d9")) == ()

    # Dying.

    def test_an_entry_is_handed_over_to_its_next_holder(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", entry=1), wish("d2", entry=2, share=True), wish("d3", entry=3, share=True)]))
        record = run(store.disown(1, "d1"))
        assert record is not None
        assert [holder.document_id for holder in record.holders] == ["d2", "d3"]
        assert not record.dead
        assert run(store.disown(1, "d1")) == record
        assert run(store.records([1])) == [record]

    def test_an_entry_dies_with_its_last_holder_and_keeps_its_body(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", entry=1), wish("d2", entry=2, share=True)]))
        run(store.register([Registration(1, ticket=3)]))
        run(store.disown(1, "d1"))
        expected = Record(1, FIRST, (Holder("d2", "d2's version"),), BODY, ticket=3, dead=True)
        for name in ("d2", "d2", "d1"):
            assert run(store.disown(1, name)) == expected
        assert run(store.records([1])) == [expected]
        assert run(store.contents([FIRST])) == [1]

    def test_a_stranger_cannot_disown(self, store: Store, run: Run) -> None:
        [standing] = run(store.enrol([wish("d1", entry=1)]))
        run(store.enrol([wish("d2", entry=2)]))  # knows the content, and does not hold it
        assert run(store.disown(1, "d2")) == standing.record
        assert run(store.disown(5, "d1")) is None

    def test_burying_lets_an_entry_die_whoever_holds_it(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", entry=1), wish("d2", entry=2, share=True)]))
        for _ in range(2):
            record = run(store.bury(1))
            assert record is not None
            assert record.dead
            assert len(record.holders) == 2
        assert run(store.bury(5)) is None

    def test_only_the_dead_are_erased(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        run(store.erase(1))
        assert run(store.contents([FIRST])) == [1]
        run(store.bury(1))
        for _ in range(2):
            run(store.erase(1))
            assert run(store.records([1])) == [None]
            assert run(store.contents([FIRST])) == [None]
        assert run(store.disown(1, "d1")) is None

    def test_erasing_an_old_entry_keeps_the_new_one_of_its_content(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        run(store.bury(1))
        run(store.erase(1))
        [standing] = run(store.enrol([wish(entry=2)]))
        assert standing.record.entry == 2
        assert run(store.bury(1)) is None
        run(store.erase(1))
        assert run(store.contents([FIRST])) == [2]
        assert run(store.records([2])) == [standing.record]

    def test_forgetting_takes_away_what_was_seen(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2), wish("d2", FIRST, entry=3)]))
        held = run(store.document("d1"))
        for _ in range(2):
            run(store.forget("d1", [one for one in held if one.content == FIRST]))
            assert contents_of(run(store.document("d1"))) == {SECOND}
        run(store.forget("d1", held))
        assert run(store.document("d1")) == ()
        assert contents_of(run(store.document("d2"))) == {FIRST}
        run(store.forget("d9", held))

    def test_forgetting_spares_what_was_enrolled_since(self, store: Store, run: Run) -> None:
        run(store.enrol([wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2)]))
        seen = run(store.document("d1"))
        run(store.enrol([wish("d1", FIRST, entry=3)]))
        run(store.forget("d1", seen))
        assert [(one.content, one.stamp) for one in run(store.document("d1"))] == [(FIRST, 3)]

    def test_a_forgotten_content_comes_back_without_its_answer(self, store: Store, run: Run) -> None:
        run(store.enrol([wish(entry=1)]))
        run(store.remember([Memory("d1", FIRST, b"old")]))
        run(store.forget("d1", run(store.document("d1"))))
        [standing] = run(store.enrol([wish(entry=2)]))
        assert (standing.answer, standing.others) == (None, ())
        assert standing.record.entry == 1

    def test_what_is_unknown_is_none(self, store: Store, run: Run) -> None:
        assert run(store.records([0, 5])) == [None, None]
        assert run(store.contents([FIRST])) == [None]
        assert run(store.document("nobody")) == ()
