"""Why a verdict is what it is, in sentences."""

from __future__ import annotations

import msgspec
import pytest

from gate.core import explanation
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import UNREADABLE_REASONS
from gate.model import Degraded, Match, Relation, Verdict


def verdict(
    relation: Relation, *matches: Match, candidates: int = 0, group: str = "a", capped: bool = False
) -> Verdict:
    return Verdict(
        document_id="a",
        version=None,
        similar=bool(matches),
        relation=relation,
        group=group,
        content_id="00",
        fingerprint=None,
        profile="standard@1",
        verdict_id="v",
        features=None,
        candidates=candidates,
        matches=matches,
        degraded=(Degraded.MATCHES_CAPPED,) if capped else (),
    )


NEAR = Match(document_id="b", version="2", relation=Relation.NEAR, distance=5, resemblance=0.8675, containment=0.93)


def reasons(one: Verdict) -> str:
    return " ".join(explanation.reasons(one, BUILT_IN["standard"]))


def test_a_reason_names_all_measures_of_the_best_match() -> None:
    report = reasons(verdict(Relation.NEAR, NEAR, candidates=3, group="b"))
    assert "It is near: a document much like it was known." in report
    assert (
        "The best match is b (version 2): this document resembles it to 86.7 %, has 93.0 % of its features in it and "
        "differs from its fingerprint in 5 of 64 bits."
    ) in report
    assert "It was compared with 3 candidates from the index; 1 was alike." in report
    assert "The first document of its family" not in report


def test_a_file_without_text_says_why_and_that_its_bytes_were_compared() -> None:
    locked = msgspec.structs.replace(verdict(Relation.UNREADABLE), unreadable_reason="encrypted")
    assert "no text could be read from it" in reasons(locked)
    assert "It was compared by its bytes, as it gave no text: it has a password." in reasons(locked)
    same = msgspec.structs.replace(NEAR, relation=Relation.EXACT, distance=None, resemblance=None, containment=None)
    copy = msgspec.structs.replace(verdict(Relation.EXACT, same), unreadable_reason="binary")
    assert "It is exact: a file with the same bytes was known." in reasons(copy)
    assert "The best match is b (version 2)." in reasons(copy)
    assert explanation.UNREADABLE.keys() == set(UNREADABLE_REASONS)


def test_a_similarity_index_is_not_called_a_resemblance() -> None:
    match = Match(
        document_id="b", version=None, relation=Relation.NEAR, distance=None, resemblance=0.75, containment=None
    )
    profile = BUILT_IN["roth-2011"]
    one = msgspec.structs.replace(verdict(Relation.NEAR, match), profile=profile.ref)
    report = " ".join(explanation.reasons(one, profile))
    assert "has a similarity index near its own (the smaller is 75.0 % of the larger)." in report
    assert "which asks for a quotient of similarity indexes of at least 70.0 %." in report
    assert "resembl" not in report


def test_the_original_is_named_where_it_is_not_the_best_match() -> None:
    assert "The first document of its family is c." in reasons(verdict(Relation.NEAR, NEAR, candidates=3, group="c"))


def test_capped_matches_are_reported() -> None:
    report = reasons(verdict(Relation.NEAR, NEAR, candidates=3, group="b", capped=True))
    assert "1 or more were alike" in report
    assert "It may know less than it should: there are more matches than are named (limits.max_matches)." in report


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (verdict(Relation.NEW), "No document in the index was near enough to be compared with it."),
        (
            verdict(Relation.NEW, candidates=1),
            "It was compared with 1 candidate from the index; none was alike enough.",
        ),
        (verdict(Relation.TOO_SHORT), "which asks for at least 8 features."),
        (verdict(Relation.EMPTY), "It is empty: it has no text, so there is nothing to compare."),
        (verdict(Relation.REVISION), "It is a revision: another version of the same document was known"),
        (verdict(Relation.EXACT, NEAR), "Its content itself was known, so nothing else had to be compared."),
    ],
)
def test_every_relation_has_its_reason(one: Verdict, sentence: str) -> None:
    assert sentence in reasons(one)


def test_every_relation_and_every_limit_has_words() -> None:
    assert set(explanation.MEANINGS) == set(Relation)
    assert set(explanation.LIMITS_HIT) == set(Degraded)
