"""The similarity index, hash families and the length filter at work in the gate, on every store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from gate import BUILT_IN, CheckIn, Gate, Profile, Verdict
from gate.core.method_parameters import Family, Hybrid, LengthFilter, MinHash, SimilarityIndex
from gate.errors import ConfigError
from gate.index.scan import ScannableStore
from gate.index.tools.audit import audit

NUMBERS = count()
Open = Callable[[Profile], Gate]
# The sum of all words: of a text that says hello n times it is n times 99,162,322.
HELLOS = Profile(name="hellos", method=SimilarityIndex(si_method=1), gram=1, min_features=1, resemblance=0.7)


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open a gate on an empty index of the backend of the test."""
    gates: list[Gate] = []

    def open_one(profile: Profile) -> Gate:
        own = msgspec.structs.replace(profile, name=f"papers-{next(NUMBERS)}")
        index: Any = None
        if request.param == "sqlite":
            index = tmp_path / f"{own.name}.gate"
        elif request.param == "redis":
            index = request.getfixturevalue("shared_redis").url
        gates.append(Gate(own, index=index))
        return gates[-1]

    yield open_one
    for gate in gates:
        gate.close()


def hello(times: int) -> CheckIn:
    return CheckIn(document_id=str(times), text="hello " * times)


def summary(verdict: Verdict) -> tuple[str, dict[str, float | None]]:
    return verdict.relation.value, {match.document_id: match.resemblance for match in verdict.matches}


def prose(words: int, seed: int) -> str:
    draw = np.random.default_rng(seed)
    known = ["".join(map(chr, draw.integers(97, 123, size))) for size in draw.integers(2, 10, 500).tolist()]
    return " ".join(known[i] for i in draw.integers(0, 500, words).tolist())


TEXT = prose(600, 1)
WORDS = TEXT.split()
EDITED = " ".join([*WORDS[:300], "edited", *WORDS[301:]])


@pytest.mark.parametrize("first", [100, 72, 138])
@pytest.mark.parametrize("second", [100, 72, 138])
def test_a_number_in_range_is_found_whichever_of_the_two_comes_first(opened: Open, first: int, second: int) -> None:
    gate = opened(HELLOS)
    gate.check_in([hello(first), hello(1000), CheckIn(document_id="minus", text="lighthouse " * 50)])
    [verdict] = gate.check_in([CheckIn(document_id="second", text=hello(second).text)])
    ratio = min(first, second) / max(first, second)
    expected = {} if ratio < 0.7 else {str(first): round(ratio, 4)}
    assert summary(verdict)[1] == expected
    assert verdict.similar == bool(expected)


def test_numbers_in_range_are_found_within_a_batch_too(opened: Open) -> None:
    verdicts = opened(HELLOS).check_in([hello(100), hello(60), hello(71), hello(200)])
    assert [summary(verdict) for verdict in verdicts] == [
        ("new", {}),
        ("new", {}),
        ("near", {"60": 0.8451, "100": 0.71}),
        ("new", {}),
    ]


@pytest.mark.parametrize("name", ["roth-2011", "bergillos-2018", "azgomi-2014"])
def test_a_copy_passes_again_when_the_first_was_deleted_and_nothing_is_left_of_it(opened: Open, name: str) -> None:
    gate = opened(BUILT_IN[name])
    copy = CheckIn(document_id="copy", text=TEXT + " !")  # another content, but the same words
    [first] = gate.check_in([CheckIn(document_id="first", text=TEXT)])
    [second] = gate.preview([copy])
    assert (first.similar, second.similar) == (False, True)
    report = gate.with_store(lambda store: audit(store, gate.method, gate.profile))
    assert report.checked["postings"] == gate.info()["postings"] > 0
    assert not report.found
    gate.delete(["first"])
    assert gate.info()["postings"] == 0
    assert not gate.check_in([copy])[0].similar


@pytest.mark.parametrize("family", ["modular", "multiplicative", "murmur3"])
def test_an_edited_copy_is_found_by_every_family_and_a_stranger_is_not(opened: Open, family: Family) -> None:
    gate = opened(msgspec.structs.replace(BUILT_IN["bergillos-2018"], method=MinHash(family=family, bands=17, rows=5)))
    documents = [("a", TEXT), ("b", prose(600, 2)), ("c", EDITED)]
    verdicts = gate.check_in([CheckIn(document_id=name, text=text) for name, text in documents])
    assert [list(summary(verdict)[1]) for verdict in verdicts] == [[], [], ["a"]]


def test_no_match_has_a_resemblance_that_the_sizes_rule_out(opened: Open) -> None:
    """An estimate may be .9 where the sets, by their sizes alone, cannot be."""
    gate = opened(msgspec.structs.replace(BUILT_IN["azgomi-2014"], resemblance=0.5, index="all"))
    texts = [TEXT, *(" ".join(WORDS[:n]) for n in range(480, 600, 8))]
    sizes = [len({text[i : i + 5] for i in range(len(text) - 4)}) for text in texts]
    verdicts = gate.check_in([CheckIn(document_id=str(n), text=text) for n, text in enumerate(texts)])
    pairs = [(sizes[int(v.document_id)], sizes[int(m.document_id)], m.resemblance) for v in verdicts for m in v.matches]
    bounds = [(resemblance, round(min(one, other) / max(one, other), 4)) for one, other, resemblance in pairs]
    assert all(resemblance is not None and resemblance <= most for resemblance, most in bounds)
    assert any(resemblance == most for resemblance, most in bounds)  # what the bins alone say would be more


