"""The gate as a library."""

from __future__ import annotations

import doctest
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import (
    BUILT_IN,
    AsyncGate,
    BadDocument,
    CheckIn,
    ConfigError,
    Gate,
    GateError,
    Limits,
    Profile,
    Relation,
    Subject,
    UnknownDocument,
    UsageError,
    Verdict,
    api,
)
from gate.config.profiles import resolve_profile
from gate.core.method_parameters import Hybrid
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE, corpus
from gate.errors import UnreadableReason
from tests.support.async_gate import BlockingAsyncGate

EDITED = LIGHTHOUSE.replace("two goats", "seven geese")
OTHERWISE = LIGHTHOUSE.replace("red paint", "blue chalk")
Open = Callable[..., Gate]


NUMBERS = count()


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str | None:
    """Where the index of the test is."""
    if request.param == "redis":
        url: str = request.getfixturevalue("shared_redis").url
        return url
    return tmp_path / "gate.sqlite" if request.param == "sqlite" else None


@pytest.fixture(params=[Gate, BlockingAsyncGate])
def opened(request: pytest.FixtureRequest, index: Path | str | None) -> Open:
    """Open a gate on the index of the test, a `Gate` and then an `AsyncGate`; in one test, always the same index."""
    name = f"api-{next(NUMBERS)}"

    def open_gate(profile: Profile | str = "standard", **more: Any) -> Gate:
        own = msgspec.structs.replace(resolve_profile(profile), name=name)  # on Redis, an index of its own
        gate: Gate = request.param(own, index=index, **more)
        return gate

    return open_gate


def document(document_id: str, text: str, version: str | None = None) -> CheckIn:
    return CheckIn(document_id=document_id, text=text, version=version)


def relations(verdicts: list[Verdict]) -> list[str]:
    return [verdict.relation.value for verdict in verdicts]


def unrelated(count: int, seed: int = 1) -> list[CheckIn]:
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


def test_among_near_duplicates_the_first_passes_and_the_others_name_it(opened: Open) -> None:
    with opened() as gate:
        verdicts = gate.check_in(FAMILY)
    assert relations(verdicts) == ANSWERS
    assert [verdict.similar for verdict in verdicts] == [False, False, True, True, True, False, False, False, False]
    assert [verdict.group for verdict in verdicts] == ["a", "b", "a", "a", "b", "f", "f", "g", "h"]
    assert [[match.document_id for match in verdict.matches] for verdict in verdicts[2:5]] == [["a"], ["a"], ["b"]]


LOCKED = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # SHA-256 of some file


def file(document_id: str, sha256: str = LOCKED, reason: UnreadableReason | None = None) -> CheckIn:
    return CheckIn(document_id=document_id, text="", content_sha256=sha256, unreadable_reason=reason)


def test_files_without_text_are_compared_by_their_bytes_alone(opened: Open) -> None:
    scans = [file("a.pdf", reason="encrypted"), document("text", LOCKED), file("b.pdf"), file("c.pdf", LOCKED[::-1])]
    with opened() as gate:
        assert relations(gate.preview(scans[:1])) == ["unreadable"]
        verdicts = gate.check_in([*scans, document("empty", "")])
        assert relations(verdicts) == ["unreadable", "too_short", "exact", "unreadable", "empty"]
        assert [one.unreadable_reason for one in verdicts] == ["encrypted", None, "no_text", "no_text", None]
        [match] = verdicts[2].matches
        assert (match.document_id, match.resemblance, verdicts[2].group) == ("a.pdf", None, "a.pdf")
        assert gate.check_in([file("a.pdf", reason="too_costly"), *scans[1:]]) == verdicts[:4]
        assert relations(gate.check_in([file("a.pdf", LOCKED[::-1]), file("c.pdf", LOCKED[1:] + "0")])) == [
            "exact",
            "revision",
        ]
        [stored], _ = gate.explain(["b.pdf", "text"])
        assert (stored.relation, stored.unreadable_reason) == (Relation.EXACT, "no_text")
        gate.delete(["a.pdf"])
        assert relations(gate.check_in([file("d.pdf")])) == ["unreadable"]


