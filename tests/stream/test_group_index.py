"""A group opens the index that it has committed under, or one that replaces it, and refuses any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from gate.errors import IndexLost, NoIndex, Unavailable
from gate.model import Verdict
from gate.pipeline import SignedBatch
from gate.stream.group_index import GroupIndex, OpenedIndex, decode_metadata, encode_metadata


@dataclass
class FakeJudge:
    closed: bool = False

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        raise NotImplementedError

    def delete(self, document_ids: Sequence[str]) -> list[bool]:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeStore:
    """Where an index is, or none."""

    identity: str | None = None
    replaced: frozenset[str] = frozenset()
    created: int = 0
    judges: list[FakeJudge] = field(default_factory=list)
    error: Unavailable | None = None

    def open(self, *, create: bool) -> OpenedIndex:
        if self.error is not None:
            raise self.error
        if self.identity is None:
            if not create:
                raise NoIndex("index: there is none")
            self.created += 1
            self.identity = f"new{self.created}"
        self.judges.append(FakeJudge())
        return OpenedIndex(self.judges[-1], self.identity, self.replaced)


def group_on(store: FakeStore, *committed: str) -> GroupIndex:
    group = GroupIndex(store.open, group="g")
    group.expect(committed)
    return group


@pytest.mark.parametrize("identities", [[], ["1a"], ["1a", "2b"]])
def test_metadata_holds_the_identities_that_it_was_made_of(identities: list[str]) -> None:
    assert decode_metadata(encode_metadata(identities)) == set(identities)


def test_metadata_is_written_as_earlier_offsets_have_it() -> None:
    assert encode_metadata(["9f3c2ab1d4e5f607"]) == "gate-index=9f3c2ab1d4e5f607"
    assert encode_metadata(["b", "a"]) == "gate-index=a,b"
    assert encode_metadata([""]) == ""


@pytest.mark.parametrize("metadata", [None, "", "of another program", "gate-index=", "1a"])
def test_metadata_without_an_identity_names_none(metadata: str | None) -> None:
    assert not decode_metadata(metadata)


def test_a_group_that_has_committed_nothing_creates_its_index() -> None:
    store = FakeStore()
    group = group_on(store)
    group.open()
    assert (group.identity, group.metadata()) == ("new1", "gate-index=new1")


def test_the_index_that_the_group_has_committed_under_is_opened() -> None:
    group = group_on(FakeStore("1a"), "1a")
    group.open()
    assert group.metadata() == "gate-index=1a"


def test_a_gone_index_is_not_created_again() -> None:
    store = FakeStore()
    with pytest.raises(IndexLost, match=r"group g has worked on \(1a\).*rebuild --from-topic --recover.*--new-index"):
        group_on(store, "1a").open()
    assert not store.created


@pytest.mark.parametrize(("identity", "there"), [("2b", r"another index \(2b\)"), ("", "an index in memory")])
def test_another_index_is_refused_and_closed(identity: str, there: str) -> None:
    store = FakeStore(identity)
    group = group_on(store, "1a")
    with pytest.raises(IndexLost, match=f"{there} is in the place of the one that group g has worked on"):
        group.open()
    assert [judge.closed for judge in store.judges] == [True]
    assert group.metadata() == "gate-index=1a"


def test_an_index_that_replaces_all_that_the_group_committed_under_is_opened() -> None:
    store = FakeStore("3c", replaced=frozenset({"1a"}))
    with pytest.raises(IndexLost, match=r"\(2b\)"):
        group_on(store, "1a", "2b").open()
    store.replaced |= {"2b"}
    group = group_on(store, "1a", "2b")
    group.open()
    assert group.metadata() == "gate-index=3c"


def test_an_index_that_was_lost_before_the_first_commit_is_not_created_again() -> None:
    store = FakeStore()
    group = group_on(store)
    group.open()
    store.identity = None
    group.expect([])
    with pytest.raises(IndexLost):
        group.open()
    assert store.created == 1


def test_while_the_index_is_unavailable_the_committed_identities_are_kept() -> None:
    group = group_on(FakeStore(error=Unavailable("down")), "1a", "2b")
    with pytest.raises(Unavailable):
        group.open()
    assert group.metadata() == "gate-index=1a,2b"


def test_another_worker_may_have_gone_on_to_an_index_that_replaces_a_later_one() -> None:
    store = FakeStore("3c", replaced=frozenset({"2b"}))
    group = group_on(store, "1a")
    with pytest.raises(IndexLost):
        group.open()
    group.expect(["2b", "3c"])
    group.open()
    assert group.identity == "3c"