# Pairs of letters in bands of one value: every document is in some bucket with every other.
CROWDED = Profile(
    name="crowded", tokenizer="characters", gram=2, method=MinHash(bands=32, rows=1), resemblance=0.8, index="all"
)
PREFIXES = [CheckIn(document_id=str(n), text=" ".join(WORDS[:n])) for n in (20, 25, 30, 40, 60, 100, 200, 550)]


def filtered(length_filter: LengthFilter, *, multisets: bool = False) -> Profile:
    method = MinHash(bands=32, rows=1, length_filter=length_filter, multisets=multisets)
    return msgspec.structs.replace(CROWDED, method=method)


def lengths_of(text: str) -> dict[LengthFilter, int]:
    counts = Counter(text[i : i + 2] for i in range(len(text) - 1))
    places = sum(place * count for place, count in enumerate(counts.values(), 1))
    return {"set": len(counts), "repetition": counts.total(), "weighted": places}


@pytest.mark.parametrize(
    ("length_filter", "multisets"),
    [("set", False), ("repetition", False), ("repetition", True), ("weighted", False), ("weighted", True)],
)
def test_documents_that_their_lengths_rule_out_are_neither_fetched_nor_compared(
    opened: Open, length_filter: LengthFilter, multisets: bool
) -> None:
    plain, gate = opened(filtered("none", multisets=multisets)), opened(filtered(length_filter, multisets=multisets))
    last = CheckIn(document_id="last", text=" ".join([*WORDS[:580], "other"]))
    verdicts, fetched = {}, set()
    for one in (plain, gate):
        one.check_in(PREFIXES)
        with one.with_store(spied) as entries:
            [verdicts[one]] = one.check_in([last])
        fetched = entries
    own = lengths_of(last.text)[length_filter]
    lengths = {document.document_id: lengths_of(document.text)[length_filter] for document in PREFIXES}
    near = {name for name, length in lengths.items() if min(length, own) / max(length, own) >= 0.8}
    assert verdicts[plain].candidates == len(PREFIXES)
    assert verdicts[plain].ruled_out == 0
    assert 0 < verdicts[gate].candidates == len(near) < len(PREFIXES)
    assert verdicts[gate].ruled_out == len(PREFIXES) - len(near)
    assert fetched <= gate.with_store(lambda store: entries_of(store, {*near, "last"}))
    assert summary(verdicts[gate])[1] == {n: r for n, r in summary(verdicts[plain])[1].items() if n in near}
    assert gate.explain(["last"])[0][0].ruled_out == verdicts[gate].ruled_out  # kept with the answer
    report = gate.with_store(lambda store: audit(store, gate.method, gate.profile))
    assert not report.found


def test_the_lengths_of_documents_of_one_batch_rule_them_out_too() -> None:
    """Equal sets of pairs of letters, but one text has them all twice."""
    twice = CheckIn(document_id="twice", text=f"{TEXT} {TEXT}")
    once = CheckIn(document_id="once", text=TEXT)
    for length_filter, similar in (("none", True), ("set", True), ("repetition", False), ("weighted", False)):
        gate = Gate(filtered(cast("LengthFilter", length_filter)))
        assert gate.check_in([once, twice])[1].similar == similar
        assert gate.compare([(once.text, twice.text)])[0].alike == similar


def test_a_look_up_at_a_lower_threshold_finds_what_the_filter_rules_out_at_a_higher_one(opened: Open) -> None:
    gate = opened(filtered("repetition"))
    gate.check_in([CheckIn(document_id="once", text=TEXT)])
    assert gate.find_similar(text=f"{TEXT} {TEXT}") == []
    [match] = gate.find_similar(text=f"{TEXT} {TEXT}", threshold=0.45)
    assert match.document_id == "once"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"resemblance": None, "containment": 0.8}, "profile.resemblance: a length filter"),
        ({"containment": 0.8}, "profile.containment: a part is shorter"),
        ({"method": MinHash(length_filter="set", multisets=True)}, "profile.length_filter: set counts each"),
        ({"method": Hybrid(length_filter="set")}, "profile.length_filter: the keys of a fingerprint"),
    ],
)
def test_a_length_filter_that_cannot_work_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Gate(msgspec.structs.replace(filtered("set"), **fields))


async def spied(store: ScannableStore) -> Spied:
    return Spied(store)


class Spied:
    """The entries whose records a store is asked for."""

    def __init__(self, store: ScannableStore) -> None:
        self._store, self._asked = store, store.records
        self._entries: set[int] = set()

    def __enter__(self) -> set[int]:
        def records(entries: Sequence[int]) -> Any:
            self._entries.update(entries)
            return self._asked(entries)

        self._store.records = records  # type: ignore[method-assign]
        return self._entries

    def __exit__(self, *error: object) -> None:
        self._store.records = self._asked  # type: ignore[method-assign]


async def entries_of(store: ScannableStore, document_ids: set[str]) -> set[int]:
    contents = [held.content for some in await store.documents(sorted(document_ids)) for held in some]
    return {entry for entry in await store.contents(contents) if entry}


def test_a_verdict_has_the_number_and_an_index_can_be_built_from_it(opened: Open) -> None:
    gate = opened(HELLOS)
    verdicts = gate.check_in([hello(100)])
    assert verdicts[0].fingerprint == f"{100 * 99162322:016x}"
    assert gate.signer.from_verdicts(verdicts).claims[0].body == (100 * 99162322).to_bytes(8, "little")