@pytest.mark.parametrize("profile", BUILT_IN)
def test_files_without_text_have_no_signature_under_any_profile(profile: str) -> None:
    with Gate(profile, secret=b"secret") as gate:
        verdicts = gate.check_in([document("a", LIGHTHOUSE), file("b"), file("c"), document("d", "")])
        assert relations(verdicts)[1:] == ["unreadable", "exact", "empty"]
        assert [one.fingerprint for one in verdicts[1:]] == [None] * 3
        assert [claim.body for claim in gate.signer.sign([file("b")]).claims] == [b""]
        assert verdicts[1].content_id != Gate(profile).check_in([file("b")])[0].content_id


@pytest.mark.parametrize(
    "wrong",
    [
        file("a", LOCKED.upper()),
        file("a", "é" * 64),
        msgspec.structs.replace(file("a"), text="text"),
        file("a", reason="age"),  # type: ignore[arg-type]
        msgspec.structs.replace(file("a"), content_sha256=None, unreadable_reason="binary"),
    ],
)
def test_a_file_without_text_needs_a_hash_a_known_reason_and_nothing_else(wrong: CheckIn) -> None:
    with pytest.raises(BadDocument, match=r"content_sha256|unreadable_reason") as caught:
        Gate().check_in([wrong])
    assert caught.value.code == "bad_field"


def test_a_repeated_check_in_gets_an_equal_verdict_after_other_documents_were_indexed(opened: Open) -> None:
    with opened() as gate:
        first = gate.check_in(FAMILY)
        gate.check_in([document("z", OTHERWISE), document("y", BREAD.lower()), *unrelated(300)])
        assert gate.check_in(FAMILY) == first
        assert [gate.check_in([one])[0] for one in reversed(FAMILY)] == first[::-1]


def test_a_repeated_check_in_gets_an_equal_verdict_after_a_restart(tmp_path: Path) -> None:
    with Gate(index=tmp_path / "gate.sqlite") as gate:
        first = gate.check_in(FAMILY)
    with Gate(index=tmp_path / "gate.sqlite") as gate:
        gate.check_in(unrelated(50))
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


@pytest.mark.slow
@given(variants(ids=12), st.sampled_from(["standard", "simhash", "minhash"]))
def test_a_replay_of_near_duplicates_gets_equal_verdicts(documents: list[CheckIn], profile: str) -> None:
    gate = Gate(profile)
    first = [gate.check_in([one])[0] for one in documents]
    assert gate.check_in(documents) == first


@pytest.mark.slow
@given(variants(), st.integers(1, 7))
def test_the_size_of_batches_changes_no_verdict(documents: list[CheckIn], size: int) -> None:
    whole, cut = Gate().check_in(documents), Gate(limits=Limits(batch_documents=size)).check_in(documents)
    assert [(one.relation, one.matches) for one in whole] == [(one.relation, one.matches) for one in cut]


@pytest.mark.slow
@given(variants(ids=12))
def test_a_list_with_several_versions_of_a_document_passes_what_single_check_ins_pass(documents: list[CheckIn]) -> None:
    gate = Gate()
    one_by_one = [gate.check_in([one])[0].similar for one in documents]
    assert [verdict.similar for verdict in Gate().check_in(documents)] == one_by_one


def test_preview_judges_and_leaves_no_trace(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY[:2])
        before = gate.info()
        assert relations(gate.preview(FAMILY[2:5])) == ["near", "exact", "contained"]
        assert relations(gate.preview(FAMILY[2:5])) == ["near", "exact", "contained"]
        after = gate.info()
    assert {key: before[key] for key in ("documents", "entries", "postings")} == {
        key: after[key] for key in ("documents", "entries", "postings")
    }


def test_the_repr_of_a_check_in_does_not_show_its_text() -> None:
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


def test_validate_takes_bad_documents_out_so_that_the_others_go_on() -> None:
    gate = Gate(limits=Limits(max_document_chars=1500))
    bad = [one for one, _, _ in BAD]
    good, refused = gate.validate([FAMILY[0], *bad, FAMILY[1]])
    assert good == FAMILY[:2]
    assert [one.document for one in refused] == bad
    assert [one.error.code for one in refused] == [code for _, code, _ in BAD]
    assert relations(gate.check_in(good)) == ["new", "new"]


