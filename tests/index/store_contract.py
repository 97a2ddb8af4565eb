"""What every index backend must do, written once.

A test module for a backend defines a fixture and subclasses `StoreContract`:

    open_store   an awaitable function of max_bucket that returns an empty store
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gate.index.store import (
    VOID,
    AnswerUpdate,
    ContentState,
    Conversion,
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
    by_key,
    content_of,
    new_entry,
    u64,
)

__all__ = ["OpenStore", "StoreContract", "by_key", "entered", "new_entry", "u64"]


def contents_of(held: Iterable[HeldContent]) -> set[bytes]:
    return {one.content for one in held}


def entered(state: ContentState) -> EntryRecord:
    assert state.record is not None
    return state.record


class StoreContract(BucketContract):
    """Sentences that are true of every backend."""

    @pytest.fixture
    async def store(self, open_store: OpenStore) -> Store:
        return await open_store(4096)

    # Registering contents.

    async def test_the_first_document_with_a_content_gets_its_entry(self, store: Store) -> None:
        [state] = await store.register_content([new_entry(entry=7)])
        record = EntryRecord(7, FIRST, (Holder("d1", "d1's version"),), BODY)
        assert state == ContentState(record, None, (), 7)
        assert await store.records([7]) == [record]
        assert await store.contents([FIRST]) == [7]
        assert (await store.documents(["d1"]))[0] == (HeldContent(FIRST, "d1's version", None, 7),)

    async def test_a_second_document_with_a_content_gets_the_first_ones_entry(self, store: Store) -> None:
        [first] = await store.register_content([new_entry("d1", entry=1)])
        [second] = await store.register_content([new_entry("d2", entry=2)])
        assert second.record == first.record
        assert await store.records([2]) == [None]
        assert contents_of((await store.documents(["d2"]))[0]) == {FIRST}

    @pytest.mark.parametrize("version", [None, "", "7"])
    async def test_the_details_of_a_document_stay_with_its_content(self, store: Store, version: str | None) -> None:
        details = bytes(range(256)) * 200  # nearly as many as the limits allow
        first = NewEntry("d1", version, FIRST, 1, BODY, details=details)
        await store.register_content([first, NewEntry("d1", None, SECOND, 2, BODY, details=b"\0")])
        await store.save_answers([AnswerUpdate("d1", FIRST, b"given")])
        await store.register_content([first._replace(details=b"others")])
        assert (await store.documents(["d1"]))[0] == (
            HeldContent(FIRST, version, b"given", 1, details),
            HeldContent(SECOND, None, None, 2, b"\0"),
        )
        await store.void_answers(["d1"])
        await store.register_content([first._replace(entry=3, details=b"others")])
        [held] = await store.documents(["d1"])
        assert held[0] == HeldContent(FIRST, version, None, 3, details)
        await store.remove_contents([("d1", held)])
        assert await store.documents(["d1"]) == [()]

    async def test_new_entries_of_one_call_see_each_other_in_their_order(self, store: Store) -> None:
        wishes = [new_entry("d1", entry=1), new_entry("d2", entry=2), new_entry("d1", SECOND, entry=3)]
        states = await store.register_content(wishes)
        assert [entered(state).entry for state in states] == [1, 1, 3]
        assert [state.others for state in states] == [(), (), (FIRST,)]

    async def test_registering_a_content_twice_changes_nothing(self, store: Store) -> None:
        for share in (False, True):
            once = await store.register_content([new_entry(share=share)])
            document = (await store.documents(["d1"]))[0]
            assert await store.register_content([new_entry(share=share)]) == once
            assert (await store.documents(["d1"]))[0] == document

    async def test_a_state_names_the_other_contents_of_its_document(self, store: Store) -> None:
        contents = [content_of(n, bytes([n])) for n in range(5)]
        await store.register_content([new_entry(content=contents[n], entry=n) for n in range(1, 5)])
        [state] = await store.register_content([new_entry(content=contents[2], entry=9)])
        assert set(state.others) == {contents[1], contents[3], contents[4]}
        assert entered(state).entry == 2

    async def test_a_repeated_registration_changes_nothing_of_the_document(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        for answer in (None, b"answer"):
            [state] = await store.register_content([NewEntry("d1", "another", FIRST, 2, BODY)])
            assert (state.answer, state.stamp) == (answer, 1)
            assert (await store.documents(["d1"]))[0] == (HeldContent(FIRST, "d1's version", answer, 1),)
            await store.save_answers([AnswerUpdate("d1", FIRST, b"answer")])

    async def test_the_first_registration_after_voided_answers_renews_the_stamp(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        await store.void_answers(["d1"])
        for entry in (2, 3):
            [state] = await store.register_content([new_entry(entry=entry)])
            assert (state.answer, state.stamp) == (None, 2)
        assert (await store.documents(["d1"]))[0] == (HeldContent(FIRST, "d1's version", None, 2),)

    async def test_a_claim_from_before_voided_answers_cannot_save_its_own_after_them(self, store: Store) -> None:
        [before] = await store.register_content([new_entry(entry=1)])
        await store.void_answers(["d1"])
        [after] = await store.register_content([new_entry(entry=2)])
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"late", stamp=before.stamp)]) == [None]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"now", stamp=after.stamp)]) == [b"now"]
        assert [one.answer for one in (await store.documents(["d1"]))[0]] == [b"now"]

    async def test_a_document_that_shares_joins_the_holders_once(self, store: Store) -> None:
        await store.register_content([new_entry("d1", entry=1)])
        [once] = await store.register_content([new_entry("d2", entry=2, share=True)])
        [twice] = await store.register_content([new_entry("d2", entry=2, share=True)])
        assert entered(once).holders == (Holder("d1", "d1's version"), Holder("d2", "d2's version"))
        assert entered(once).owner.document_id == "d1"
        assert twice.record == once.record
        assert await store.records([1]) == [once.record]

    async def test_no_document_joins_the_holders_of_a_dead_entry(self, store: Store) -> None:
        await store.register_content([new_entry("d1", entry=1)])
        await store.mark_dead([1])
        [state] = await store.register_content([new_entry("d2", entry=2, share=True)])
        assert entered(state).dead
        assert [holder.document_id for holder in entered(state).holders] == ["d1"]

    async def test_an_entry_number_in_use_is_refused(self, store: Store) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1)])
        with pytest.raises(ValueError, match="never used twice"):
            await store.register_content([new_entry("d2", SECOND, entry=1)])
        [record] = await store.records([1])
        assert record is not None
        assert record.content == FIRST

    async def test_texts_and_bytes_come_back_as_they_were(self, store: Store) -> None:
        name, body = 'naïve\x00\n"文書"\U0001f600\'--', bytes(range(256))
        await store.register_content(
            [NewEntry(name, None, FIRST, 1, body), NewEntry(name + "2", "", FIRST, 2, b"", share=True)]
        )
        [record] = await store.records([1])
        assert record == EntryRecord(1, FIRST, (Holder(name, None), Holder(name + "2", "")), body)
        assert (await store.documents([name]))[0] == (HeldContent(FIRST, None, None, 1),)

    async def test_extreme_entries_and_tickets_are_kept_in_records(self, store: Store) -> None:
        contents = [content_of(entry, bytes([n])) for n, entry in enumerate(EXTREMES)]
        await store.register_content([new_entry(f"d{e}", c, entry=e) for e, c in zip(EXTREMES, contents, strict=True)])
        await store.register([Registration(1, duplicate_of=GREATEST), Registration(2**63, ticket=2**53)])
        records = await store.records(EXTREMES)
        assert [record.entry for record in records if record] == EXTREMES
        assert [record.duplicate_of for record in records if record] == [GREATEST, 0, 0, 0]
        assert [record.ticket for record in records if record] == [0, 0, 2**53, 0]
        assert await store.contents(contents) == EXTREMES
        assert [one.stamp for one in (await store.documents([f"d{GREATEST}"]))[0]] == [GREATEST]

    async def test_nothing_asked_for_is_answered_with_nothing(self, store: Store) -> None:
        none = u64()
        await store.append(none, none, none)
        await store.remove_postings(none, none)
        mark = (await store.read(none)).mark
        await store.append(u64(5), u64(1), u64(2))
        assert by_key(await store.read(none, since=mark)) == []
        assert await store.register_content([]) == []
        assert await store.records([]) == []
        assert await store.register([]) == []
        assert await store.save_answers([]) == []
        assert await store.contents([]) == []
        assert await store.documents([]) == []
        assert await store.void_answers([]) == []
        assert await store.remove_holders([]) == []
        assert await store.mark_dead([]) == []
        assert await store.remove_contents([]) == []
        await store.delete_records([])

    # Tickets and registrations.

    async def test_tickets_only_rise_and_none_is_drawn_twice(self, store: Store) -> None:
        drawn: list[int] = []
        for count in (1, 5, 256, 1):
            first = await store.draw(count)
            drawn += range(first, first + count)
        assert drawn[0] > 0
        assert drawn == sorted(set(drawn))

    async def test_a_registration_is_written_once(self, store: Store) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1), new_entry("d2", SECOND, entry=2)])
        first = await store.register([Registration(1, ticket=4), Registration(2, duplicate_of=1)])
        assert [(r.ticket, r.duplicate_of, r.registered) for r in first if r] == [(4, 0, True), (0, 1, True)]
        assert await store.register([Registration(1, duplicate_of=2), Registration(2, ticket=9)]) == first
        assert await store.register([Registration(1, ticket=5), Registration(2, duplicate_of=8)]) == first
        assert await store.records([1, 2]) == first

    async def test_of_two_registrations_in_one_call_the_first_stands(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        state = await store.register([Registration(1, ticket=4), Registration(1, ticket=3)])
        assert [record.ticket for record in state if record] == [4, 4]

    async def test_the_dead_and_the_gone_cannot_be_registered(self, store: Store) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1), new_entry("d2", SECOND, entry=2)])
        await store.register([Registration(2, ticket=1)])
        await store.mark_dead([1])
        await store.mark_dead([2])
        assert await store.register([Registration(e, ticket=2) for e in (1, 2, 3)]) == [None, None, None]
        [never, once] = await store.records([1, 2])
        assert never is not None
        assert not never.registered
        assert once is not None
        assert once.ticket == 1

    async def test_a_registration_is_a_ticket_or_a_duplicate_but_not_both(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        with pytest.raises(ValueError, match="not both"):
            await store.register([Registration(1, ticket=1, duplicate_of=2)])

    # Answers.

    async def test_an_answer_is_kept_and_shown_to_the_next_enrolment(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        for _ in range(2):
            assert await store.save_answers([AnswerUpdate("d1", FIRST, b"yes")]) == [b"yes"]
        [state] = await store.register_content([new_entry(entry=2)])
        assert state.answer == b"yes"

    async def test_an_answer_replaces_the_one_it_names_and_no_other(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"a", b"not there")]) == [None]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"a")]) == [b"a"]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"b")]) == [b"a"]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"b", b"x")]) == [b"a"]
        assert await store.save_answers(
            [AnswerUpdate("d1", FIRST, b"b", b"a"), AnswerUpdate("d1", FIRST, b"c", b"a")]
        ) == [b"b", b"b"]
        assert [one.answer for one in (await store.documents(["d1"]))[0]] == [b"b"]

    async def test_a_document_that_was_answered_enters_nothing(self, store: Store) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1), new_entry("d1", SECOND, entry=2)])
        await store.save_answers([AnswerUpdate("d1", FIRST, b"yes")])
        for _ in range(2):
            assert await store.register_content([new_entry(entry=3, share=True)]) == [
                ContentState(None, b"yes", (SECOND,), 1)
            ]
        await store.mark_dead([1])
        await store.delete_records([1])
        assert await store.register_content([new_entry(entry=4)]) == [ContentState(None, b"yes", (SECOND,), 1)]
        assert await store.contents([FIRST]) == [None]
        assert await store.records([1, 3, 4]) == [None, None, None]

    async def test_an_answer_that_was_taken_back_stands_until_the_next_enrolment(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        await store.save_answers([AnswerUpdate("d1", FIRST, b"yes")])
        assert await store.save_answers([AnswerUpdate("d1", FIRST, VOID, b"yes")]) == [VOID]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"late")]) == [VOID]
        assert [one.answer for one in (await store.documents(["d1"]))[0]] == [VOID]
        [state] = await store.register_content([new_entry(entry=2)])
        assert (state.answer, entered(state).entry) == (None, 1)
        assert [one.answer for one in (await store.documents(["d1"]))[0]] == [None]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"new")]) == [b"new"]

    async def test_voiding_takes_every_answer_of_a_document_back_and_bars_new_ones(self, store: Store) -> None:
        await store.register_content(
            [new_entry("d1", FIRST, entry=1), new_entry("d1", SECOND, entry=2), new_entry("d2", FIRST, entry=3)]
        )
        await store.save_answers([AnswerUpdate("d1", FIRST, b"one"), AnswerUpdate("d2", FIRST, b"two")])
        version = "d1's version"
        for _ in range(2):
            voided = await store.void_answers(["d1", "unknown"])
            assert voided == [(HeldContent(FIRST, version, VOID, 1), HeldContent(SECOND, version, VOID, 2)), ()]
            assert await store.documents(["d1"]) == voided[:1]
        assert await store.save_answers([AnswerUpdate("d1", FIRST, b"x"), AnswerUpdate("d1", SECOND, b"x")]) == [
            VOID,
            VOID,
        ]
        assert [one.answer for one in (await store.documents(["d2"]))[0]] == [b"two"]
        assert await store.documents(["unknown"]) == [()]

    async def test_answers_belong_to_one_content_of_one_document(self, store: Store) -> None:
        await store.register_content(
            [new_entry("d1", FIRST, entry=1), new_entry("d1", SECOND, entry=2), new_entry("d2", FIRST, entry=3)]
        )
        await store.save_answers([AnswerUpdate("d1", FIRST, b"one"), AnswerUpdate("d1", SECOND, b"two")])
        assert {one.content: one.answer for one in (await store.documents(["d1"]))[0]} == {
            FIRST: b"one",
            SECOND: b"two",
        }
        assert [one.answer for one in (await store.documents(["d2"]))[0]] == [None]

    async def test_a_document_without_the_content_saves_no_answer(self, store: Store) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1)])
        assert await store.save_answers([AnswerUpdate("d1", SECOND, b"x"), AnswerUpdate("d9", FIRST, b"x")]) == [
            None,
            None,
        ]
        assert (await store.documents(["d9"]))[0] == ()

    # Converting.

    async def test_an_entry_that_holds_the_ticket_becomes_a_duplicate_for_good(self, store: Store) -> None:
        for n, content in enumerate((FIRST, SECOND), 1):
            await store.register_content([new_entry(f"d{n}", content, entry=n)])
        await store.register([Registration(1, ticket=4), Registration(2, ticket=5)])
        record = EntryRecord(2, SECOND, (Holder("d2", "d2's version"),), BODY, duplicate_of=1)
        for _ in range(2):
            assert await store.convert([Conversion(2, 5, 1)]) == [record]
        assert await store.convert([Conversion(2, 5, GREATEST)]) == [record]
        assert await store.register([Registration(2, ticket=6)]) == [record]
        assert await store.records([2]) == [record]

    async def test_an_entry_with_another_ticket_or_none_is_not_converted(self, store: Store) -> None:
        for n, content in enumerate((FIRST, SECOND), 1):
            await store.register_content([new_entry(f"d{n}", content, entry=n)])
        await store.register([Registration(1, ticket=4)])
        before = await store.records([1, 2])
        for ticket in (0, 3):
            assert await store.convert([Conversion(1, ticket, 9), Conversion(2, ticket, 9)]) == before
        assert await store.records([1, 2]) == before

    async def test_conversions_of_dead_and_unknown_entries_return_none(self, store: Store) -> None:
        await store.register_content([new_entry("d1", entry=1), new_entry("d2", SECOND, entry=2)])
        await store.register([Registration(1, ticket=4), Registration(2, ticket=2**53)])
        await store.mark_dead([1])
        first, unknown, converted = await store.convert(
            [Conversion(1, 4, 9), Conversion(5, 4, 9), Conversion(2, 2**53, GREATEST)]
        )
        assert (first, unknown) == (None, None)
        assert converted is not None
        assert (converted.ticket, converted.duplicate_of) == (0, GREATEST)
        [dead] = await store.records([1])
        assert dead is not None
        assert dead.ticket == 4
        assert await store.convert([]) == []

    # Dying.

    async def test_an_entry_is_handed_over_to_its_next_holder(self, store: Store) -> None:
        await store.register_content(
            [new_entry("d1", entry=1), new_entry("d2", entry=2, share=True), new_entry("d3", entry=3, share=True)]
        )
        record = (await store.remove_holders([(1, "d1")]))[0]
        assert record is not None
        assert [holder.document_id for holder in record.holders] == ["d2", "d3"]
        assert not record.dead
        assert (await store.remove_holders([(1, "d1")]))[0] == record
        assert await store.records([1]) == [record]

    async def test_an_entry_dies_with_its_last_holder_and_keeps_its_body(self, store: Store) -> None:
        await store.register_content([new_entry("d1", entry=1), new_entry("d2", entry=2, share=True)])
        await store.register([Registration(1, ticket=3)])
        (await store.remove_holders([(1, "d1")]))[0]
        expected = EntryRecord(1, FIRST, (Holder("d2", "d2's version"),), BODY, ticket=3, dead=True)
        for name in ("d2", "d2", "d1"):
            assert (await store.remove_holders([(1, name)]))[0] == expected
        assert await store.records([1]) == [expected]
        assert await store.contents([FIRST]) == [1]

    async def test_a_stranger_cannot_disown(self, store: Store) -> None:
        [state] = await store.register_content([new_entry("d1", entry=1)])
        await store.register_content([new_entry("d2", entry=2)])  # knows the content, and does not hold it
        assert (await store.remove_holders([(1, "d2")]))[0] == state.record
        assert (await store.remove_holders([(5, "d1")]))[0] is None

    async def test_burying_lets_an_entry_die_whoever_holds_it(self, store: Store) -> None:
        await store.register_content([new_entry("d1", entry=1), new_entry("d2", entry=2, share=True)])
        for _ in range(2):
            [record] = await store.mark_dead([1])
            assert record is not None
            assert record.dead
            assert len(record.holders) == 2
        assert await store.mark_dead([5]) == [None]

    async def test_only_the_dead_are_erased(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        await store.delete_records([1])
        assert await store.contents([FIRST]) == [1]
        await store.mark_dead([1])
        for _ in range(2):
            await store.delete_records([1])
            assert await store.records([1]) == [None]
            assert await store.contents([FIRST]) == [None]
        assert (await store.remove_holders([(1, "d1")]))[0] is None

    async def test_erasing_an_old_entry_keeps_the_new_one_of_its_content(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        await store.mark_dead([1])
        await store.delete_records([1])
        [state] = await store.register_content([new_entry(entry=2)])
        assert entered(state).entry == 2
        assert await store.mark_dead([1]) == [None]
        await store.delete_records([1])
        assert await store.contents([FIRST]) == [2]
        assert await store.records([2]) == [state.record]

    async def test_removing_contents_removes_those_that_were_read(self, store: Store) -> None:
        await store.register_content(
            [new_entry("d1", FIRST, entry=1), new_entry("d1", SECOND, entry=2), new_entry("d2", FIRST, entry=3)]
        )
        held = (await store.documents(["d1"]))[0]
        for _ in range(2):
            assert await store.remove_contents([("d1", [one for one in held if one.content == FIRST])]) == [False]
            assert contents_of((await store.documents(["d1"]))[0]) == {SECOND}
        assert await store.remove_contents([("d1", held)]) == [True]
        assert (await store.documents(["d1"]))[0] == ()
        assert contents_of((await store.documents(["d2"]))[0]) == {FIRST}
        assert await store.remove_contents([("d9", held), ("d2", ())]) == [True, False]

    async def test_forgetting_spares_what_was_enrolled_since(self, store: Store) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1), new_entry("d1", SECOND, entry=2)])
        [seen] = await store.void_answers(["d1"])
        await store.register_content([new_entry("d1", FIRST, entry=3)])
        assert await store.remove_contents([("d1", seen)]) == [False]
        assert [(one.content, one.stamp) for one in (await store.documents(["d1"]))[0]] == [(FIRST, 3)]

    async def test_a_forgotten_content_comes_back_without_its_answer(self, store: Store) -> None:
        await store.register_content([new_entry(entry=1)])
        await store.save_answers([AnswerUpdate("d1", FIRST, b"old")])
        await store.remove_contents([("d1", (await store.documents(["d1"]))[0])])
        [state] = await store.register_content([new_entry(entry=2)])
        assert (state.answer, state.others) == (None, ())
        assert entered(state).entry == 1

    async def test_what_is_unknown_is_none(self, store: Store) -> None:
        assert await store.records([0, 5]) == [None, None]
        assert await store.contents([FIRST]) == [None]
        assert (await store.documents(["unknown"]))[0] == ()
