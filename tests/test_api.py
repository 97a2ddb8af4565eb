"""The gate as a library."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import BUILT_IN, BadDocument, CheckIn, ConfigError, Gate, Limits, Profile, Relation, Verdict, api
from gate.core.method_parameters import Hybrid
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE, corpus

EDITED = LIGHTHOUSE.replace("two goats", "seven geese")
OTHERWISE = LIGHTHOUSE.replace("red paint", "blue chalk")
Open = Callable[..., Gate]


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Open a gate on the backend of the test; on SQLite, always the same file."""
    index = tmp_path / "gate.sqlite" if request.param == "sqlite" else None
    return lambda profile="standard", **more: Gate(profile, index=index, **more)


def document(document_id: str, text: str, version: str | None = None) -> CheckIn:
    return CheckIn(document_id=document_id, text=text, version=version)


def relations(verdicts: list[Verdict]) -> list[str]:
    return [verdict.relation.value for verdict in verdicts]


def strangers(count: int, seed: int = 1) -> list[CheckIn]:
    return [planted.document for planted in corpus(seed, count) if planted.story == "unrelated"]


FAMILY = [
    document("a", LIGHTHOUSE),
    document("b", BREAD),
    document("c", EDITED),
    document("d", "  " + LIGHTHOUSE.upper()),
    document("e", BREAD[: BREAD.index(" After one hour")]),
    document("f", BRIDGE, "1"),
    document("f", BRIDGE.replace("nine votes", "ten votes"), "2"),
    document("g", "Back at noon."),
    document("h", " "),
]
ANSWERS = ["new", "new", "near", "exact", "contained", "new", "revision", "too_short", "empty"]


# Judging


def test_of_documents_alike_the_first_passes_and_the_others_name_it(opened: Open) -> None:
    with opened() as gate:
        verdicts = gate.check_in(FAMILY)
    assert relations(verdicts) == ANSWERS
    assert [verdict.similar for verdict in verdicts] == [False, False, True, True, True, False, False, False, False]
    assert [verdict.group for verdict in verdicts] == ["a", "b", "a", "a", "b", "f", "f", "g", "h"]
    assert [[match.document_id for match in verdict.matches] for verdict in verdicts[2:5]] == [["a"], ["a"], ["b"]]


def test_a_repeated_check_in_gets_the_whole_verdict_again_however_much_was_indexed_since(opened: Open) -> None:
    with opened() as gate:
        first = gate.check_in(FAMILY)
        gate.check_in([document("z", OTHERWISE), document("y", BREAD.lower()), *strangers(300)])
        assert gate.check_in(FAMILY) == first
        assert [gate.check_in([one])[0] for one in reversed(FAMILY)] == first[::-1]


def test_a_repeated_check_in_gets_the_whole_verdict_again_after_a_restart(tmp_path: Path) -> None:
    with Gate(index=tmp_path / "gate.sqlite") as gate:
        first = gate.check_in(FAMILY)
    with Gate(index=tmp_path / "gate.sqlite") as gate:
        gate.check_in(strangers(50))
        assert gate.check_in(FAMILY) == first


SENTENCES = ["The miller sold seven sacks of barley before the fair opened at noon."] + [
    sentence + "." for sentence in (LIGHTHOUSE + " " + BREAD).replace("\n", " ").split(". ")
]


@st.composite
def variants(draw: st.DrawFn, *, ids: int = 0) -> list[CheckIn]:
    """Documents that are alike by all degrees, among them the same texts again, and the same ids if there are few."""
    drawn = Random(draw(st.integers(0, 2**32)))
    made = []
    for n in range(draw(st.integers(1, 25))):
        start = drawn.randrange(3)
        text = " ".join(SENTENCES[start : start + drawn.randint(4, len(SENTENCES))])
        name = drawn.randrange(ids) if ids else n
        made.append(document(f"d{name}", text.upper() if drawn.random() < 0.2 else text))
    return made


@given(variants(ids=12), st.sampled_from(["standard", "simhash", "minhash"]))
def test_however_alike_documents_are_a_replay_finds_what_it_found_the_first_time(
    documents: list[CheckIn], profile: str
) -> None:
    gate = Gate(profile)
    first = [gate.check_in([one])[0] for one in documents]
    assert gate.check_in(documents) == first