def test_threads_may_share_a_gate_and_exactly_one_of_their_copies_passes(opened: Open) -> None:
    with opened() as gate, ThreadPoolExecutor(8) as pool:
        asked = [[document(f"{n}", BREAD + f" {n}"), *unrelated(5, seed=n)] for n in range(24)]
        verdicts = [found[0] for found in pool.map(gate.check_in, asked)]
    assert [verdict.similar for verdict in verdicts].count(False) == 1


# Looking


def test_find_similar_answers_best_first(opened: Open) -> None:
    with opened(msgspec.structs.replace(BUILT_IN["standard"], name="every", index="all")) as gate:
        gate.check_in([*FAMILY[:5], *unrelated(20)])
        matches = gate.find_similar(text=LIGHTHOUSE)
        assert [(match.document_id, match.relation.value) for match in matches] == [
            ("a", "exact"),
            ("d", "exact"),
            ("c", "near"),
        ]
        assert gate.find_similar(text=LIGHTHOUSE, limit=2) == matches[:2]
        assert gate.find_similar(text="a word or two that nobody has ever written down here before") == []
        assert [match.document_id for match in gate.find_similar(document_id="c")] == ["a", "d"]
        assert [match.document_id for match in gate.find_similar(document_id="c", limit=1)] == ["a"]


def test_a_document_that_was_not_checked_in_is_unknown_to_find_similar(opened: Open) -> None:
    with opened() as gate, pytest.raises(UnknownDocument, match="'unknown' is not known; give the id") as caught:
        gate.find_similar(document_id="unknown")
    assert isinstance(caught.value, LookupError)
    assert not isinstance(caught.value, KeyError)


@pytest.mark.parametrize("profile", ["standard", "simhash"])
def test_a_fingerprint_finds_what_is_within_the_radius_by_its_digits_or_its_number(opened: Open, profile: str) -> None:
    with opened(profile) as gate:
        [verdict, _] = gate.check_in(FAMILY[:2])
        fingerprint = verdict.fingerprint or ""
        near, far = int(fingerprint, 16) ^ 0b111, int(fingerprint, 16) ^ 0b1111
        [match] = gate.find_similar(fingerprint=fingerprint)
        assert (match.document_id, match.distance, match.resemblance) == ("a", 0, None)
        assert gate.find_similar(fingerprint=fingerprint.upper()) == [match]
        [match] = gate.find_similar(fingerprint=near)
        assert (match.document_id, match.distance) == ("a", 3)
        assert gate.find_similar(fingerprint=far) == []
        [match] = gate.find_similar(fingerprint=f"{far:016x}", threshold=1 - 4 / 64)
        assert (match.document_id, match.distance) == ("a", 4)


def test_fingerprints_are_found_best_first_and_up_to_the_limit(opened: Open) -> None:
    with opened("simhash") as gate:
        verdicts = gate.check_in([document(str(n), text) for n, text in enumerate((LIGHTHOUSE, BREAD, BRIDGE))])
        numbers = [int(verdict.fingerprint or "", 16) for verdict in verdicts]
        matches = gate.find_similar(fingerprint=numbers[1], threshold=0.75)
        assert (matches[0].document_id, matches[0].distance) == ("1", 0)
        assert [match.distance for match in matches] == sorted(match.distance or 0 for match in matches)
        assert gate.find_similar(fingerprint=numbers[1], threshold=0.75, limit=1) == matches[:1]


@pytest.mark.parametrize("profile", ["minhash", "mod-n", "sketch-n"])
def test_a_profile_without_fingerprints_finds_none(profile: str) -> None:
    with pytest.raises(ConfigError, match=rf"fingerprint: profile {profile}@1 keeps none, its method is {profile};"):
        Gate(profile).find_similar(fingerprint=7)


