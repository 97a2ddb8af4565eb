"""What every index backend must do, written once.

A test module for a backend defines two fixtures and subclasses `StoreContract`:

    open_store   (max_bucket) -> an empty store
    run          runs one coroutine of the store to its end
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gate.index.store import (
    VOID,
    AnswerUpdate,
    ContentState,
    EntryRecord,
    HeldContent,
    Holder,
    NewEntry,
    Registration,
    Store,
)
from tests.index.bucket_contract import (
    BODY,
    EXTREMES,
    FIRST,
    GREATEST,
    SECOND,
    BucketContract,
    OpenStore,
    Run,
    by_key,
    content_of,
    u64,
    wish,
)

__all__ = ["OpenStore", "Run", "StoreContract", "by_key", "entered", "u64", "wish"]


def contents_of(held: Iterable[HeldContent]) -> set[bytes]:
    return {one.content for one in held}


def entered(state: ContentState) -> EntryRecord:
    assert state.record is not None
    return state.record


class StoreContract(BucketContract):
    """Sentences that are true of every backend."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        return open_store(4096)

    # Enrolling.

    def test_the_first_wish_for_a_content_is_granted(self, store: Store, run: Run) -> None:
        [state] = run(store.register_content([wish(entry=7)]))
        record = EntryRecord(7, FIRST, (Holder("d1", "d1's version"),), BODY)
        assert state == ContentState(record, None, (), 7)
        assert run(store.records([7])) == [record]
        assert run(store.contents([FIRST])) == [7]
        assert run(store.documents(["d1"]))[0] == (HeldContent(FIRST, "d1's version", None, 7),)

    def test_a_second_wish_for_a_content_is_shown_the_first(self, store: Store, run: Run) -> None:
        [first] = run(store.register_content([wish("d1", entry=1)]))
        [second] = run(store.register_content([wish("d2", entry=2)]))
        assert second.record == first.record
        assert run(store.records([2])) == [None]
        assert contents_of(run(store.documents(["d2"]))[0]) == {FIRST}

    def test_wishes_of_one_call_see_each_other_in_their_order(self, store: Store, run: Run) -> None:
        wishes = [wish("d1", entry=1), wish("d2", entry=2), wish("d1", SECOND, entry=3)]
        states = run(store.register_content(wishes))
        assert [entered(state).entry for state in states] == [1, 1, 3]
        assert [state.others for state in states] == [(), (), (FIRST,)]

    def test_enrolling_twice_changes_nothing(self, store: Store, run: Run) -> None:
        for share in (False, True):
            once = run(store.register_content([wish(share=share)]))
            document = run(store.documents(["d1"]))[0]
            assert run(store.register_content([wish(share=share)])) == once
            assert run(store.documents(["d1"]))[0] == document

    def test_a_state_names_the_other_contents_of_its_document(self, store: Store, run: Run) -> None:
        contents = [content_of(n, bytes([n])) for n in range(5)]
        run(store.register_content([wish(content=contents[n], entry=n) for n in range(1, 5)]))
        [state] = run(store.register_content([wish(content=contents[2], entry=9)]))
        assert set(state.others) == {contents[1], contents[3], contents[4]}
        assert entered(state).entry == 2

    def test_a_repeated_enrolment_changes_nothing_of_the_document(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        for answer in (None, b"answer"):
            [state] = run(store.register_content([NewEntry("d1", "another", FIRST, 2, BODY)]))
            assert (state.answer, state.stamp) == (answer, 1)
            assert run(store.documents(["d1"]))[0] == (HeldContent(FIRST, "d1's version", answer, 1),)
            run(store.save_answers([AnswerUpdate("d1", FIRST, b"answer")]))

    def test_the_first_enrolment_after_a_recall_stamps_the_document_anew(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        run(store.void_answers(["d1"]))
        for entry in (2, 3):
            [state] = run(store.register_content([wish(entry=entry)]))
            assert (state.answer, state.stamp) == (None, 2)
        assert run(store.documents(["d1"]))[0] == (HeldContent(FIRST, "d1's version", None, 2),)

    def test_what_was_begun_before_a_recall_cannot_be_answered_after_it(self, store: Store, run: Run) -> None:
        [before] = run(store.register_content([wish(entry=1)]))
        run(store.void_answers(["d1"]))
        [after] = run(store.register_content([wish(entry=2)]))
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"late", stamp=before.stamp)])) == [None]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"now", stamp=after.stamp)])) == [b"now"]
        assert [one.answer for one in run(store.documents(["d1"]))[0]] == [b"now"]

    def test_a_document_that_shares_joins_the_holders_once(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", entry=1)]))
        [once] = run(store.register_content([wish("d2", entry=2, share=True)]))
        [twice] = run(store.register_content([wish("d2", entry=2, share=True)]))
        assert entered(once).holders == (Holder("d1", "d1's version"), Holder("d2", "d2's version"))
        assert entered(once).owner.document_id == "d1"
        assert twice.record == once.record
        assert run(store.records([1])) == [once.record]

    def test_nobody_joins_the_holders_of_the_dead(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", entry=1)]))
        run(store.mark_dead([1]))
        [state] = run(store.register_content([wish("d2", entry=2, share=True)]))
        assert entered(state).dead
        assert [holder.document_id for holder in entered(state).holders] == ["d1"]

    def test_an_entry_number_in_use_is_refused(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", FIRST, entry=1)]))
        with pytest.raises(ValueError, match="never used twice"):
            run(store.register_content([wish("d2", SECOND, entry=1)]))
        [record] = run(store.records([1]))
        assert record is not None
        assert record.content == FIRST

    def test_texts_and_bytes_come_back_as_they_were(self, store: Store, run: Run) -> None:
        name, body = 'naïve\x00\n"文書"\U0001f600\'--', bytes(range(256))
        run(
            store.register_content(
                [NewEntry(name, None, FIRST, 1, body), NewEntry(name + "2", "", FIRST, 2, b"", share=True)]
            )
        )
        [record] = run(store.records([1]))
        assert record == EntryRecord(1, FIRST, (Holder(name, None), Holder(name + "2", "")), body)
        assert run(store.documents([name]))[0] == (HeldContent(FIRST, None, None, 1),)

    def test_extreme_entries_and_tickets_are_kept_in_records(self, store: Store, run: Run) -> None:
        contents = [content_of(entry, bytes([n])) for n, entry in enumerate(EXTREMES)]
        run(store.register_content([wish(f"d{e}", c, entry=e) for e, c in zip(EXTREMES, contents, strict=True)]))
        run(store.register([Registration(1, duplicate_of=GREATEST), Registration(2**63, ticket=2**53)]))
        records = run(store.records(EXTREMES))
        assert [record.entry for record in records if record] == EXTREMES
        assert [record.duplicate_of for record in records if record] == [GREATEST, 0, 0, 0]
        assert [record.ticket for record in records if record] == [0, 0, 2**53, 0]
        assert run(store.contents(contents)) == EXTREMES
        assert [one.stamp for one in run(store.documents([f"d{GREATEST}"]))[0]] == [GREATEST]

    def test_nothing_asked_for_is_answered_with_nothing(self, store: Store, run: Run) -> None:
        none = u64()
        run(store.append(none, none, none))
        run(store.remove_postings(none, none))
        mark = run(store.read(none)).mark
        run(store.append(u64(5), u64(1), u64(2)))
        assert by_key(run(store.read(none, since=mark))) == []
        assert run(store.register_content([])) == []
        assert run(store.records([])) == []
        assert run(store.register([])) == []
        assert run(store.save_answers([])) == []
        assert run(store.contents([])) == []
        assert run(store.documents([])) == []
        assert run(store.void_answers([])) == []
        assert run(store.remove_holders([])) == []
        assert run(store.mark_dead([])) == []
        assert run(store.remove_contents([])) == []
        run(store.delete_records([]))

    # Tickets and registrations.

    def test_tickets_only_rise_and_none_is_drawn_twice(self, store: Store, run: Run) -> None:
        drawn: list[int] = []
        for count in (1, 5, 256, 1):
            first = run(store.draw(count))
            drawn += range(first, first + count)
        assert drawn[0] > 0
        assert drawn == sorted(set(drawn))

    def test_a_registration_is_written_once(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", FIRST, entry=1), wish("d2", SECOND, entry=2)]))
        first = run(store.register([Registration(1, ticket=4), Registration(2, duplicate_of=1)]))
        assert [(r.ticket, r.duplicate_of, r.registered) for r in first if r] == [(4, 0, True), (0, 1, True)]
        assert run(store.register([Registration(1, duplicate_of=2), Registration(2, ticket=9)])) == first
        assert run(store.register([Registration(1, ticket=5), Registration(2, duplicate_of=8)])) == first
        assert run(store.records([1, 2])) == first

    def test_of_two_registrations_in_one_call_the_first_stands(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        state = run(store.register([Registration(1, ticket=4), Registration(1, ticket=3)]))
        assert [record.ticket for record in state if record] == [4, 4]

    def test_the_dead_and_the_gone_cannot_be_registered(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", FIRST, entry=1), wish("d2", SECOND, entry=2)]))
        run(store.register([Registration(2, ticket=1)]))
        run(store.mark_dead([1]))
        run(store.mark_dead([2]))
        assert run(store.register([Registration(e, ticket=2) for e in (1, 2, 3)])) == [None, None, None]
        [never, once] = run(store.records([1, 2]))
        assert never is not None
        assert not never.registered
        assert once is not None
        assert once.ticket == 1

    def test_a_registration_is_a_ticket_or_a_duplicate_but_not_both(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        with pytest.raises(ValueError, match="not both"):
            run(store.register([Registration(1, ticket=1, duplicate_of=2)]))

    # Answers.

    def test_an_answer_is_kept_and_shown_to_the_next_enrolment(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        for _ in range(2):
            assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"yes")])) == [b"yes"]
        [state] = run(store.register_content([wish(entry=2)]))
        assert state.answer == b"yes"

    def test_an_answer_replaces_the_one_it_names_and_no_other(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"a", b"not there")])) == [None]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"a")])) == [b"a"]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"b")])) == [b"a"]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"b", b"x")])) == [b"a"]
        assert run(
            store.save_answers([AnswerUpdate("d1", FIRST, b"b", b"a"), AnswerUpdate("d1", FIRST, b"c", b"a")])
        ) == [b"b", b"b"]
        assert [one.answer for one in run(store.documents(["d1"]))[0]] == [b"b"]

    def test_a_document_that_was_answered_enters_nothing(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2)]))
        run(store.save_answers([AnswerUpdate("d1", FIRST, b"yes")]))
        for _ in range(2):
            assert run(store.register_content([wish(entry=3, share=True)])) == [
                ContentState(None, b"yes", (SECOND,), 1)
            ]
        run(store.mark_dead([1]))
        run(store.delete_records([1]))
        assert run(store.register_content([wish(entry=4)])) == [ContentState(None, b"yes", (SECOND,), 1)]
        assert run(store.contents([FIRST])) == [None]
        assert run(store.records([1, 3, 4])) == [None, None, None]

    def test_an_answer_that_was_taken_back_stands_until_the_next_enrolment(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        run(store.save_answers([AnswerUpdate("d1", FIRST, b"yes")]))
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, VOID, b"yes")])) == [VOID]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"late")])) == [VOID]
        assert [one.answer for one in run(store.documents(["d1"]))[0]] == [VOID]
        [state] = run(store.register_content([wish(entry=2)]))
        assert (state.answer, entered(state).entry) == (None, 1)
        assert [one.answer for one in run(store.documents(["d1"]))[0]] == [None]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"new")])) == [b"new"]

    def test_recalling_takes_every_answer_of_a_document_back_and_bars_new_ones(self, store: Store, run: Run) -> None:
        run(
            store.register_content(
                [wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2), wish("d2", FIRST, entry=3)]
            )
        )
        run(store.save_answers([AnswerUpdate("d1", FIRST, b"one"), AnswerUpdate("d2", FIRST, b"two")]))
        version = "d1's version"
        for _ in range(2):
            recalled = run(store.void_answers(["d1", "nobody"]))
            assert recalled == [(HeldContent(FIRST, version, VOID, 1), HeldContent(SECOND, version, VOID, 2)), ()]
            assert run(store.documents(["d1"])) == recalled[:1]
        assert run(store.save_answers([AnswerUpdate("d1", FIRST, b"x"), AnswerUpdate("d1", SECOND, b"x")])) == [
            VOID,
            VOID,
        ]
        assert [one.answer for one in run(store.documents(["d2"]))[0]] == [b"two"]
        assert run(store.documents(["nobody"])) == [()]

    def test_answers_belong_to_one_content_of_one_document(self, store: Store, run: Run) -> None:
        run(
            store.register_content(
                [wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2), wish("d2", FIRST, entry=3)]
            )
        )
        run(store.save_answers([AnswerUpdate("d1", FIRST, b"one"), AnswerUpdate("d1", SECOND, b"two")]))
        assert {one.content: one.answer for one in run(store.documents(["d1"]))[0]} == {FIRST: b"one", SECOND: b"two"}
        assert [one.answer for one in run(store.documents(["d2"]))[0]] == [None]

    def test_a_document_without_the_content_remembers_nothing(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", FIRST, entry=1)]))
        assert run(store.save_answers([AnswerUpdate("d1", SECOND, b"x"), AnswerUpdate("d9", FIRST, b"x")])) == [
            None,
            None,
        ]
        assert run(store.documents(["d9"]))[0] == ()

    # Dying.

    def test_an_entry_is_handed_over_to_its_next_holder(self, store: Store, run: Run) -> None:
        run(
            store.register_content(
                [wish("d1", entry=1), wish("d2", entry=2, share=True), wish("d3", entry=3, share=True)]
            )
        )
        record = run(store.remove_holders([(1, "d1")]))[0]
        assert record is not None
        assert [holder.document_id for holder in record.holders] == ["d2", "d3"]
        assert not record.dead
        assert run(store.remove_holders([(1, "d1")]))[0] == record
        assert run(store.records([1])) == [record]

    def test_an_entry_dies_with_its_last_holder_and_keeps_its_body(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", entry=1), wish("d2", entry=2, share=True)]))
        run(store.register([Registration(1, ticket=3)]))
        run(store.remove_holders([(1, "d1")]))[0]
        expected = EntryRecord(1, FIRST, (Holder("d2", "d2's version"),), BODY, ticket=3, dead=True)
        for name in ("d2", "d2", "d1"):
            assert run(store.remove_holders([(1, name)]))[0] == expected
        assert run(store.records([1])) == [expected]
        assert run(store.contents([FIRST])) == [1]

    def test_a_stranger_cannot_disown(self, store: Store, run: Run) -> None:
        [state] = run(store.register_content([wish("d1", entry=1)]))
        run(store.register_content([wish("d2", entry=2)]))  # knows the content, and does not hold it
        assert run(store.remove_holders([(1, "d2")]))[0] == state.record
        assert run(store.remove_holders([(5, "d1")]))[0] is None

    def test_burying_lets_an_entry_die_whoever_holds_it(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", entry=1), wish("d2", entry=2, share=True)]))
        for _ in range(2):
            [record] = run(store.mark_dead([1]))
            assert record is not None
            assert record.dead
            assert len(record.holders) == 2
        assert run(store.mark_dead([5])) == [None]

    def test_only_the_dead_are_erased(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        run(store.delete_records([1]))
        assert run(store.contents([FIRST])) == [1]
        run(store.mark_dead([1]))
        for _ in range(2):
            run(store.delete_records([1]))
            assert run(store.records([1])) == [None]
            assert run(store.contents([FIRST])) == [None]
        assert run(store.remove_holders([(1, "d1")]))[0] is None

    def test_erasing_an_old_entry_keeps_the_new_one_of_its_content(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        run(store.mark_dead([1]))
        run(store.delete_records([1]))
        [state] = run(store.register_content([wish(entry=2)]))
        assert entered(state).entry == 2
        assert run(store.mark_dead([1])) == [None]
        run(store.delete_records([1]))
        assert run(store.contents([FIRST])) == [2]
        assert run(store.records([2])) == [state.record]

    def test_forgetting_takes_away_what_was_seen(self, store: Store, run: Run) -> None:
        run(
            store.register_content(
                [wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2), wish("d2", FIRST, entry=3)]
            )
        )
        held = run(store.documents(["d1"]))[0]
        for _ in range(2):
            assert run(store.remove_contents([("d1", [one for one in held if one.content == FIRST])])) == [False]
            assert contents_of(run(store.documents(["d1"]))[0]) == {SECOND}
        assert run(store.remove_contents([("d1", held)])) == [True]
        assert run(store.documents(["d1"]))[0] == ()
        assert contents_of(run(store.documents(["d2"]))[0]) == {FIRST}
        assert run(store.remove_contents([("d9", held), ("d2", ())])) == [True, False]

    def test_forgetting_spares_what_was_enrolled_since(self, store: Store, run: Run) -> None:
        run(store.register_content([wish("d1", FIRST, entry=1), wish("d1", SECOND, entry=2)]))
        [seen] = run(store.void_answers(["d1"]))
        run(store.register_content([wish("d1", FIRST, entry=3)]))
        assert run(store.remove_contents([("d1", seen)])) == [False]
        assert [(one.content, one.stamp) for one in run(store.documents(["d1"]))[0]] == [(FIRST, 3)]

    def test_a_forgotten_content_comes_back_without_its_answer(self, store: Store, run: Run) -> None:
        run(store.register_content([wish(entry=1)]))
        run(store.save_answers([AnswerUpdate("d1", FIRST, b"old")]))
        run(store.remove_contents([("d1", run(store.documents(["d1"]))[0])]))
        [state] = run(store.register_content([wish(entry=2)]))
        assert (state.answer, state.others) == (None, ())
        assert entered(state).entry == 1

    def test_what_is_unknown_is_none(self, store: Store, run: Run) -> None:
        assert run(store.records([0, 5])) == [None, None]
        assert run(store.contents([FIRST])) == [None]
        assert run(store.documents(["nobody"]))[0] == ()