@given(variants(), st.integers(1, 7))
def test_how_a_list_is_cut_into_batches_does_not_decide_what_is_alike(documents: list[CheckIn], size: int) -> None:
    whole, cut = Gate().check_in(documents), Gate(limits=Limits(batch_documents=size)).check_in(documents)
    assert [(one.relation, one.matches) for one in whole] == [(one.relation, one.matches) for one in cut]


@given(variants(ids=12))
def test_of_a_list_with_several_versions_of_a_document_the_first_passes_all_the_same(documents: list[CheckIn]) -> None:
    gate = Gate()
    one_by_one = [gate.check_in([one])[0].similar for one in documents]
    assert [verdict.similar for verdict in Gate().check_in(documents)] == one_by_one


def test_a_check_judges_and_leaves_no_trace(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY[:2])
        before = gate.info()
        assert relations(gate.preview(FAMILY[2:5])) == ["near", "exact", "contained"]
        assert relations(gate.preview(FAMILY[2:5])) == ["near", "exact", "contained"]
        after = gate.info()
    assert {key: before[key] for key in ("documents", "entries", "postings")} == {
        key: after[key] for key in ("documents", "entries", "postings")
    }


def test_a_document_that_is_printed_does_not_show_its_text() -> None:
    assert "lighthouse" not in repr(FAMILY[0])
    assert repr(FAMILY[0]).startswith("CheckIn(document_id='a'")


def test_no_documents_get_no_verdicts() -> None:
    assert Gate().check_in([]) == []
    assert Gate().preview([]) == []


BAD = [
    (document("", LIGHTHOUSE), "bad_field", "document_id: is empty"),
    (document("x\ud800", LIGHTHOUSE), "bad_text", "document_id: has a lone surrogate at character 1"),
    (document("x", LIGHTHOUSE, "\udfff"), "bad_text", "version: has a lone surrogate at character 0"),
    (document("x", LIGHTHOUSE + "\ud83d"), "bad_text", f"text: has a lone surrogate at character {len(LIGHTHOUSE)}"),
    (document("x", "long " * 400), "too_large", "text: has 2000 characters, over max_document_chars = 1500"),
]


@pytest.mark.parametrize(("bad", "code", "said"), BAD)
def test_a_document_that_cannot_be_judged_is_named_before_anything_is_claimed(
    opened: Open, bad: CheckIn, code: str, said: str
) -> None:
    with opened(limits=Limits(max_document_chars=1500)) as gate:
        for judge in (gate.check_in, gate.preview):
            with pytest.raises(BadDocument) as caught:
                judge([document("a", LIGHTHOUSE), bad])
            assert caught.value.code == code
            assert str(caught.value).startswith(f"documents[1] ({bad.document_id!r}): {said}")
            assert "lighthouse" not in str(caught.value)
        assert gate.info()["documents"] == 0


def test_bad_documents_can_be_sifted_out_so_that_the_others_go_on() -> None:
    gate = Gate(limits=Limits(max_document_chars=1500))
    bad = [one for one, _, _ in BAD]
    good, refused = gate.validate([FAMILY[0], *bad, FAMILY[1]])
    assert good == FAMILY[:2]
    assert [one.document for one in refused] == bad
    assert [one.error.code for one in refused] == [code for _, code, _ in BAD]
    assert relations(gate.check_in(good)) == ["new", "new"]


def test_threads_may_share_a_gate_and_exactly_one_of_their_copies_passes(opened: Open) -> None:
    with opened() as gate, ThreadPoolExecutor(8) as pool:
        asked = [[document(f"{n}", BREAD + f" {n}"), *strangers(5, seed=n)] for n in range(24)]
        verdicts = [found[0] for found in pool.map(gate.check_in, asked)]
    assert [verdict.similar for verdict in verdicts].count(False) == 1


# Looking


def test_what_is_like_a_text_is_found_best_first(opened: Open) -> None:
    with opened(msgspec.structs.replace(BUILT_IN["standard"], name="every", index="all")) as gate:
        gate.check_in([*FAMILY[:5], *strangers(20)])
        [of_a, of_nothing] = gate.similar([LIGHTHOUSE, "a word or two that nobody has ever written down here before"])
        assert [(match.document_id, match.relation.value) for match in of_a] == [
            ("a", "exact"),
            ("d", "exact"),
            ("c", "near"),
        ]
        assert of_nothing == []
        [of_c] = gate.similar_to(["c"])
        assert [match.document_id for match in of_c] == ["a", "d"]