def test_a_profile_whose_signature_is_its_fingerprint_finds_by_it() -> None:
    gate = Gate("roth-2011")
    [verdict] = gate.check_in([document("a", LIGHTHOUSE)])
    assert [match.document_id for match in gate.find_similar(fingerprint=verdict.fingerprint)] == ["a"]


def edited(text: str, drawn: Random, share: float) -> str:
    """The text with a share of its words replaced, here and there."""
    return " ".join(f"x{drawn.randrange(10**6)}" if drawn.random() < share else word for word in text.split())


def test_a_lower_threshold_finds_more_of_what_shares_a_band(opened: Open) -> None:
    drawn = Random(3)
    with opened() as gate:
        originals = [one.document for one in corpus(5, 40) if one.story == "unrelated"]
        gate.check_in(originals)
        texts = [edited(one.text, drawn, 0.1) for one in originals]
        strict = [gate.find_similar(text=text, threshold=0.7) for text in texts]
        loose = [gate.find_similar(text=text, threshold=0.3) for text in texts]
    assert all(set(few) <= set(many) for few, many in zip(strict, loose, strict=True))
    hits = [[match.document_id for match in found] for found in loose]
    found = sum(one.document_id in hit for one, hit in zip(originals, hits, strict=True))
    assert sum(map(bool, strict)) < 20 <= found
    assert all((match.resemblance or 0.0) >= 0.3 for matches in loose for match in matches)


def test_a_higher_threshold_finds_less(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY[:1])
        assert len(gate.find_similar(text=EDITED, threshold=0.95)) == 0
        assert len(gate.find_similar(text=LIGHTHOUSE, threshold=1.0)) == 1


def test_a_threshold_of_simhash_is_a_share_of_equal_bits(opened: Open) -> None:
    with opened("simhash") as gate:
        gate.check_in(FAMILY[:1])
        texts = [edited(LIGHTHOUSE, Random(seed), 0.05) for seed in range(20)]
        distances = [found.distance for found in gate.compare([(LIGHTHOUSE, text) for text in texts])]
        within = [(text, bits) for text, bits in zip(texts, distances, strict=True) if bits and 3 < bits <= 16]
        assert len(within) > 5
        for text, bits in within:
            assert gate.find_similar(text=text) == []
            [match] = gate.find_similar(text=text, threshold=1 - bits / 64)
            assert (match.document_id, match.distance) == ("a", bits)
            assert gate.find_similar(text=text, threshold=1 - (bits - 1) / 64) == []


@pytest.mark.parametrize("threshold", [0.0, 1.1, -1.0, float("nan"), True, "0.5", b"1"])
def test_a_threshold_that_is_no_share_is_refused(threshold: Any) -> None:
    for thing in ({"text": "text"}, {"fingerprint": 7}):
        with pytest.raises(ValueError, match=r"threshold: .* give a number above 0 and at most 1") as caught:
            Gate().find_similar(**thing, threshold=threshold)
        assert isinstance(caught.value, UsageError)


def test_two_things_are_measured_by_text_by_id_and_by_fingerprint(opened: Open) -> None:
    with opened("simhash") as gate:
        first, second = gate.check_in([document("a", LIGHTHOUSE), document("b", BREAD)])
        assert first.fingerprint is not None
        assert second.fingerprint is not None
        lefts = Subject(text=LIGHTHOUSE), Subject(document_id="a"), Subject(fingerprint=first.fingerprint)
        rights = Subject(text=BREAD), Subject(document_id="b"), Subject(fingerprint=int(second.fingerprint, 16))
        distance = (int(first.fingerprint, 16) ^ int(second.fingerprint, 16)).bit_count()
        for left, right in itertools.product(lefts, rights):
            measured = gate.measure(left, right)
            assert (measured.alike, measured.distance) == (False, distance)
            assert measured.bit_agreement == round(1 - distance / 64, 4)
            assert measured.fingerprints == (first.fingerprint, second.fingerprint)
        assert all(gate.measure(left, right).alike for left, right in itertools.product(lefts, lefts))


