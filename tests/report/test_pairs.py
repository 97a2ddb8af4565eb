"""Which copies are shown beside what they are like, and what is shown of their texts."""

from __future__ import annotations

from gate.demo import BREAD, LIGHTHOUSE
from gate.model import Relation
from gate.report.pairs import COMPARED_CHARS, MAX_CHARS, PASSAGE_WORDS, choose_pairs, show_pairs
from gate.report.results import Results
from tests.report.samples import archive, result

EDITED = LIGHTHOUSE.replace("three summers", "four winters")


def families(sizes: dict[str, int]) -> Results:
    results = Results()
    results.add(
        result(f"{name}-{n}", Relation.NEAR, original=name) for name, size in sizes.items() for n in range(size)
    )
    return results


def test_exact_copies_and_originals_are_no_pairs() -> None:
    assert [pair.document for pair in choose_pairs(archive(), most=9)] == [
        "new/light-2.txt",
        "light-3.txt",
        "new/part.txt",
    ]


def test_every_family_has_some_pairs_before_the_largest_has_all() -> None:
    chosen = [pair.document for pair in choose_pairs(families({"small": 2, "large": 10}), most=8)]
    assert chosen == ["large-0", "large-1", "large-2", "small-0", "small-1", "large-3", "large-4", "large-5"]


def test_a_pair_is_cut_into_what_both_have_and_what_one_has() -> None:
    results = Results()
    results.add([result("b", Relation.NEAR, original="a")])
    [pair] = show_pairs(results, {"a": LIGHTHOUSE, "b": EDITED}.get)
    assert (pair.copy, pair.best, pair.cut) == ("b", "a", (False, False))
    assert "four winters" in "".join(part.text for part in pair.sides[0] if not part.shared)
    assert "three summers" in "".join(part.text for part in pair.sides[1] if not part.shared)
    [*_, last] = pair.sides[0]
    assert last.shared
    assert last.left_out
    assert last.after.endswith(LIGHTHOUSE[-20:])


def test_a_pair_of_which_a_text_is_gone_is_left_out() -> None:
    results = families({"a": 3})
    texts = {"a": LIGHTHOUSE, "a-1": EDITED}
    assert [pair.copy for pair in show_pairs(results, texts.get)] == ["a-1"]
    assert list(show_pairs(results, lambda document: None)) == []


def test_a_short_passage_is_shown_in_full() -> None:
    words = " ".join(f"word{n}" for n in range(3 * PASSAGE_WORDS))
    results = families({"a": 1})
    [pair] = show_pairs(results, {"a": words, "a-0": words}.get)
    assert [(part.text, part.left_out) for part in pair.sides[0]] == [(words, 0)]
    longer = f"{words} more"
    [pair] = show_pairs(results, {"a": longer, "a-0": longer}.get)
    assert [part.left_out for part in pair.sides[0]] == [PASSAGE_WORDS + 1]


def test_of_a_long_text_the_first_part_is_shown_and_marked_as_cut() -> None:
    left = " ".join(f"left{n}" for n in range(MAX_CHARS))
    alternating = " ".join(f"{'same words here' if n % 2 else f'own{n} of one'}" for n in range(MAX_CHARS))
    results = families({"a": 1})
    [pair] = show_pairs(results, {"a": alternating, "a-0": f"same words here {left}"}.get)
    assert pair.cut == (False, True)
    assert sum(len(part.text) + len(part.after) for part in pair.sides[1]) == MAX_CHARS


def test_texts_are_compared_up_to_a_length() -> None:
    long = "same " * (COMPARED_CHARS // 5) + BREAD
    [pair] = show_pairs(families({"a": 1}), {"a": long, "a-0": long}.get)
    assert pair.cut == (True, True)
    assert not any(BREAD[:40] in part.text + part.after for part in pair.sides[0])