def test_a_document_that_was_not_checked_in_has_nothing_like_it_to_be_asked_for(opened: Open) -> None:
    with opened() as gate, pytest.raises(KeyError, match="nobody"):
        gate.similar_to(["nobody"])


def edited(text: str, drawn: Random, share: float) -> str:
    """The text with a share of its words replaced, here and there."""
    return " ".join(f"x{drawn.randrange(10**6)}" if drawn.random() < share else word for word in text.split())


def test_a_lower_threshold_finds_more_as_far_as_the_index_brings_it_together(opened: Open) -> None:
    drawn = Random(3)
    with opened() as gate:
        originals = [one.document for one in corpus(5, 40) if one.story == "unrelated"]
        gate.check_in(originals)
        texts = [edited(one.text, drawn, 0.1) for one in originals]
        strict, loose = gate.similar(texts, threshold=0.7), gate.similar(texts, threshold=0.3)
    assert all(set(few) <= set(many) for few, many in zip(strict, loose, strict=True))
    hits = [[match.document_id for match in found] for found in loose]
    found = sum(one.document_id in hit for one, hit in zip(originals, hits, strict=True))
    assert sum(map(bool, strict)) < 20 <= found
    assert all((match.resemblance or 0.0) >= 0.3 for matches in loose for match in matches)


def test_a_higher_threshold_finds_less(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY[:1])
        assert [len(found) for found in gate.similar([EDITED], threshold=0.95)] == [0]
        assert [len(found) for found in gate.similar([LIGHTHOUSE], threshold=1.0)] == [1]


def test_where_bits_decide_the_threshold_is_a_share_of_them_and_what_is_within_it_is_found(opened: Open) -> None:
    with opened("simhash") as gate:
        gate.check_in(FAMILY[:1])
        texts = [edited(LIGHTHOUSE, Random(seed), 0.05) for seed in range(20)]
        distances = [found.distance for found in gate.compare([(LIGHTHOUSE, text) for text in texts])]
        within = [(text, bits) for text, bits in zip(texts, distances, strict=True) if bits and 3 < bits <= 16]
        assert len(within) > 5
        for text, bits in within:
            assert gate.similar([text]) == [[]]
            [[match]] = gate.similar([text], threshold=1 - bits / 64)
            assert (match.document_id, match.distance) == ("a", bits)
            assert gate.similar([text], threshold=1 - (bits - 1) / 64) == [[]]


@pytest.mark.parametrize("threshold", [0.0, 1.1, -1.0])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        Gate().similar(["text"], threshold=threshold)


def test_two_texts_are_compared_as_the_gate_would_judge_them() -> None:
    gate = Gate()
    near, exact, other, short, blank = gate.compare(
        [(LIGHTHOUSE, EDITED), (BREAD, BREAD.upper()), (BREAD, BRIDGE), ("Back at noon.", "Back at one."), ("", "")]
    )
    assert (near.alike, near.relation, near.fingerprints[0] != near.fingerprints[1]) == (True, Relation.NEAR, True)
    [verdict] = gate.check_in([document("a", EDITED)])
    assert near.fingerprints[1] == verdict.fingerprint
    assert (exact.alike, exact.relation, exact.distance, exact.resemblance) == (True, Relation.EXACT, 0, 1.0)
    assert (other.alike, other.relation) == (False, Relation.NEW)
    assert (short.alike, short.relation) == (False, Relation.TOO_SHORT)
    assert (blank.alike, blank.relation) == (True, Relation.EXACT)


def test_which_of_two_texts_is_a_part_of_the_other_is_told_from_both_sides() -> None:
    part = BREAD[: BREAD.index(" After one hour")]
    one, other = Gate().compare([(part, BREAD), (BREAD, part)])
    assert (one.relation, other.relation) == (Relation.CONTAINED, Relation.CONTAINS)
    assert one.containment == other.containment[::-1]
    assert one.containment[0] == 1.0


def test_passages_put_together_are_the_texts_and_can_be_left_out() -> None:
    [found] = Gate().compare([(LIGHTHOUSE, EDITED)])
    assert tuple("".join(part.text for part in side) for side in found.passages) == (LIGHTHOUSE, EDITED)
    assert "goats" in "".join(part.text for part in found.passages[0] if not part.shared)
    assert Gate().compare([(LIGHTHOUSE, EDITED)], show_passages=False)[0].passages == ((), ())