def test_a_threshold_decides_whether_two_things_are_alike(opened: Open) -> None:
    with opened("simhash") as gate:
        near = Subject(fingerprint=0), Subject(fingerprint=(1 << 20) - 1)
        assert not gate.measure(*near).alike
        assert gate.measure(*near, threshold=0.68).alike
        assert not gate.measure(*near, threshold=0.69).alike
        texts = (LIGHTHOUSE, edited(LIGHTHOUSE, Random(1), 0.1))
        [usual], [loose] = gate.compare([texts]), gate.compare([texts], threshold=0.65)
        assert (usual.alike, loose.alike) == (False, True)


def test_under_a_profile_of_features_a_fingerprint_is_measured_by_its_bits_alone(opened: Open) -> None:
    with opened() as gate:
        [verdict] = gate.check_in([document("a", LIGHTHOUSE)])
        measured = gate.measure(Subject(document_id="a"), Subject(fingerprint=verdict.fingerprint))
        assert (measured.alike, measured.distance, measured.estimated_resemblance) == (True, 0, None)
        same = gate.measure(Subject(document_id="a"), Subject(text=LIGHTHOUSE))
        assert (same.relation, same.estimated_resemblance) == (Relation.EXACT, 1.0)


def test_what_is_no_single_thing_cannot_be_measured(either: Gate) -> None:
    one = Subject(text=LIGHTHOUSE)
    with pytest.raises(UsageError, match="right: nothing is given; give exactly one of"):
        either.measure(one, Subject())
    with pytest.raises(UsageError, match="left: text and fingerprint are given"):
        either.measure(Subject(text="text", fingerprint=7), one)
    with pytest.raises(UnknownDocument):
        either.measure(one, Subject(document_id="unknown"))
    wrong: Any = "text"
    with pytest.raises(UsageError, match="left: is of type str; give a Subject"):
        either.measure(wrong, one)


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


def test_a_text_that_cannot_be_judged_is_named_by_its_position() -> None:
    with pytest.raises(BadDocument, match=r"^text: has a lone surrogate"):
        Gate().find_similar(text="\ud800")
    with pytest.raises(BadDocument, match=r"^pairs\[1\]\[0\]: text: has a lone surrogate"):
        Gate().compare([("fine", "fine"), ("\ud800", "fine")])


def test_an_explanation_is_the_verdict_but_for_the_features(opened: Open) -> None:
    with opened() as gate:
        verdicts = gate.check_in(FAMILY)
        explained = gate.explain(["a", "c", "f", "unknown"])
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


def test_a_duplicate_of_a_deleted_document_may_be_checked_in_again(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY)
        assert gate.delete(["a", "unknown"]) == [True, False]
        assert gate.delete(["a"]) == [False]
        assert gate.explain(["a"]) == [[]]
        assert relations(gate.check_in([document("c", EDITED)])) == ["new"]


def test_an_index_is_empty_after_all_documents_are_deleted(opened: Open) -> None:
    with opened() as gate:
        gate.check_in(FAMILY)
        gate.delete([one.document_id for one in FAMILY])
        info = gate.info()
    parts = ("documents", "contents", "entries", "postings")  # Redis counts no contents
    assert {info[part] for part in parts if part in info} == {0}


