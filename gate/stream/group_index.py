"""Which index a consumer group works on: every offset that the group commits carries the identity of that index.

    the group committed under   the index is                     what happens
    nothing                     there, or not                    it is opened, or created
    A                           A                                it is opened
    A                           gone, or a part of it            refused, and never created: IndexLost
    A                           B                                refused, unless B says that it replaces A

An index that replaces others was filled again (`gate index rebuild`) or accepted as it is (`gate run --new-index`).
Offsets without an identity are those of an index in memory, or were set by another tool: they refuse nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from gate.errors import IndexLost, NoIndex
from gate.stream.processor import Judge

METADATA = "gate-index="
REMEDY = (
    "restore its data, or fill the index again with `gate index rebuild --from-topic --recover`; only if copies of the "
    "documents in it may pass, start once with --new-index"
)


class OpenedIndex(NamedTuple):
    judge: Judge
    identity: str  # empty: it is in memory
    replaced: frozenset[str]  # identities of the indexes that this one replaces


class OpenIndex(Protocol):
    def __call__(self, *, create: bool) -> OpenedIndex: ...


def encode_metadata(identities: Iterable[str]) -> str:
    """What is committed with an offset."""
    names = ",".join(sorted(filter(None, identities)))
    return METADATA + names if names else ""


def decode_metadata(metadata: str | None) -> frozenset[str]:
    """The identities in the metadata of an offset; none in that of another program."""
    text = metadata or ""
    names = text.removeprefix(METADATA).split(",") if text.startswith(METADATA) else []
    return frozenset(filter(None, names))


class GroupIndex:
    """Opens the index of a group, and refuses any other. It is opened on one thread, and read on another."""

    def __init__(self, open_index: OpenIndex, *, group: str) -> None:
        self._open_index = open_index
        self._group = group
        self._expected: frozenset[str] = frozenset()  # until it is opened, what the group has committed under
        self.identity = ""  # of the index that was opened last

    def expect(self, identities: Iterable[str]) -> None:
        """What the group has committed under. Where it has not, what this worker has opened before counts."""
        self._expected = frozenset(identities) or self._expected

    def metadata(self) -> str:
        """What to commit with an offset now. Where documents pass unchecked, the index may not be open so far."""
        return encode_metadata([self.identity] if self.identity else self._expected)

    def open(self) -> Judge:
        """Unavailable: it does not answer. IndexLost: it is not the one that the group has worked on."""
        try:
            opened = self._open_index(create=not self._expected)
        except NoIndex as exc:
            raise IndexLost(f"{exc}, where {self._worked_on(self._expected)}: {REMEDY}") from exc
        others = self._expected - {opened.identity} - opened.replaced
        if others:
            opened.judge.close()
            there = f"another index ({opened.identity})" if opened.identity else "an index in memory"
            raise IndexLost(f"{there} is in the place of the one that {self._worked_on(others)}: {REMEDY}")
        self.identity = opened.identity
        self._expected = frozenset(filter(None, [opened.identity]))
        return opened.judge

    def _worked_on(self, identities: Iterable[str]) -> str:
        return f"group {self._group} has worked on ({', '.join(sorted(identities))})"