def test_a_text_that_cannot_be_judged_is_named_by_its_place() -> None:
    for ask in (lambda: Gate().similar(["fine", "\ud800"]), lambda: Gate().compare([("fine", "\ud800")])):
        with pytest.raises(BadDocument, match=r"texts\[1\]: text: has a lone surrogate"):
            ask()


def test_an_explanation_is_the_verdict_but_for_the_features(opened: Open) -> None:
    with opened() as gate:
        verdicts = gate.check_in(FAMILY)
        explained = gate.explain(["a", "c", "f", "nobody"])
    by_id = {
        name: [msgspec.structs.replace(v, features=None) for v in verdicts if v.document_id == name]
        for name in ("a", "c", "f")
    }
    assert explained == [by_id["a"], by_id["c"], by_id["f"], []]


def test_an_explanation_no_longer_names_what_was_deleted(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY[:3])
        gate.delete(["a"])
        assert [match for [verdict] in gate.explain(["c"]) for match in verdict.matches] == []


# Keeping


def test_what_was_refused_for_the_sake_of_a_deleted_document_may_come_in_again(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY)
        assert gate.delete(["a", "nobody"]) == [True, False]
        assert gate.delete(["a"]) == [False]
        assert gate.explain(["a"]) == [[]]
        assert relations(gate.check_in([document("c", EDITED)])) == ["new"]


def test_a_gate_without_documents_holds_nothing_after_they_are_all_deleted(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY)
        gate.delete([one.document_id for one in FAMILY])
        info = gate.info()
    assert [info[part] for part in ("documents", "contents", "entries", "postings")] == [0, 0, 0, 0]


def test_two_gates_on_one_file_know_of_each_other(tmp_path: Path) -> None:
    with Gate(index=tmp_path / "gate.sqlite") as one, Gate(index=str(tmp_path / "gate.sqlite")) as other:
        assert relations(one.check_in(FAMILY[:1])) == ["new"]
        assert relations(other.check_in(FAMILY[2:3])) == ["near"]


# What a gate is made of


def test_a_profile_comes_by_name_from_a_file_or_as_a_value(tmp_path: Path) -> None:
    (tmp_path / "loose.toml").write_text('base = "standard"\nresemblance = 0.5\n')
    assert Gate("simhash").profile == BUILT_IN["simhash"]
    assert Gate(tmp_path / "loose.toml").profile.resemblance == 0.5
    assert Gate(Profile(name="mine", gram=4)).profile.gram == 4


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("standrad", "did you mean `standard`"),
        ("missing.toml", "missing.toml cannot be read"),
        (
            Profile(name="mine", method=Hybrid(radius=99)),
            "radius: 99 is not allowed; give a whole number at least 0 and at most 16",
        ),
        (Profile(name="mine", method="magic"), "'magic' is unknown"),  # type: ignore[arg-type]
        (Profile(name="standard", gram=5), "give a changed one another name or version"),
    ],
)
def test_a_profile_that_cannot_be_worked_with_is_refused(profile: Profile | str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Gate(profile)


def test_limits_that_cannot_be_worked_with_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"limits: .*max_matches"):
        Gate(limits=Limits(max_matches=0))


def test_a_secret_changes_every_signature_and_opens_its_own_index_only(tmp_path: Path) -> None:
    with Gate(index=tmp_path / "gate.sqlite", secret=b"hush") as gate:
        [hidden] = gate.check_in(FAMILY[:1])
    [plain] = Gate().check_in(FAMILY[:1])
    assert hidden.fingerprint != plain.fingerprint
    assert hidden.content_id != plain.content_id
    with pytest.raises(ConfigError):
        Gate(index=tmp_path / "gate.sqlite")
    with pytest.raises(ConfigError, match="at most 64"):
        Gate(secret=b"x" * 65)


def test_the_example_of_the_class_holds() -> None:
    assert doctest.testmod(api).failed == 0


def test_one_string_where_a_list_belongs_is_a_mistake_and_not_a_list_of_letters() -> None:
    one = Gate()
    for method in (one.similar, one.similar_to, one.explain, one.delete):
        with pytest.raises(TypeError, match="a list of strings"):
            method("text")
