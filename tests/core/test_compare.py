"""Two texts side by side: the measures, the relation, and what both share."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.compare import Comparison, compare, compare_signatures
from gate.core.method_parameters import Hybrid
from gate.core.method_registry import method_of
from gate.core.text import normalise
from gate.demo import BREAD, LIGHTHOUSE
from gate.model import Relation
from tests.core.samples import any_texts

WORDS = [f"word{i * 7919 % 10_007}" for i in range(200)]
TEXT = " ".join(WORDS)
EDITED = " ".join([*WORDS[:100], "changed", *WORDS[101:]])
PART = " ".join(WORDS[:60])


def compared(left: str, right: str, profile: str = "standard", **options: Any) -> Comparison:
    settings: dict[str, Any] = {"secret": b"", "max_features": 1_000_000, "show_passages": True} | options
    [comparison] = compare([(left, right)], BUILT_IN[profile], **settings)
    return comparison


def test_an_edited_copy_is_near_and_a_stranger_is_new() -> None:
    near, other = compared(TEXT, EDITED), compared(TEXT, " ".join(reversed(WORDS)))
    assert (near.alike, near.relation) == (True, Relation.NEAR)
    assert (other.alike, other.relation) == (False, Relation.NEW)
    assert near.resemblance is not None
    assert other.resemblance is not None
    assert near.resemblance > 0.8 > 0.3 > other.resemblance


def test_texts_that_differ_in_form_only_are_exact() -> None:
    comparison = compared(TEXT, TEXT.upper() + " ")
    assert (comparison.alike, comparison.relation, comparison.distance) == (True, Relation.EXACT, 0)


def test_a_part_is_in_its_whole_and_the_whole_is_not_in_its_part() -> None:
    of_part, of_whole = compared(PART, TEXT).containment
    assert of_part is not None
    assert of_whole is not None
    assert of_part > 0.8 > 0.5 > of_whole


def test_texts_too_short_for_the_gate_are_measured_and_called_alike_only_if_equal() -> None:
    short, equal = compared("one two three four", "one two three five"), compared("one two three", "one two three")
    assert (short.alike, short.relation) == (False, Relation.TOO_SHORT)
    assert short.resemblance is not None
    assert (equal.alike, equal.relation) == (True, Relation.EXACT)
    assert compared("", TEXT).relation is Relation.EMPTY


def test_of_a_text_with_too_many_features_the_beginning_is_signed_and_the_whole_compared() -> None:
    other_end = " ".join([*WORDS[:100], *reversed(WORDS[100:])])
    both = compared(TEXT, other_end, max_features=90)
    assert both.estimated_resemblance == 1.0
    assert both.resemblance == pytest.approx(98 / 298, abs=1e-4)


@pytest.mark.parametrize(("profile", "has"), [("standard", True), ("simhash", True), ("minhash", False)])
def test_fingerprints_are_shown_where_the_method_has_them(profile: str, has: bool) -> None:
    left, right = compared(TEXT, EDITED, profile).fingerprints
    assert (left is not None, right is not None) == (has, has)


def test_passages_are_left_out_on_request() -> None:
    assert compared(TEXT, EDITED, show_passages=False).passages == ((), ())
    assert "".join(passage.text for passage in compared(TEXT, EDITED).passages[1]) == EDITED


@pytest.mark.slow
@given(any_texts, any_texts)
def test_a_comparison_from_the_other_side_has_the_same_measures(left: str, right: str) -> None:
    forth, back = compared(left, right), compared(right, left)
    assert (forth.distance, forth.resemblance) == (back.distance, back.resemblance)
    assert forth.containment == back.containment[::-1]


GEESE = LIGHTHOUSE.replace("two goats", "seven geese")


def test_a_part_is_contained_and_its_whole_contains() -> None:
    part = BREAD[: BREAD.index(" After one hour")]
    one, other = compared(part, BREAD), compared(BREAD, part)
    assert (one.relation, other.relation) == (Relation.CONTAINED, Relation.CONTAINS)
    assert one.containment == other.containment[::-1]
    assert one.containment[0] == 1.0


def test_passages_put_together_are_the_texts() -> None:
    comparison = compared(LIGHTHOUSE, GEESE)
    assert tuple("".join(part.text for part in side) for side in comparison.passages) == (LIGHTHOUSE, GEESE)
    assert "goats" in "".join(part.text for part in comparison.passages[0] if not part.shared)


def test_pairs_are_compared_the_same_alone_and_together() -> None:
    pairs = [(LIGHTHOUSE, GEESE), (BREAD, LIGHTHOUSE), ("", "one word")]
    together = compare(pairs, BUILT_IN["standard"], secret=b"", max_features=1_000_000, show_passages=True)
    assert together == [compared(*pair) for pair in pairs]


def test_a_comparison_converts_to_json() -> None:
    comparison = compared(LIGHTHOUSE, GEESE)
    fields = comparison.to_dict()
    assert json.loads(comparison.to_json()) == fields
    assert fields["relation"] == "near"
    assert fields["fingerprints"] == list(comparison.fingerprints)
    assert [part["text"] for part in fields["passages"][0]] == [part.text for part in comparison.passages[0]]


def test_repeated_features_count_where_the_profile_says_so() -> None:
    counted = replace(BUILT_IN["standard"], name="counted", method=Hybrid(multisets=True, bins=1024))
    once, thrice = " ".join(WORDS), " ".join([*WORDS, *WORDS, *WORDS])
    [as_sets], [as_multisets] = (
        compare([(once, thrice)], profile, secret=b"", max_features=10_000, show_passages=False)
        for profile in (BUILT_IN["standard"], counted)
    )
    assert as_sets.resemblance == pytest.approx(198 / 200)  # two runs of three words across the seams
    assert as_multisets.resemblance == pytest.approx(198 / 598, abs=1e-4)
    assert as_multisets.estimated_resemblance == pytest.approx(198 / 598, abs=0.05)
    once_in_thrice, thrice_in_once = as_multisets.containment
    assert once_in_thrice == 1.0
    assert thrice_in_once == pytest.approx(198 / 598, abs=1e-4)


@pytest.mark.parametrize("name", BUILT_IN)
def test_signatures_alone_give_the_same_decision_and_estimates(name: str) -> None:
    profile = BUILT_IN[name]
    for right in (EDITED, " ".join(f"other{i * 7919 % 10_007}" for i in range(400))):
        whole = compared(TEXT, right, name)
        left_body, right_body = method_of(profile).sign(normalise([TEXT, right])).bodies
        by_signatures = compare_signatures((left_body, right_body), profile, secret=b"")
        assert by_signatures == replace(whole, resemblance=None, containment=(None, None), passages=((), ()))


def test_without_a_signature_only_the_same_content_is_alike() -> None:
    short = compare_signatures((b"", b""), BUILT_IN["standard"], secret=b"")
    assert (short.alike, short.relation, short.fingerprints) == (False, Relation.TOO_SHORT, (None, None))
    same = compare_signatures((b"", b""), BUILT_IN["standard"], secret=b"", same_content=True)
    assert (same.alike, same.relation) == (True, Relation.EXACT)
