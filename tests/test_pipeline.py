"""How a document is processed, step by step."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Awaitable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import BUILT_IN, BadDocument, CheckIn, Degraded, Gate, Limits, Match, Relation, Verdict
from gate.demo import BREAD, LIGHTHOUSE
from gate.pipeline import (
    SIGNED_CHARS,
    CheckIns,
    Deletes,
    Signer,
    batches,
    chunked,
    run_now,
    split_for_signing,
    steps,
    validate_document,
)
from gate.wire import CheckInEvent, DeleteEvent, Event


def document(text: str, document_id: str = "a", version: str | None = None) -> CheckIn:
    return CheckIn(document_id=document_id, text=text, version=version)


# Batches

TEXT_FIELDS = ["document_id", "text", "version", "source", "title", "uri", "mime_type"]
LIMITS = Limits(batch_documents=3, batch_chars=10)


@given(st.lists(st.integers(0, 15), max_size=30))
def test_batches_put_together_are_the_documents_and_each_keeps_to_the_limits(lengths: list[int]) -> None:
    documents = [document("x" * length, str(n)) for n, length in enumerate(lengths)]
    cut = list(batches(iter(documents), LIMITS))
    assert [one for batch in cut for one in batch] == documents
    for batch in cut:
        assert 1 <= len(batch) <= 3
        assert len(batch) == 1 or sum(len(one.text) for one in batch) <= 10


@given(st.lists(st.integers(0, 15), max_size=30))
def test_a_batch_ends_only_where_the_next_document_would_be_too_much(lengths: list[int]) -> None:
    cut = list(batches([document("x" * length) for length in lengths], LIMITS))
    for batch, after in pairwise(cut):
        assert len(batch) == 3 or sum(len(one.text) for one in (*batch, after[0])) > 10


@given(st.lists(st.one_of(st.none(), st.integers(0, 15)), max_size=30))
def test_chunks_put_together_are_the_items_and_each_keeps_to_the_limits(sizes: list[int | None]) -> None:
    chunks = list(chunked(sizes, size=int, max_items=3, max_size=10))
    assert [size for chunk in chunks for size in chunk] == [size for size in sizes if size is not None]
    assert all(1 <= len(chunk) <= 3 for chunk in chunks)
    assert all(len(chunk) == 1 or sum(chunk) <= 10 for chunk in chunks)


def test_a_chunk_ends_where_the_input_pauses_before_the_next_item_is_read() -> None:
    items = iter([1, None, None, 2, 3, None])
    chunks = chunked(items, size=int, max_items=3, max_size=10)
    assert next(chunks) == [1]
    assert list(items) == [None, 2, 3, None]


def check_in(document_id: str) -> CheckInEvent:
    return CheckInEvent(document_id=document_id, text="text", version=7)


def delete(document_id: str) -> DeleteEvent:
    return DeleteEvent(document_id=document_id, type="delete")


def test_a_delete_divides_a_batch_and_messages_that_were_rejected_keep_their_positions() -> None:
    events = [check_in("a"), None, check_in("b"), delete("a"), None, delete("x"), check_in("a"), None]
    assert steps(events) == [
        CheckIns([0, 2], [document("text", "a", "7"), document("text", "b", "7")]),
        Deletes([3, 5], ["a", "x"]),
        CheckIns([6], [document("text", "a", "7")]),
    ]
    assert steps([]) == steps([None]) == []


@given(st.lists(st.sampled_from([check_in("a"), delete("a"), None]), max_size=12))
def test_steps_are_the_events_in_order_with_no_two_of_a_kind_in_a_row(
    events: list[Event | None],
) -> None:
    divided = steps(events)
    assert all(type(one) is not type(after) for one, after in pairwise(divided))
    kinds = {position: type(step) for step in divided for position in step.positions}
    expected = {n: CheckIns if isinstance(e, CheckInEvent) else Deletes for n, e in enumerate(events) if e is not None}
    assert list(kinds.items()) == list(expected.items())


@given(st.lists(st.tuples(st.sampled_from(["x", "\u00e9", "\u3316"]), st.integers(0, 15)), max_size=30))
def test_a_batch_is_signed_in_pieces_of_bounded_folded_length_and_nothing_of_it_is_left_out(
    texts: list[tuple[str, int]],
) -> None:
    batch = [document(letter * length, str(n)) for n, (letter, length) in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gate.pipeline.SIGNED_CHARS", 60)
        cut = list(split_for_signing(batch))
    folded = [sum(6 if letter == "\u3316" else 1 for one in piece for letter in one.text) for piece in cut]
    assert [one for piece in cut for one in piece] == batch
    assert all(size <= 60 or len(piece) == 1 for size, piece in zip(folded, cut, strict=True))
    assert all(left + right > 60 for left, right in pairwise(folded[:-1]))


def test_texts_that_fold_to_many_times_their_length_are_signed_in_a_small_multiple_of_the_folded_one() -> None:
    batch = [document("x", str(n)) for n in range(25)] + [document("\u3316" * 120_000, str(n)) for n in range(10)]
    signer = Signer(BUILT_IN["standard"])
    signer.sign(batch[:26])  # the fold table and the kernel's buffers are there
    peaks = []
    for documents in (batch[:26], batch):
        tracemalloc.start()
        signer.sign(documents)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]  # ten such documents need what one needs


def test_a_batch_that_is_signed_in_pieces_is_signed_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = [document(LIGHTHOUSE * n, str(n)) for n in range(5)] + [document(BREAD)]
    whole = Signer(BUILT_IN["standard"]).sign(batch)
    monkeypatch.setattr("gate.pipeline.SIGNED_CHARS", 1000)
    assert Signer(BUILT_IN["standard"]).sign(batch) == whole


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_several_threads_sign_the_same_in_the_order_of_the_batch(threads: int) -> None:
    batch = [document(f"{LIGHTHOUSE} {n} " * (n % 40), str(n)) for n in range(120)]
    parts = split_for_signing(batch, threads)
    assert len(parts) >= threads
    assert Signer(BUILT_IN["standard"], threads=threads).sign(batch) == Signer(BUILT_IN["standard"]).sign(batch)


def test_a_batch_that_is_too_small_for_threads_is_signed_in_one_piece() -> None:
    assert len(split_for_signing([document(BREAD, str(n)) for n in range(10)], 4)) == 1


def test_parts_of_several_threads_share_the_memory_of_one() -> None:
    batch = [document("x" * 100_000, str(n)) for n in range(30)]
    sizes = [sum(len(one.text) for one in part) for part in split_for_signing(batch, 4)]
    assert max(sizes) <= SIGNED_CHARS // 4


def test_an_error_of_a_thread_is_that_of_the_batch() -> None:
    batch = [document("x" * 40_000, str(n)) for n in range(4)] + [document("\ud800")]
    with pytest.raises(BadDocument, match="lone surrogate"):
        Signer(BUILT_IN["standard"], threads=2).sign(batch)


# Validation


@pytest.mark.parametrize("text", ["", " ", "plain", "naïve", "😀", "\0", "\uffff", "x" * 100])
def test_every_text_of_whole_characters_within_the_limit_is_valid(text: str) -> None:
    validate_document(document(text), Limits(max_document_chars=100))


@given(st.text(st.characters(codec=None), max_size=20), st.text(st.characters(codec=None), min_size=1, max_size=5))
def test_a_valid_document_can_be_judged(text: str, document_id: str) -> None:
    one = document(text, document_id, version=text)
    if any("\ud800" <= character <= "\udfff" for character in text + document_id):
        with pytest.raises(BadDocument, match="lone surrogate"):
            validate_document(one, Limits())
        return
    validate_document(one, Limits())
    [verdict] = Gate().check_in([one])
    assert (verdict.document_id, verdict.version) == (document_id, text)


NO_STRINGS = [None, b"bytes", 7, 1.5, True, {"text": "x"}, ["x"], object()]


@pytest.mark.parametrize("value", NO_STRINGS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_a_field_that_is_no_string_is_refused_by_its_name_and_type(field: str, value: Any) -> None:
    fields: dict[str, Any] = {"document_id": "a", "text": LIGHTHOUSE} | {field: value}
    if value is None and field not in ("document_id", "text"):
        validate_document(CheckIn(**fields), Limits())
        return
    with pytest.raises(BadDocument, match=f"^{field}: is of type {type(value).__name__}; give a str") as caught:
        validate_document(CheckIn(**fields), Limits())
    assert caught.value.code == "bad_field"


@pytest.mark.parametrize("value", [*NO_STRINGS, "text"], ids=lambda value: type(value).__name__)
def test_what_is_no_check_in_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(BadDocument, match=f"^is of type {type(value).__name__}; give CheckIn"):
        validate_document(value, Limits())


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_half_a_character_is_refused_in_every_field(field: str) -> None:
    fields: dict[str, Any] = {"document_id": "a", "text": "é"} | {field: "half \ud83d"}
    with pytest.raises(BadDocument, match=f"^{field}: has a lone surrogate at character 5"):
        validate_document(CheckIn(**fields), Limits())


def test_a_subclass_of_str_is_a_string() -> None:
    class Name(str):
        __slots__ = ()

    validate_document(CheckIn(document_id=Name("a"), text=Name(LIGHTHOUSE), version=Name("1")), Limits())


# Signing


def test_texts_that_differ_in_case_and_white_space_only_are_one_content() -> None:
    signer = Signer(BUILT_IN["standard"])
    signed = signer.sign([document(LIGHTHOUSE), document("\n " + LIGHTHOUSE.upper()), document(LIGHTHOUSE + "!")])
    sizes = [msgspec.structs.replace(claim, details=b"") for claim in signed.claims]  # the only other difference
    assert sizes[0] == sizes[1]
    assert signed.claims[0].content != signed.claims[2].content


@pytest.mark.parametrize("profile", sorted(BUILT_IN))
def test_a_document_is_signed_the_same_alone_and_in_a_batch(profile: str) -> None:
    signer = Signer(BUILT_IN[profile])
    documents = [document(LIGHTHOUSE), document(""), document("Back at noon."), document(BREAD * 3)]
    together = signer.sign(documents)
    for n, one in enumerate(documents):
        alone = signer.sign([one])
        assert (alone.claims, alone.features) == ([together.claims[n]], [together.features[n]])


def test_only_a_text_without_any_character_but_white_space_is_empty() -> None:
    signed = Signer(BUILT_IN["standard"]).sign([document(""), document(" \t\n"), document("!"), document("word")])
    assert [claim.empty for claim in signed.claims] == [True, True, False, False]


# Verdicts


def test_a_verdict_has_the_same_id_for_the_same_document_content_and_profile_and_no_other() -> None:
    ids = [
        gate.check_in([one])[0].verdict_id
        for gate in (Gate(), Gate("simhash"))
        for one in (document(LIGHTHOUSE), document(LIGHTHOUSE, "b"), document(BREAD), document(LIGHTHOUSE.upper()))
    ]
    assert ids[0] == ids[3]
    assert len(set(ids)) == 6
    assert ids[0] == Gate().preview([document(LIGHTHOUSE)])[0].verdict_id


def test_another_verdict_on_the_same_document_has_another_id_and_a_repeated_one_the_same() -> None:
    with Gate() as gate:
        _, copy = gate.check_in([document(LIGHTHOUSE, "a"), document(LIGHTHOUSE, "b")])
        assert gate.check_in([document(LIGHTHOUSE, "b")])[0].verdict_id == copy.verdict_id
        gate.delete(["a"])
        [judged_again] = gate.check_in([document(LIGHTHOUSE, "b")])
        assert (copy.similar, judged_again.similar) == (True, False)
        assert judged_again.verdict_id != copy.verdict_id
        assert gate.check_in([document(LIGHTHOUSE, "b")]) == [judged_again]
        assert gate.explain(["b"])[0][0].verdict_id == judged_again.verdict_id
        moved = msgspec.structs.replace(copy, similar=False, relation=Relation.NEW, matches=(), group="b")
        assert gate.signer.verdict_id(moved) == judged_again.verdict_id


def test_the_ids_of_verdicts_are_those_of_every_version() -> None:
    verdict = Verdict(
        document_id="b",
        version=None,
        similar=True,
        relation=Relation.NEAR,
        matches=(Match(document_id="a", version="2", relation=Relation.NEAR, distance=3),),
        group="a",
        fingerprint="0123456789abcdef",
        content_id="00112233445566778899aabbccddeeff",
        profile="standard@1",
        features=9,
        candidates=1,
        degraded=(),
        verdict_id="",
    )
    signer = Signer(BUILT_IN["standard"])
    unchecked = msgspec.structs.replace(verdict, matches=(), degraded=(Degraded.UNCHECKED,))
    assert [signer.verdict_id(one) for one in (verdict, unchecked)] == [
        "5cd409d06462c7c8f67a57a7e0c5064a",
        "1a4cfacf96d676d5640d6c4f111c3d28",
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"document_id": "ab", "group": ""},
        {"similar": False},
        {"relation": Relation.EXACT},
        {"group": "c"},
        {"matches": ()},
        {"matches": (Match(document_id="a2", version=None, relation=Relation.NEAR),)},
        {"content_id": "ff112233445566778899aabbccddeeff"},
    ],
)
def test_all_that_was_decided_counts_for_the_id(other: dict[str, Any]) -> None:
    signer = Signer(BUILT_IN["standard"])
    with Gate() as gate:
        gate.check_in([document(LIGHTHOUSE, "a")])
        [verdict] = gate.check_in([document(LIGHTHOUSE.replace("three", "four"), "b")])
    verdict = msgspec.structs.replace(verdict, matches=(Match(document_id="a", version="2", relation=Relation.NEAR),))
    assert signer.verdict_id(verdict) != signer.verdict_id(msgspec.structs.replace(verdict, **other))


def test_features_are_counted_and_short_texts_have_no_fingerprint() -> None:
    few, many = Gate().check_in([document("Back at noon."), document("one two three four five six seven " * 3, "b")])
    assert (few.features, few.fingerprint) == (1, None)
    assert many.features == 19  # runs of three words, each as often as it comes
    assert many.fingerprint is not None
    assert len(many.fingerprint) == 16


def sent(text: str, **fields: Any) -> CheckIn:
    return CheckIn(document_id="a", text=text, **fields)


def test_a_verdict_repeats_source_and_title_of_the_check_in_and_nothing_of_its_text() -> None:
    [verdict] = Gate().check_in([sent(LIGHTHOUSE, source="mail", title="The Lighthouse")])
    assert (verdict.source, verdict.title) == ("mail", "The Lighthouse")
    assert "goats" not in verdict.to_json()


def test_a_source_or_a_title_of_any_length_leaves_a_verdict_small() -> None:
    [verdict] = Gate().check_in([sent(LIGHTHOUSE, source="s" * 10_000, title="t" * 1_000_000)])
    assert (verdict.source, verdict.title) == ("s" * 256, "t" * 512)
    assert verdict.degraded == (Degraded.DETAILS_CUT,)


def test_details_within_their_limits_leave_no_mark_on_a_verdict() -> None:
    limits = Limits(max_title_chars=3, max_source_chars=3, max_uri_chars=3, max_metadata_bytes=7)
    fitting = sent(LIGHTHOUSE, source="abc", title="abc", uri="abc", metadata={"a": 1})
    [verdict] = Gate(limits=limits).check_in([fitting])
    assert (verdict.degraded, verdict.title) == ((), "abc")


LONG = {"title": "abcd", "source": "abcd", "uri": "abcd", "metadata": {"a": 12}}


@pytest.mark.parametrize("field", LONG)
def test_a_setting_refuses_documents_with_a_detail_over_its_limit(field: str) -> None:
    sizes: dict[str, Any] = {"max_title_chars": 3, "max_source_chars": 3, "max_uri_chars": 3, "max_metadata_bytes": 7}
    long: dict[str, Any] = {field: LONG[field]}
    [verdict] = Gate(limits=Limits(**sizes)).check_in([sent(LIGHTHOUSE, **long)])
    assert verdict.degraded == (Degraded.DETAILS_CUT,)
    problem = rf"{field}: has .*, over limits.max_{field}_(chars|bytes) = [37]; "
    with pytest.raises(BadDocument, match=problem) as refused:
        validate_document(sent(LIGHTHOUSE, **long), Limits(**sizes, long_details="refuse"))
    assert refused.value.code == "too_large"


@pytest.mark.parametrize(
    "wrong",
    [{"size_bytes": -1}, {"mime_type": "m" * 256}, {"metadata": {"a": object()}}, {"metadata": {"a": "\ud800"}}],
)
def test_details_that_cannot_be_kept_are_refused_by_the_name_of_their_field(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadDocument, match=rf"^{next(iter(wrong))}: ") as refused:
        validate_document(sent(LIGHTHOUSE, **wrong), Limits())
    assert refused.value.code == "bad_field"


def test_a_repeated_verdict_is_the_same_to_the_byte_with_source_and_title() -> None:
    gate, document = Gate(), sent(LIGHTHOUSE, source="mail", title="The Lighthouse")
    first = gate.check_in([document])[0].to_json()
    assert gate.check_in([document])[0].to_json() == first
    assert Signer(BUILT_IN["standard"]).sign([document]).claims[0].title == "The Lighthouse"


def test_an_unchecked_verdict_repeats_source_and_title_too() -> None:
    signer = Signer(BUILT_IN["simhash"])
    [verdict] = signer.unchecked(signer.sign([sent(LIGHTHOUSE, source="mail", title="The Lighthouse")]))
    assert (verdict.source, verdict.title) == ("mail", "The Lighthouse")


# Running without an event loop


def test_steps_that_never_wait_run_to_their_end() -> None:
    async def steps() -> int:
        return 7

    assert run_now(steps()) == 7


def test_steps_that_would_wait_raise() -> None:
    async def steps() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="must not wait"):
        run_now(steps())


def test_an_error_of_a_step_is_raised_unchanged() -> None:
    async def fails() -> None:
        raise BadDocument("bad_text", "message")

    async def steps(step: Awaitable[None]) -> None:
        await step

    with pytest.raises(BadDocument, match="message"):
        run_now(steps(fails()))


def test_a_text_that_grows_over_the_limit_when_it_is_written_out_is_refused() -> None:
    limits = Limits(max_document_chars=1800)
    validate_document(document("\u3316" * 300), limits)
    with pytest.raises(BadDocument, match="has 1806 characters"):
        validate_document(document("\u3316" * 301), limits)
