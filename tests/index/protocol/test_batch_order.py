"""Documents of one batch are compared with each other: the answers are those of documents checked in one by one."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate import CheckIn, Gate, Verdict
from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import Profile
from tests.index.claim_harness import ClaimHarness, NamedAnswer

LETTERS = "abcdef"
PAIRS = ["".join(pair) for pair in combinations(LETTERS, 2)]


def checked_in(batches: Sequence[Sequence[tuple[str, str]]], alike: Sequence[str], **profile: Any) -> list[NamedAnswer]:
    """The answers to documents that come in these batches, without how many candidates each had."""
    with tempfile.TemporaryDirectory() as folder:
        harness = ClaimHarness("memory", Path(folder) / "harness", alike, **profile)
        answers = [one for batch in batches for one in harness.check_in_batch(*batch)]
    return [replace(one, candidates=0) for one in answers]


def test_copies_within_a_batch_are_found_and_nothing_of_them_is_stored(tmp_path: Path) -> None:
    harness = ClaimHarness("memory", tmp_path / "harness", ["ab", "ac", "bc"])
    answers = harness.check_in_batch(("A", "a"), ("B", "b"), ("C", "c"), ("D", "a"), ("E", "e"))
    assert [one.relation for one in answers] == ["new", "near", "near", "exact", "new"]
    assert [one.matches for one in answers] == [(), ("A",), ("A",), ("A",), ()]
    assert harness.counts() == (5, 4, 4)


def test_a_document_that_is_in_a_batch_twice_gets_the_same_answer_twice(tmp_path: Path) -> None:
    harness = ClaimHarness("memory", tmp_path / "harness", ["ab"])
    answers = harness.check_in_batch(("A", "a"), ("B", "b"), ("B", "b"), ("A", "a"))
    assert answers[:2] == answers[:1:-1]


def test_versions_in_one_batch_follow_each_other(tmp_path: Path) -> None:
    harness = ClaimHarness("memory", tmp_path / "harness", ["ab", "bc", "ac"])
    answers = harness.check_in_batch(("D", "a"), ("D", "b"), ("E", "c"), ("D", "c"))
    assert [one.relation for one in answers] == ["new", "revision", "near", "revision"]
    assert answers[2].matches == ("D", "D")


def test_an_empty_batch_has_no_answers(tmp_path: Path) -> None:
    assert ClaimHarness("memory", tmp_path / "harness").check_in_batch() == []


batch = st.lists(st.tuples(st.sampled_from("VWXYZ"), st.sampled_from([*LETTERS, "short", ""])), max_size=10)


@pytest.mark.slow
@given(
    before=batch,
    documents=batch,
    alike=st.lists(st.sampled_from(PAIRS), unique=True),
    index=st.sampled_from(["originals", "all"]),
)
@example(  # X comes before Y, but has to wait for W: of the two that Z is alike to, it is the first all the same
    before=[], documents=list(zip("VWXYZ", "abcde", strict=True)), alike=["ab", "bc", "ce", "de"],
    index="originals",
)  # fmt: skip
@example(  # the second version of V waits, and W behind it: of the two that X is alike to, V is the first
    before=[("V", "d"), ("V", "b"), ("W", "c")], documents=[("X", "a")], alike=["ab", "ac"], index="originals",
)  # fmt: skip
@example(  # W brings what V brought just before it and was refused with, and is compared with V's other document too
    before=[], documents=list(zip("VXVW", "acee", strict=True)), alike=["ab", "ae", "ce"], index="originals",
)  # fmt: skip
@example(  # X takes over what V was refused with for its sake, so W is an exact copy of it
    before=[], documents=list(zip("XVXW", "fccc", strict=True)), alike=["cf"], index="originals",
)  # fmt: skip
@example(  # W does not overtake V's second version: X is alike to both
    before=list(zip("VVW", "dbc", strict=True)), documents=[("X", "a")], alike=["ab", "ac"], index="originals",
)  # fmt: skip
def test_a_batch_gets_the_answers_of_its_documents_one_by_one(
    before: list[tuple[str, str]], documents: list[tuple[str, str]], alike: list[str], index: str
) -> None:
    one_by_one = checked_in([[one] for one in before + documents], alike, index=index)
    assert checked_in([before + documents], alike, index=index) == one_by_one
    assert checked_in([before, documents], alike, index=index) == one_by_one


def family(seed: int, members: int) -> list[str]:
    """A text, and others that come of it and of each other by a few changes."""
    chance = random.Random(seed)
    texts = [[f"w{chance.randrange(3000)}" for _ in range(60)]]
    for _ in range(members - 1):
        words = list(chance.choice(texts))
        for _ in range(chance.choice([0, 1, 2, 5])):
            words[chance.randrange(len(words))] = f"w{chance.randrange(3000)}"
        texts.append(words)
    return [" ".join(words) for words in texts]


def verdicts(profile: Profile, batches: Sequence[Sequence[CheckIn]]) -> list[Verdict]:
    with Gate(profile) as gate:
        return [msgspec.structs.replace(one, candidates=0) for batch in batches for one in gate.check_in(batch)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standard", "simhash", "minhash"])
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
    index=st.sampled_from(["originals", "all"]),
)
def test_batches_of_families_are_judged_as_one_by_one_by_the_real_methods(
    name: str, sizes: list[int], seed: int, index: str
) -> None:
    profile = msgspec.structs.replace(BUILT_IN[name], name="other", index=index)
    texts = [text for n, size in enumerate(sizes) for text in family(seed + n, size)]
    random.Random(seed).shuffle(texts)
    documents = [CheckIn(document_id=f"d{n}", text=text) for n, text in enumerate(texts)]
    middle = len(documents) // 2
    one_by_one = verdicts(profile, [[document] for document in documents])
    assert verdicts(profile, [documents]) == one_by_one
    assert verdicts(profile, [documents[:middle], documents[middle:]]) == one_by_one
