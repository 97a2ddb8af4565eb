"""An index can be carried from any store to any other, and answers there as it did before."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gate.api import Gate
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.demo import BREAD, LIGHTHOUSE
from gate.errors import ConfigError
from gate.index.scan import ScannableStore
from gate.index.tools import transfer
from gate.index.tools.audit import audit
from gate.index.tools.transfer import Carried
from gate.model import CheckIn, Relation
from tests.index.corrupted_index import KINDS, corpus, open_gate, profile_of, record_of, server_url, unrelated_documents

DIGEST = "d" * 16


def exported(gate: Gate) -> bytes:
    async def written(store: ScannableStore) -> bytes:
        lines = transfer.export(store, profile_ref=gate.profile.ref, digest=gate.profile.digest())
        return b"".join([line + b"\n" async for batch in lines for line in batch])

    return gate.with_store(written)


def imported(gate: Gate, content: bytes) -> Carried:
    digest = gate.profile.digest()
    inspected = transfer.inspect(io.BytesIO(content), "it", method=gate.method, digest=digest)
    carried = gate.with_store(lambda store: transfer.restore(store, io.BytesIO(content), "it", method=gate.method))
    assert carried == inspected
    return carried


@pytest.mark.parametrize(("keep", "title"), [(True, "The Lighthouse"), (False, None)])
def test_details_are_imported_unless_they_are_not_to_be_kept(tmp_path: Path, keep: bool, title: str | None) -> None:
    with open_gate("memory", "", tmp_path, profile_of()) as gate:
        gate.check_in([CheckIn(document_id="a", text=LIGHTHOUSE, title="The Lighthouse", uri="/a.txt")])
        content = exported(gate)
    with open_gate("memory", "", tmp_path, profile_of()) as gate:
        for _ in range(2):  # an import may be repeated
            gate.with_store(
                lambda store: transfer.restore(store, io.BytesIO(content), "it", method=gate.method, keep_details=keep)
            )
        assert gate.explain(["a"])[0][0].title == title
        assert (gate.info()["bytes_details"] > 0) == keep


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def joined(some: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in some)


@pytest.mark.redis
def test_from_store_to_store_nothing_changes_and_every_verdict_is_the_same(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    profile = profile_of()
    with open_gate("memory", "", tmp_path, profile) as gate:
        verdicts = gate.check_in(corpus())
        first = content = exported(gate)
    for kind in ("sqlite", "redis", "cluster", "memory"):
        with open_gate(kind, server_url(request, kind), tmp_path, profile) as gate:
            imported(gate, content)
            content = exported(gate)
            assert sorted(content.splitlines()) == sorted(first.splitlines())
            assert content.splitlines()[0] == first.splitlines()[0]
            assert content.splitlines()[-1] == first.splitlines()[-1]
            assert gate.with_store(lambda store: audit(store, gate.method, gate.profile)).found == {}
            near = CheckIn(document_id="near", text=LIGHTHOUSE.replace("two goats", "two white goats"))
            assert gate.preview([near])[0].group == "lighthouse-0"
            assert gate.check_in(corpus()) == verdicts


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Profile], Gate]:
    url = server_url(request, request.param)
    return lambda profile: open_gate(request.param, url, tmp_path, profile)


def source(profile: Profile, tmp_path: Path) -> bytes:
    with open_gate("memory", "", tmp_path, profile) as gate:
        gate.check_in(corpus())
        return exported(gate)


def test_an_index_is_carried_to_a_version_of_the_profile_with_another_threshold(
    target: Callable[[Profile], Gate], tmp_path: Path
) -> None:
    profile = profile_of()
    with target(structs.replace(profile, version=2, resemblance=0.8)) as gate:
        imported(gate, source(profile, tmp_path))
        [known] = gate.check_in([CheckIn(document_id="another", text=corpus()[0].text)])
        assert known.relation is Relation.EXACT


def test_the_next_ticket_is_above_all_that_came(target: Callable[[Profile], Gate], tmp_path: Path) -> None:
    profile = profile_of()
    changed = lines(source(profile, tmp_path))
    for line in changed:
        if line.get("ticket"):
            line["ticket"] += 2**51  # as an index in Redis may have, and far beyond what this one has drawn
    with target(profile) as gate:
        imported(gate, joined(changed))
        highest = max(line.get("ticket", 0) for line in changed)
        assert gate.with_store(lambda store: store.draw(1)) > highest
        gate.check_in(unrelated_documents(1, seed=99))
        assert record_of(gate, "s99-0").ticket > highest


def test_an_import_that_was_cut_off_is_carried_to_its_end(target: Callable[[Profile], Gate], tmp_path: Path) -> None:
    profile = profile_of()
    content = source(profile, tmp_path)
    with target(profile) as gate:
        half = lines(content)[:-9]
        with_end = [*half, {"type": "end", "documents": 0, "entries": 0}]
        gate.with_store(lambda store: transfer.restore(store, io.BytesIO(joined(with_end)), "half", method=gate.method))
        imported(gate, content)
        assert sorted(exported(gate).splitlines()) == sorted(content.splitlines())
        assert gate.with_store(lambda store: audit(store, gate.method, gate.profile)).found == {}


def test_an_index_that_holds_something_else_is_not_written_over(
    target: Callable[[Profile], Gate], tmp_path: Path
) -> None:
    profile = profile_of()
    content = source(profile, tmp_path)
    with target(profile) as gate:
        assert gate.with_store(transfer.is_empty)
        gate.check_in([CheckIn(document_id="other", text=BREAD)])
        assert not gate.with_store(transfer.is_empty)
        before = record_of(gate, "other")
        with pytest.raises(ConfigError, match="import into an empty index"):
            imported(gate, content)
        assert record_of(gate, "other") == before


def test_a_deletion_that_stopped_half_way_is_not_carried_along(tmp_path: Path) -> None:
    profile = profile_of()
    with open_gate("memory", "", tmp_path, profile) as gate:
        gate.check_in(corpus())
        record = record_of(gate, "lighthouse-0")
        gate.with_store(lambda store: store.void_answers(["lighthouse-0"]))
        gate.with_store(lambda store: store.remove_holders([(record.entry, "lighthouse-0")]))
        content = exported(gate)
    with open_gate("sqlite", "", tmp_path, profile) as gate:
        imported(gate, content)
        assert gate.with_store(lambda store: store.records([record.entry])) == [None]
        assert gate.with_store(lambda store: audit(store, gate.method, gate.profile)).found == {}
        assert gate.check_in(corpus()[:1])[0].relation is Relation.NEW


def test_crowded_buckets_keep_their_oldest_first(tmp_path: Path) -> None:
    profile = profile_of(index="all")
    copies = [CheckIn(document_id=f"copy-{n}", text=f"{LIGHTHOUSE} {n}") for n in range(9)]
    with open_gate("memory", "", tmp_path, profile) as gate:
        gate.check_in(copies)
        content = exported(gate).splitlines()
        before = all_postings(gate)
    shuffled = [content[0], *reversed(content[1:-1]), content[-1]]
    with open_gate("memory", "", tmp_path, profile) as gate:
        imported(gate, b"\n".join(shuffled))
        assert all_postings(gate) == before


def all_postings(gate: Gate) -> tuple[list[int], list[int]]:
    async def walked(store: ScannableStore) -> tuple[list[int], list[int]]:
        keys: list[int] = []
        entries: list[int] = []
        async for batch in store.scan().postings():
            keys += batch[0].tolist()
            entries += batch[1].tolist()
        return keys, entries

    return gate.with_store(walked)


# Files that cannot be used.

METHOD = method_of(profile_of())
HEADER = {"format": "gate-index", "version": 1, "profile": "p@1", "digest": DIGEST}
ENTRY = {
    "type": "entry",
    "entry": "0" * 15 + "1",
    "content": "0" * 32,
    "holders": [["a", None]],
    "body": "",
    "ticket": 1,
    "duplicate_of": None,
}
HELD = {"content": "0" * 32, "version": None, "answer": None, "stamp": "0" * 16}
DOCUMENT = {"type": "document", "document_id": "a", "held": [HELD]}
END = {"type": "end", "documents": 1, "entries": 1}


def inspected(*some: dict[str, Any]) -> Carried:
    return transfer.inspect(io.BytesIO(joined(list(some))), "x.jsonl", method=METHOD, digest=DIGEST)


def test_a_file_that_is_whole_is_counted() -> None:
    assert inspected(HEADER, DOCUMENT, ENTRY, END) == Carried(documents=1, entries=1)


@pytest.mark.parametrize(
    ("some", "said"),
    [
        ((), "x.jsonl: is no export of an index"),
        (({"document_id": "a", "text": "..."},), "x.jsonl: is no export of an index"),
        (({**HEADER, "version": 2},), "reads gate-index 1"),
        (({**HEADER, "digest": "e" * 16}, END), "under the same profile and secret"),
        ((HEADER, DOCUMENT, ENTRY), "is cut off after 1 entries"),
        ((HEADER, DOCUMENT, END), "is cut off after 0 entries"),
        ((HEADER, ENTRY, DOCUMENT, END, DOCUMENT), "x.jsonl:5: goes on after its end"),
        ((HEADER, {**ENTRY, "entry": "1"}, END), "x.jsonl:2: is no line of an export"),
        ((HEADER, {**ENTRY, "entry": "1" * 16}, END), "x.jsonl:2: is no entry of this profile"),
        ((HEADER, {**ENTRY, "body": "AAAA"}, END), "x.jsonl:2: is no entry of this profile"),
        ((HEADER, {**ENTRY, "ticket": -1}, END), "x.jsonl:2: is no line of an export"),
        ((HEADER, {**ENTRY, "duplicate_of": "0" * 16}, END), "an original and a copy at once"),
        ((HEADER, {**ENTRY, "holders": []}, END), "x.jsonl:2: is no line of an export"),
        ((HEADER, {"type": "surprise"}, END), "x.jsonl:2: is no line of an export"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(some: tuple[dict[str, Any], ...], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        inspected(*some)
    assert said in str(caught.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    for content in (b"\xff\xfe\n", joined([HEADER]) + b"\xff\n", joined([HEADER]) + b'{"type": "ent'):
        with pytest.raises(ConfigError):
            transfer.inspect(io.BytesIO(content), "x", method=METHOD, digest=DIGEST)
