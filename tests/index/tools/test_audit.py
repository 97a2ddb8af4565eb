"""Every way in which an index may be damaged is found and repaired, and a whole index is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import pytest

from gate.api import Gate
from gate.demo import LIGHTHOUSE
from gate.index.memory.store import MemoryStore
from gate.index.protocol.postings import postings_of
from gate.index.redis.layout import encode_record, shards_of_entries
from gate.index.redis.store import RedisStore
from gate.index.scan import ScannableStore
from gate.index.sqlite.store import SqliteStore
from gate.index.store import HeldContent, NewEntry
from gate.index.tools.audit import audit
from gate.index.tools.findings import Fault, Note, Report
from gate.model import CheckIn, Relation, Verdict
from tests.index.corrupted_index import KINDS, corpus, open_gate, profile_of, record_of, server_url, unrelated_documents

NEAR = CheckIn(document_id="near", text=LIGHTHOUSE.replace("two goats", "two white goats"))


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, server_url(request, request.param)


@pytest.fixture
def gate(place: tuple[str, str], tmp_path: Path) -> Iterator[Gate]:
    with open_gate(*place, tmp_path, profile_of()) as opened:
        opened.check_in(corpus())
        yield opened


def audited(gate: Gate, *, fix: bool = False, pause: Callable[[], None] = lambda: None) -> Report:
    async def wait() -> None:
        pause()

    return gate.with_store(lambda store: audit(store, gate.method, gate.profile, fix=fix, pause=wait))


def repaired(gate: Gate) -> dict[Fault, int]:
    """Find, repair, and find no more: what there was."""
    found = audited(gate)
    assert found.left == found.found.total() > 0
    done = audited(gate, fix=True)
    assert done.left == 0
    after = audited(gate)
    assert (dict(after.found), after.left) == ({}, 0)
    return dict(done.found)


def u64(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(numbers, np.uint64)


def test_a_whole_index_has_no_faults_and_is_counted(gate: Gate) -> None:
    before = [gate.check_in([document]) for document in corpus()]
    report = audited(gate, fix=True)
    assert report.found == {}
    assert report.checked["documents"] == len({document.document_id for document in corpus()})
    assert report.checked["entries"] > 20
    assert report.checked["postings"] > 20 * report.checked["entries"] / 2
    assert [gate.check_in([document]) for document in corpus()] == before


def test_a_posting_that_is_missing_is_appended_again(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    keys, entries, _ = postings_of(gate.method, [record])
    gate.with_store(lambda store: store.remove_postings(keys, entries))
    [missed] = gate.preview([NEAR])
    assert not missed.similar
    assert repaired(gate) == {Fault.UNLISTED: 1}
    [verdict] = gate.check_in([NEAR])
    assert (verdict.similar, verdict.group) == (True, "lighthouse-0")


def test_one_missing_posting_of_many_is_found(gate: Gate) -> None:
    keys, entries, _ = postings_of(gate.method, [record_of(gate, "bread")])
    gate.with_store(lambda store: store.remove_postings(keys[-1:], entries[-1:]))
    assert repaired(gate) == {Fault.UNLISTED: 1}


def test_a_posting_that_a_crowded_bucket_hides_is_not_missing(place: tuple[str, str], tmp_path: Path) -> None:
    with open_gate(*place, tmp_path, profile_of()) as gate:
        store: ScannableStore = gate.with_store(_itself)
        assert isinstance(store, MemoryStore | SqliteStore | RedisStore)
        gate.check_in(corpus())
        record = record_of(gate, "lighthouse-0")
        keys, _, tags = postings_of(gate.method, [record])
        crowd = [record_of(gate, f"s5-{n}").entry for n in range(8)]
        if isinstance(store, MemoryStore):
            store._buckets._limit = 4
        elif isinstance(store, RedisStore):
            store._reader._max_bucket = 4
        else:
            store._limit = 4
        gate.with_store(lambda store: store.remove_postings(keys[:1], u64(record.entry)))
        for entry in (*crowd, record.entry):
            gate.with_store(lambda store, entry=entry: store.append(keys[:1], u64(entry), tags[:1]))  # type: ignore[misc]
        assert dict(audited(gate).found) == {Fault.MISPLACED: len(crowd)}


async def _itself(store: ScannableStore) -> ScannableStore:
    return store


def test_postings_of_no_entry_are_removed(gate: Gate) -> None:
    unknown = record_of(gate, "bread").entry ^ 1
    gate.with_store(lambda store: store.append(u64(5, 1 << 32), u64(unknown, unknown), u64(1, 2)))
    assert repaired(gate) == {Fault.ORPHANED: 2}


def test_a_posting_in_a_bucket_that_is_not_its_entrys_is_removed(gate: Gate) -> None:
    record = record_of(gate, "bread")
    keys, *_ = postings_of(gate.method, [record])
    wrong = next(key for key in range(99) if key not in keys.tolist())
    gate.with_store(lambda store: store.append(u64(wrong), u64(record.entry), u64(0)))
    assert repaired(gate) == {Fault.MISPLACED: 1}
    assert gate.preview([CheckIn(document_id="x", text=corpus()[3].text)])[0].group == "bread"


def test_postings_of_a_refused_copy_are_removed(gate: Gate) -> None:
    copy = record_of(gate, "lighthouse-1")
    assert copy.duplicate_of
    keys, entries, tags = postings_of(gate.method, [copy])
    gate.with_store(lambda store: store.append(keys, entries, tags))
    report = audited(gate, fix=True)
    assert (dict(report.found), report.problems, report.left) == ({Fault.SPARE: len(keys)}, {}, 0)
    assert audited(gate).found == {}


def test_a_second_tag_in_the_right_bucket_is_left_alone(gate: Gate) -> None:
    keys, entries, tags = postings_of(gate.method, [record_of(gate, "bread")])
    gate.with_store(lambda store: store.append(keys[:1], entries[:1], tags[:1] ^ np.uint64(1)))
    assert audited(gate, fix=True).found == {}


def test_a_document_that_passed_and_lost_its_entry_is_judged_anew(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    gate.with_store(lambda store: store.mark_dead([record.entry]))
    gate.with_store(lambda store: store.delete_records([record.entry]))
    found = repaired(gate)
    assert found == {Fault.LOST: 1, Fault.ORPHANED: len(postings_of(gate.method, [record])[0])}
    assert audited(gate).notes[Note.FREED] == 1  # the near copy is a copy of nothing, until it comes again
    [first, second, _] = gate.check_in(corpus()[:3])
    assert (first.relation, second.group) == (Relation.NEW, "lighthouse-0")
    assert audited(gate).notes[Note.FREED] == 0


def test_a_deletion_that_stopped_half_way_is_finished(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    gate.with_store(lambda store: store.void_answers(["lighthouse-0"]))
    gate.with_store(lambda store: store.remove_holders([(record.entry, "lighthouse-0")]))
    assert repaired(gate) == {Fault.UNFINISHED: 1}
    assert gate.with_store(lambda store: store.records([record.entry])) == [None]
    keys, *_ = postings_of(gate.method, [record])
    left = gate.with_store(lambda store: store.read(keys))
    assert record.entry not in left.entries.tolist()


def test_a_content_that_its_documents_record_lacks_is_added_again(gate: Gate) -> None:
    [held] = gate.with_store(lambda store: store.documents(["lighthouse-0"]))
    gate.with_store(lambda store: store.remove_contents([("lighthouse-0", held)]))
    assert repaired(gate) == {Fault.UNHELD: 1}
    record = record_of(gate, "lighthouse-0")
    assert gate.with_store(lambda store: store.documents(["lighthouse-0"])) == [
        (HeldContent(record.content, None, None, record.entry),)
    ]
    [again] = gate.check_in(corpus()[:1])
    assert again.relation is Relation.NEW
    assert gate.delete(["lighthouse-0"]) == [True]
    assert audited(gate).found == {}


def test_an_entry_with_a_truncated_body_is_removed(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    store: ScannableStore = gate.with_store(_itself)
    if isinstance(store, MemoryStore):
        store._records[record.entry] = record._replace(body=record.body[:-1])
    elif isinstance(store, SqliteStore):
        store._connection.execute("UPDATE entries SET body = ? WHERE content = ?", (record.body[:-1], record.content))
    else:
        assert isinstance(store, RedisStore)
        name = (record.entry >> 32).to_bytes(4, "big")
        key = store.shards.prefixes[int(shards_of_entries(np.array([record.entry], np.uint64))[0])] + b"0r"
        cut = encode_record(record._replace(body=record.body[:-1]))
        assert gate.with_store(lambda _: _replaced(store, key, name, cut))
    found = repaired(gate)
    assert found == {Fault.BROKEN: 1, Fault.LOST: 1, Fault.ORPHANED: len(postings_of(gate.method, [record])[0])}
    assert gate.check_in(corpus()[:1])[0].relation is Relation.NEW


async def _replaced(store: RedisStore, key: bytes, field: bytes, value: bytes) -> bool:
    changed: int = await store.shards.library_client.execute_command("HSET", key, field, value)
    return changed == 0


@pytest.mark.parametrize("place", [("sqlite", "")])
def test_a_content_whose_record_is_missing_from_a_file_is_removed(gate: Gate) -> None:
    store: ScannableStore = gate.with_store(_itself)
    assert isinstance(store, SqliteStore)
    record = record_of(gate, "lighthouse-0")
    store._connection.execute("DELETE FROM entries WHERE content = ?", (record.content,))
    found = repaired(gate)
    assert found == {
        Fault.UNFINISHED: 1,
        Fault.LOST: 1,
        Fault.ORPHANED: len(postings_of(gate.method, [record])[0]),
    }
    assert gate.check_in(corpus()[:1])[0].relation is Relation.NEW


@pytest.mark.parametrize("place", [("sqlite", "")])
def test_a_content_points_to_its_entry_again(gate: Gate) -> None:
    store: ScannableStore = gate.with_store(_itself)
    assert isinstance(store, SqliteStore)
    record = record_of(gate, "lighthouse-0")
    store._connection.execute("DELETE FROM contents WHERE content = ?", (record.content,))
    assert repaired(gate) == {Fault.UNREACHABLE: 1}
    assert record_of(gate, "lighthouse-0") == record


@pytest.mark.parametrize("place", [("sqlite", "")])
def test_of_two_entries_of_one_content_the_one_it_points_to_stays(gate: Gate) -> None:
    store: ScannableStore = gate.with_store(_itself)
    assert isinstance(store, SqliteStore)
    first = record_of(gate, "lighthouse-0")
    store._connection.execute("DELETE FROM contents WHERE content = ?", (first.content,))
    gate.check_in([CheckIn(document_id="second", text=LIGHTHOUSE)])
    second = record_of(gate, "second")
    assert second.entry != first.entry
    assert set(repaired(gate)) >= {Fault.UNREACHABLE, Fault.LOST}
    assert gate.with_store(lambda store: store.records([first.entry, second.entry])) == [None, second]


def test_a_ticket_counter_that_fell_back_rises_again(gate: Gate) -> None:
    store: ScannableStore = gate.with_store(_itself)
    if isinstance(store, MemoryStore):
        store._tickets = 1
    elif isinstance(store, SqliteStore):
        store._connection.execute("UPDATE counters SET value = 1 WHERE name = 'tickets'")
    else:
        assert audited(gate).found == {}  # they follow the server's clock
        return
    assert repaired(gate) == {Fault.TICKETS: 1}
    highest = max(record_of(gate, f"s5-{n}").ticket for n in range(20))
    assert gate.with_store(lambda store: store.draw(1)) > highest


def test_versions_that_later_ones_replaced_are_not_lost(place: tuple[str, str], tmp_path: Path) -> None:
    with open_gate(*place, tmp_path, profile_of(revisions="replace")) as gate:
        gate.check_in(corpus())
        assert audited(gate).found == {}
        record = gate.with_store(lambda store: store.documents(["bread"]))[0][1]
        [entry] = gate.with_store(lambda store: store.contents([record.content]))
        gate.with_store(lambda store: store.mark_dead([entry or 0]))
        gate.with_store(lambda store: store.delete_records([entry or 0]))
        assert repaired(gate)[Fault.LOST] == 1


def test_an_index_that_keeps_copies_too_is_whole(place: tuple[str, str], tmp_path: Path) -> None:
    with open_gate(*place, tmp_path, profile_of(index="all")) as gate:
        gate.check_in(corpus())
        gate.delete(["lighthouse-0"])
        assert audited(gate).found == {}


def test_a_claim_that_was_not_finished_is_noted_and_no_fault(gate: Gate) -> None:
    claim = gate.signer.sign([NEAR]).claims[0]
    entry = int.from_bytes(claim.content[:4], "big") << 32 | 7
    gate.with_store(lambda store: store.register_content([NewEntry("near", None, claim.content, entry, claim.body)]))
    report = audited(gate, fix=True)
    assert report.found == {}
    assert (report.notes[Note.WAITING], report.notes[Note.UNANSWERED]) == (1, 1)
    assert gate.check_in([NEAR])[0].group == "lighthouse-0"


def test_a_fault_that_is_gone_at_the_second_check_is_none(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    keys, entries, tags = postings_of(gate.method, [record])
    gate.with_store(lambda store: store.void_answers(["bread"]))
    bread = record_of(gate, "bread")
    gate.with_store(lambda store: store.remove_holders([(bread.entry, "bread")]))
    gate.with_store(lambda store: store.remove_postings(keys, entries))

    checked = []

    async def others_work() -> None:
        checked.append(1)
        store = await_store
        await store.append(keys, entries, tags)
        await store.remove_postings(*postings_of(gate.method, [bread])[:2])
        await store.delete_records([bread.entry])

    await_store: ScannableStore = gate.with_store(_itself)
    report = gate.with_store(lambda store: audit(store, gate.method, gate.profile, fix=True, pause=others_work))
    assert (checked, dict(report.found)) == ([1], {})


def test_examples_name_the_document_and_its_content(gate: Gate) -> None:
    [held] = gate.with_store(lambda store: store.documents(["bread"]))
    gate.with_store(lambda store: store.remove_contents([("bread", held[:1])]))
    report = audited(gate)
    [example] = report.examples[Fault.UNHELD]
    assert "document bread" in example
    assert held[0].content.hex() in example


@pytest.mark.slow
def test_beside_working_gates_no_fault_is_reported_and_no_verdict_changes(
    place: tuple[str, str], tmp_path: Path
) -> None:
    profile = profile_of()
    documents = unrelated_documents(45, seed=11)
    documents += [CheckIn(document_id=f"{d.document_id}-copy", text=d.text + " and more") for d in documents]
    answers: list[Verdict] = []

    def work(worker: int, gate: Gate) -> None:
        own, passing = documents[worker::3], unrelated_documents(15, seed=worker)
        for start in range(0, len(own), 5):
            answers.extend(gate.check_in(own[start : start + 5]))
            gate.check_in(passing)
            gate.delete([document.document_id for document in passing])

    with ExitStack() as opened:
        auditor = opened.enter_context(open_gate(*place, tmp_path, profile))
        gates = [auditor] * 3  # threads share the one index in memory; any other index has a gate for each
        if place[0] != "memory":
            gates = [opened.enter_context(open_gate(*place, tmp_path, profile)) for _ in range(3)]
        workers = [Thread(target=work, args=one) for one in enumerate(gates)]
        for worker in workers:
            worker.start()
        found: list[dict[Fault, int]] = []
        while any(worker.is_alive() for worker in workers):
            found.append(audited(auditor, fix=True, pause=lambda: sleep(0.5)).problems)
        for worker in workers:
            worker.join()
        assert len(answers) == len(documents)
        assert all(one == {} for one in found), found
        assert audited(auditor).problems == {}
        again = {verdict.document_id: verdict for verdict in auditor.check_in(documents)}
        assert [again[verdict.document_id] for verdict in answers] == answers


@pytest.mark.parametrize("place", [pytest.param("redis", marks=pytest.mark.redis)], indirect=True)
def test_a_generation_that_begins_meanwhile_starts_the_audit_anew(place: tuple[str, str], tmp_path: Path) -> None:
    profile = profile_of()
    checked: list[str] = []

    def turn() -> None:
        with open_gate(*place, tmp_path, profile) as other:
            store: ScannableStore = other.with_store(_itself)
            assert isinstance(store, RedisStore)
            other.with_store(lambda _: store.rotate(now=1.0))

    def progress(what: str, count: int) -> None:
        checked.append(what)
        if len(checked) == 1:
            elsewhere = Thread(target=turn)  # where no event loop runs yet
            elsewhere.start()
            elsewhere.join()

    with open_gate(*place, tmp_path, profile) as gate:
        gate.check_in(corpus())
        report = gate.with_store(lambda store: audit(store, gate.method, gate.profile, fix=True, progress=progress))
        assert report.problems == {}
        assert report.checked["documents"] == len({document.document_id for document in corpus()})
        assert checked.count("postings") > 0
