"""The words of a comparison: which measure decides, and why two documents are called what they are."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.compare import Comparison, compare
from gate.demo import BREAD, LIGHTHOUSE
from gate.http.comparison_words import measures_of, reasons_of
from gate.model import Relation

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


def compared(left: str, right: str, profile: str = "standard") -> Comparison:
    [comparison] = compare([(left, right)], BUILT_IN[profile], secret=b"", max_features=10**6, show_passages=False)
    return comparison


def reasons(left: str, right: str, profile: str = "standard", *, met: int = 3, buckets: int = 20) -> str:
    return " ".join(reasons_of(compared(left, right, profile), BUILT_IN[profile], met=met, buckets=buckets))


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_measure_that_decides_has_a_threshold(name: str) -> None:
    measures = {one.name: one for one in measures_of(compared(LIGHTHOUSE, EDITED, name), BUILT_IN[name])}
    deciding = {name for name, one in measures.items() if one.threshold is not None}
    assert deciding, name
    assert all(one.meaning.endswith(".") for one in measures.values())
    if name == "simhash":
        assert deciding == {"distance", "bit_agreement"}
        assert measures["bit_agreement"].threshold == pytest.approx(1 - 3 / 64, abs=1e-4)
    if name == "standard":
        assert deciding == {"resemblance"}
        assert measures["resemblance"].threshold == 0.65


def test_a_similarity_index_is_no_estimate_of_the_resemblance() -> None:
    measures = {one.name: one for one in measures_of(compared(LIGHTHOUSE, EDITED, "roth-2011"), BUILT_IN["roth-2011"])}
    assert measures["resemblance"].estimate is None
    assert measures["quotient"].threshold == BUILT_IN["roth-2011"].resemblance


def test_the_sentences_name_the_decision_and_the_buckets() -> None:
    assert "same content" in reasons(LIGHTHOUSE, LIGHTHOUSE.upper())
    near = reasons(LIGHTHOUSE, EDITED)
    assert "alike, as an edited copy is" in near
    assert "65.0 % are asked for" in near
    assert "meet in 3 of 20 buckets" in near
    assert "would miss them" in reasons(LIGHTHOUSE, EDITED, met=0)
    other = reasons(LIGHTHOUSE, BREAD, met=0)
    assert "not alike" in other
    assert "would not compare them" in other
    assert "bits, of 3 that may differ" in reasons(LIGHTHOUSE, BREAD, "simhash")
    assert "too short" in reasons("a few words", BREAD, buckets=0)
    assert "no text" in reasons("", BREAD, buckets=0)


def test_a_part_and_its_whole_are_named_by_their_sides() -> None:
    comparison = replace(compared(LIGHTHOUSE, EDITED), relation=Relation.CONTAINED)
    assert (
        reasons_of(comparison, BUILT_IN["standard"], met=1, buckets=1)[0] == "Nearly all of the left is in the right."
    )
    comparison = replace(comparison, relation=Relation.CONTAINS)
    assert (
        reasons_of(comparison, BUILT_IN["standard"], met=1, buckets=1)[0] == "Nearly all of the right is in the left."
    )
