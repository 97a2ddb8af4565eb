"""The similarity index, hash families and the length filter at work in the gate, on every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gate import BUILT_IN, CheckIn, Gate, Profile, Verdict
from gate.core.method_parameters import Family, MinHash, SimilarityIndex
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


def test_a_verdict_has_the_number_and_an_index_can_be_built_from_it(opened: Open) -> None:
    gate = opened(HELLOS)
    verdicts = gate.check_in([hello(100)])
    assert verdicts[0].fingerprint == f"{100 * 99162322:016x}"
    assert gate.signer.from_verdicts(verdicts).claims[0].body == (100 * 99162322).to_bytes(8, "little")
