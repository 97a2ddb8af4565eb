"""Signatures that grow with their text, at work in the gate: a part is found by its whole, whichever comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gate import BUILT_IN, CheckIn, Gate, Limits, Profile, Verdict
from gate.core.method_parameters import ModN
from gate.index.memory.store import MemoryStore
from gate.index.scan import ScannableStore
from gate.index.tools import transfer
from gate.index.tools.audit import audit
from gate.index.tools.findings import Fault

NUMBERS = count()
Open = Callable[..., Gate]
WINDOWED = ["mod-n", "min-n", "sketch-n", "bsw-n", "bsw-n-plain", "containment"]


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open a gate on an empty index of the backend of the test."""
    gates: list[Gate] = []

    def open_one(profile: str | Profile = "containment", **more: object) -> Gate:
        own = BUILT_IN[profile] if isinstance(profile, str) else profile
        own = msgspec.structs.replace(own, name=f"windows-{next(NUMBERS)}")
        index: str | Path | None = None
        if request.param == "sqlite":
            index = tmp_path / f"{own.name}.gate"
        elif request.param == "redis":
            index = request.getfixturevalue("shared_redis").url
        gates.append(Gate(own, index=index, **more))  # type: ignore[arg-type]
        return gates[-1]

    yield open_one
    for gate in gates:
        gate.close()


def prose(words: int, seed: int) -> str:
    draw = np.random.default_rng(seed)
    known = ["".join(map(chr, draw.integers(97, 123, size))) for size in draw.integers(2, 10, 500).tolist()]
    return " ".join(known[i] for i in draw.integers(0, 500, words).tolist())


CHAPTERS = [prose(500, seed) for seed in range(1, 11)]
BOOK = "\n\n".join(CHAPTERS)
LONG = prose(2000, 99)


def document(document_id: str, text: str) -> CheckIn:
    return CheckIn(document_id=document_id, text=text)


def summary(verdict: Verdict) -> tuple[str, list[str]]:
    return verdict.relation.value, [match.document_id for match in verdict.matches]


def test_a_chapter_after_its_book_is_contained_in_it(opened: Open) -> None:
    gate = opened()
    gate.check_in([document("book", BOOK), document("other", prose(3000, 77))])
    [verdict] = gate.check_in([document("chapter", CHAPTERS[6])])
    assert summary(verdict) == ("contained", ["book"])
    [match] = verdict.matches
    assert match.containment is not None
    assert match.containment > 0.95
    assert match.resemblance is not None
    assert match.resemblance < 0.2


def test_a_book_after_its_chapters_contains_each_of_them(opened: Open) -> None:
    gate = opened()
    entered = gate.check_in([document(str(n), text) for n, text in enumerate(CHAPTERS)])
    assert {verdict.relation.value for verdict in entered} == {"new"}
    [verdict] = gate.check_in([document("book", BOOK)])
    relation, names = summary(verdict)
    assert relation == "contains"
    assert sorted(names) == [str(n) for n in range(10)]


def test_a_part_and_its_whole_are_found_in_one_batch_too(opened: Open) -> None:
    verdicts = opened().check_in([document("chapter", CHAPTERS[3]), document("book", BOOK)])
    assert [summary(verdict) for verdict in verdicts] == [("new", []), ("contains", ["chapter"])]


def test_a_part_that_was_edited_is_still_a_part(opened: Open) -> None:
    gate = opened()
    gate.check_in([document("book", BOOK)])
    words = CHAPTERS[2].split()
    words[::40] = ["edited"] * len(words[::40])
    [verdict] = gate.check_in([document("chapter", " ".join(words))])
    assert summary(verdict) == ("contained", ["book"])
    assert verdict.matches[0].containment is not None
    assert 0.8 <= verdict.matches[0].containment < 0.95


@pytest.mark.parametrize("name", WINDOWED)
def test_an_edited_copy_is_found_and_a_stranger_is_not(opened: Open, name: str) -> None:
    gate = opened(name)
    words = LONG.split()
    words[250] = "edited"
    documents = [document("a", LONG), document("b", CHAPTERS[1]), document("c", " ".join(words))]
    assert [summary(verdict) for verdict in gate.check_in(documents)] == [("new", []), ("new", []), ("near", ["a"])]
    [again] = gate.check_in([document("c", " ".join(words))])
    assert summary(again) == ("near", ["a"])