def test_two_gates_on_one_file_share_its_documents(tmp_path: Path) -> None:
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
def test_an_invalid_profile_is_refused(profile: Profile | str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Gate(profile)


def test_invalid_limits_are_refused() -> None:
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


# Wrong calls

NO_LISTS = [None, b"bytes", 7, 1.5, True, {"document_id": "a"}, "text", object()]
NO_STRINGS = [None, b"bytes", 7, 1.5, True, {"text": "x"}, ["x"], object()]
LISTS = ["check_in", "preview", "validate", "compare", "explain", "delete"]


def named(value: object) -> str:
    return type(value).__name__


@pytest.fixture(params=[Gate, BlockingAsyncGate])
def either(request: pytest.FixtureRequest) -> Iterator[Gate]:
    """A gate in memory that holds two documents, a `Gate` and then an `AsyncGate`."""
    with request.param() as gate:
        gate.check_in(FAMILY[:2])
        yield gate


@pytest.mark.parametrize("method", LISTS)
@pytest.mark.parametrize("value", NO_LISTS, ids=named)
def test_what_is_no_list_is_refused_by_its_type_and_not_taken_letter_by_letter(
    either: Gate, method: str, value: Any
) -> None:
    with pytest.raises(
        UsageError, match=rf"^(documents|pairs|document_ids): is of type {named(value)}; give a list of"
    ):
        getattr(either, method)(value)


@pytest.mark.parametrize("value", [*NO_STRINGS, "text"], ids=named)
def test_an_item_that_is_no_document_is_refused_by_its_place_and_type(either: Gate, value: Any) -> None:
    for method in (either.check_in, either.preview):
        with pytest.raises(BadDocument, match=rf"^documents\[1\]: is of type {named(value)}; give CheckIn"):
            method([FAMILY[0], value])
    valid, [refused] = either.validate([FAMILY[0], value])
    assert (valid, refused.document) == (FAMILY[:1], value)
    assert refused.error.code == "bad_field"


@pytest.mark.parametrize("field", ["document_id", "text", "version", "source", "title"])
@pytest.mark.parametrize("value", NO_STRINGS, ids=named)
def test_a_field_that_is_no_string_is_refused_by_document_field_and_type(either: Gate, field: str, value: Any) -> None:
    bad = CheckIn(**{"document_id": "b", "text": LIGHTHOUSE, field: value})
    if value is None and field in ("version", "source", "title"):
        assert either.preview([bad])[0].similar
        return
    place = r"documents\[1\]" if field == "document_id" else r"documents\[1\] \('b'\)"
    for method in (either.check_in, either.preview):
        with pytest.raises(BadDocument, match=rf"^{place}: {field}: is of type {named(value)}; give a str"):
            method([FAMILY[0], bad])
    assert either.info()["documents"] == 2


@pytest.mark.parametrize("value", NO_STRINGS, ids=named)
def test_ids_and_texts_that_are_no_strings_are_refused_by_their_place_and_type(either: Gate, value: Any) -> None:
    for method in (either.explain, either.delete):
        with pytest.raises(BadDocument, match=rf"^document_ids\[1\]: is of type {named(value)}; give a str"):
            method(["a", value])
    with pytest.raises(BadDocument, match=rf"^pairs\[0\]\[1\]: text: is of type {named(value)}; give a str"):
        either.compare([("text", value)])
    if value is not None:
        with pytest.raises(BadDocument, match=rf"^text: is of type {named(value)}; give a str"):
            either.find_similar(text=value)
        with pytest.raises(BadDocument, match=rf"^document_id: is of type {named(value)}; give a str"):
            either.find_similar(document_id=value)
    assert either.info()["documents"] == 2


def test_half_a_character_in_an_id_is_refused_by_its_place(opened: Open) -> None:
    with opened() as gate:
        for method in (gate.explain, gate.delete):
            with pytest.raises(BadDocument, match=r"^document_ids\[1\]: has a lone surrogate at character 1"):
                method(["a", "x\ud800"])
        with pytest.raises(BadDocument, match=r"^document_id: has a lone surrogate at character 0"):
            gate.find_similar(document_id="\udfff")


@pytest.mark.parametrize("pair", [None, 7, "ab", b"ab", {"a": "b", "c": "d"}, ("a",), ("a", "b", "c"), []])
def test_what_is_no_pair_is_refused_by_its_place(either: Gate, pair: Any) -> None:
    with pytest.raises(UsageError, match=r"^pairs\[1\]: is no pair; give two texts"):
        either.compare([("a", "b"), pair])


@pytest.mark.parametrize("things", [{}, {"text": "a", "document_id": "a"}, {"document_id": "a", "fingerprint": 7}])
def test_find_similar_wants_exactly_one_thing_to_look_for(either: Gate, things: Any) -> None:
    with pytest.raises(UsageError, match="give exactly one of text, document_id and fingerprint"):
        either.find_similar(**things)


@pytest.mark.parametrize("limit", [0, -1, 1.0, "1", True, b"1"])
def test_a_limit_that_is_no_whole_number_above_zero_is_refused(either: Gate, limit: Any) -> None:
    with pytest.raises(UsageError, match=r"^limit: .* give a whole number of at least 1"):
        either.find_similar(text=LIGHTHOUSE, limit=limit)


@pytest.mark.parametrize(
    "fingerprint",
    ["", "0123", "0" * 17, "g" * 16, "0x" + "0" * 14, "00 " * 5 + "0", "_1" * 8, -1, 1 << 64, 1.5, True, b"0" * 16],
)
def test_what_is_no_fingerprint_is_refused(either: Gate, fingerprint: Any) -> None:
    with pytest.raises(UsageError, match=r"^fingerprint: is not one; give 16 hexadecimal digits"):
        either.find_similar(fingerprint=fingerprint)


@pytest.mark.parametrize("name", ["profile", "index", "secret", "limits", "redis"])
@pytest.mark.parametrize("value", [7, {"a": 1}, ["a"], object()], ids=named)
def test_an_argument_of_the_gate_itself_is_refused_by_its_name_and_type(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"^{name}: is of type {named(value)}; give "):
        Gate(**{name: value})


def test_any_iterable_of_documents_will_do(either: Gate) -> None:
    assert relations(either.check_in(one for one in FAMILY[:3])) == ANSWERS[:3]
    assert relations(either.preview(iter(FAMILY[2:4]))) == ["near", "exact"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=2)
        ),
    )
)
def test_no_argument_whatever_raises_anything_but_an_error_of_the_gate(value: Any) -> None:
    gate = Gate()
    calls: list[Callable[[], object]] = [partial(getattr(gate, method), value) for method in LISTS]
    calls += [partial(gate.find_similar, **{name: value}) for name in ("text", "document_id", "fingerprint")]
    calls += [partial(gate.measure, Subject(**{name: value}), value) for name in Subject.__struct_fields__]
    calls += [partial(gate.find_similar, text="text", **{name: value}) for name in ("threshold", "limit")]
    for call in calls:
        with suppress(GateError):
            call()


