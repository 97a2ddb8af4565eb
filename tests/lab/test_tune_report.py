"""The reasons of a choice, in words."""

from __future__ import annotations

from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.lab.changes import CHANGES, KINDS, Kind
from gate.lab.experiment import Proportion
from gate.lab.tune_changes import ChangesFound
from gate.lab.tune_grid import TuningGoal
from gate.lab.tune_report import (
    advise,
    chosen_table,
    describe_features,
    describe_method,
    explain_change_choice,
    join_words,
)

GOAL = TuningGoal(recall=0.9, at=0.8, precision=0.99, size=1000)


def finding(name: str, **shares: int) -> ChangesFound:
    """A profile that finds so many of a hundred copies of each kind, and all of the others."""
    return ChangesFound(
        profile=BUILT_IN[name],
        found={change.name: Proportion(shares.get(change.kind, 100), 100) for change in CHANGES},
        false=0,
        false_candidates=0,
        pairs=1000,
        seconds=0.001,
    )


FOUND = {
    "standard": finding("standard", scans=2, parts=0),
    "containment": finding("containment", scans=1),
    "scans": finding("scans", parts=60),
}


def explained(*kinds: Kind, chosen: str = "scans", reached: bool = True) -> str:
    return " ".join(explain_change_choice(FOUND[chosen].trial(kinds, 1000), FOUND, GOAL, kinds, reached=reached))


def test_the_choice_is_explained_by_what_each_profile_found() -> None:
    text = explained("scans")
    assert "`scans`, made for recognised text with its errors, is the cheapest built-in profile that finds them" in text
    assert "Of copies with 3% wrong characters, `standard` 2%, `containment` 1% and `scans` 100% were found." in text
    assert "No pairs of unrelated texts called alike." in text


def test_what_nothing_finds_has_a_remedy() -> None:
    text = explained("scans", "parts", reached=False)
    assert "No built-in profile finds that many." in text
    assert "one profile for each kind of change" in text
    assert "Of copies with first half" in text


def test_advice_names_the_profile_for_each_kind_that_is_missed() -> None:
    sentences = advise("standard", FOUND, 0.9)
    assert len(sentences) == 2
    assert "it finds 0%, and `containment` 100%: if yours are like that, ask for --changes parts." in sentences[0]
    assert "it finds 2%, and `scans` 100%: if yours are like that, ask for --changes scans." in sentences[1]
    assert all(f"--changes {kind}" not in " ".join(sentences) for kind in KINDS[:3])


def test_no_advice_where_nothing_else_finds_more() -> None:
    assert advise("standard", {"standard": FOUND["standard"]}, 0.9) == []


def test_every_profile_that_can_be_chosen_is_described() -> None:
    assert describe_features(BUILT_IN["scans"]) == "characters in runs of 8"
    assert describe_features(BUILT_IN["containment"]) == "all runs of 20 bytes"
    assert describe_method(BUILT_IN["containment"]).startswith("up to 128 of those whose fingerprint 25 divides")
    assert "24 bands of 4 of 128 MinHash bins" in describe_method(BUILT_IN["scans"])


def test_the_table_of_a_sampled_profile_has_no_standard_for_what_that_lacks() -> None:
    rows = {row["parameter"]: row for row in chosen_table(replace(BUILT_IN["containment"], name="tuned")).rows}
    assert rows["max_keys"]["value"] == "128"
    assert rows["max_keys"]["standard"] == "-"


def test_words_are_joined_by_commas_and_an_and() -> None:
    assert [join_words(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