@pytest.mark.parametrize("name", WINDOWED)
def test_an_index_is_whole_and_a_delete_leaves_nothing_of_it(opened: Open, name: str) -> None:
    gate = opened(name)
    gate.check_in([document(str(n), text) for n, text in enumerate([*CHAPTERS[:3], BOOK])])
    report = gate.with_store(lambda store: audit(store, gate.method, gate.profile))
    assert report.checked["postings"] == gate.info()["postings"] > 0
    assert not report.found
    gate.delete([str(n) for n in range(4)])
    assert gate.info()["postings"] == 0


def test_the_verdict_of_a_document_with_more_fingerprints_than_are_stored_says_so(opened: Open) -> None:
    few = msgspec.structs.replace(BUILT_IN["containment"], method=ModN(sample=25, max_prints=64, max_keys=64))
    gate = opened(few)
    verdicts = gate.check_in([document("book", BOOK), document("chapter", CHAPTERS[5][:700])])
    assert [tuple(verdict.degraded) for verdict in verdicts] == [("features_capped",), ()]
    narrow = opened(limits=Limits(max_features=1000))
    [verdict] = narrow.check_in([document("book", BOOK)])
    assert verdict.degraded == ("features_capped",)


def test_the_keys_of_a_document_are_no_more_than_the_profile_says(opened: Open) -> None:
    gate = opened(msgspec.structs.replace(BUILT_IN["containment"], method=ModN(sample=25, max_keys=40)))
    gate.check_in([document("book", BOOK)])
    assert gate.info()["postings"] == 40
    [verdict] = gate.check_in([document("half", "\n\n".join(CHAPTERS[:5]))])
    assert summary(verdict) == ("contained", ["book"])


def test_who_shares_most_is_compared_first_where_not_all_can_be(opened: Open) -> None:
    template = prose(300, 55)
    gate = opened(limits=Limits(max_candidates=1))  # eight, where parts are looked for
    gate.check_in([document(str(n), f"{template} {text}") for n, text in enumerate(CHAPTERS)])
    [verdict] = gate.check_in([document("copy", f"{template} {CHAPTERS[8]} and some words more")])
    assert summary(verdict) == ("near", ["8"])
    assert verdict.degraded == ("candidates_capped",)
    assert 1 < verdict.candidates <= 8 < len(CHAPTERS)


def test_another_threshold_is_one_of_containment_too(opened: Open) -> None:
    gate = opened()
    gate.check_in([document("book", BOOK)])
    half = f"{CHAPTERS[4]} {prose(500, 66)}"  # half of it is in the book
    loose, strict = gate.find_similar(text=half, threshold=0.4), gate.find_similar(text=half, threshold=0.6)
    assert [match.document_id for match in loose] == ["book"]
    assert strict == []


def test_a_text_without_a_fingerprint_that_n_divides_is_too_short_and_not_empty() -> None:
    [compared, empty] = Gate("mod-n").compare([("a few words", "a few others"), ("", "a few words")])
    assert (compared.alike, compared.relation.value) == (False, "too_short")
    assert empty.relation.value == "empty"


def test_an_index_is_carried_elsewhere_with_signatures_of_every_length(opened: Open) -> None:
    profile = msgspec.structs.replace(BUILT_IN["containment"], name="carried")
    here, there = opened(profile), Gate(profile)
    here.check_in([document("book", BOOK), document("other", CHAPTERS[0][:900].upper()[::-1])])

    async def written(store: ScannableStore) -> bytes:
        lines = transfer.export(store, profile_ref="carried@1", digest=profile.digest())
        return b"".join([line + b"\n" async for batch in lines for line in batch])

    content = here.with_store(written)
    there.with_store(lambda store: transfer.restore(store, BytesIO(content), "it", method=there.method))
    [verdict] = there.check_in([document("chapter", CHAPTERS[6])])
    assert summary(verdict) == ("contained", ["book"])


def test_a_signature_that_lost_its_end_is_found_and_taken_out() -> None:
    gate = Gate("containment")
    gate.check_in([document("book", BOOK), document("other", prose(900, 31))])
    store = gate._store
    assert isinstance(store, MemoryStore)
    entry, record = next((e, r) for e, r in store._records.items() if r.owner.document_id == "book")
    store._records[entry] = record._replace(body=record.body[:-8])
    report = gate.with_store(lambda store: audit(store, gate.method, gate.profile, fix=True))
    assert report.repaired[Fault.BROKEN] == report.found[Fault.BROKEN] == 1
    assert not gate.with_store(lambda store: audit(store, gate.method, gate.profile)).problems