CALLS: dict[str, Callable[[Gate], object]] = {
    "check_in": lambda gate: gate.check_in([]),
    "check_in_signed": lambda gate: gate.check_in_signed(gate.signer.sign([])),
    "compare": lambda gate: gate.compare([]),
    "delete": lambda gate: gate.delete([]),
    "explain": lambda gate: gate.explain([]),
    "begin_look_up": lambda gate: gate.begin_look_up(text="text"),
    "find_similar": lambda gate: gate.find_similar(text="text"),
    "look_up": lambda gate: gate.look_up(text="text"),
    "measure": lambda gate: gate.measure(Subject(text="text"), Subject(fingerprint=7)),
    "pair_finder": lambda gate: gate.pair_finder(),
    "step_look_up": lambda gate: gate.step_look_up(Gate().begin_look_up(text="text")),
    "info": lambda gate: gate.info(),
    "preview": lambda gate: gate.preview([]),
    "preview_signed": lambda gate: gate.preview_signed(gate.signer.sign([])),
    "validate": lambda gate: gate.validate([]),
    "with_store": lambda gate: gate.with_store(lambda store: store.info()),
}
# Parts of a call: an AsyncGate signs on a thread by itself, and takes each step of a look-up there.
PARTS = {"check_in_signed", "preview_signed", "begin_look_up", "step_look_up", "pair_finder"}


def public_methods(kind: type) -> set[str]:
    return {name for name, value in vars(kind).items() if not name.startswith("_") and not isinstance(value, property)}


def test_the_calls_that_are_tested_are_all_the_methods_there_are() -> None:
    assert public_methods(Gate) == {*CALLS, "close"}
    assert public_methods(AsyncGate) == {*CALLS, "close", "open"} - PARTS


@pytest.mark.parametrize("method", CALLS)
def test_a_closed_gate_refuses_every_call(opened: Open, method: str) -> None:
    gate = opened()
    if method in PARTS and isinstance(gate, BlockingAsyncGate):
        with gate:
            return
    with gate:
        CALLS[method](gate)
        gate.close()
        with pytest.raises(UsageError, match="this gate is closed; open another one"):
            CALLS[method](gate)
        gate.close()
