"""Small worlds to explore: a few documents, who is alike to whom, and what must be true when everybody is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, count
from typing import Any, Literal, NamedTuple

import numpy as np

from gate.core.bands import Probes
from gate.core.method_registry import Measures, Room, Signatures
from gate.core.profile import Profile
from gate.core.stored_verdict import Answer, decode_answer
from gate.core.text import Texts
from gate.index.protocol.claim import Claim, Index, run_sequentially
from gate.index.store import EntryRecord, HeldContent
from gate.limits import Limits
from tests.index.explorer import Again, Explorer, Final, Process, Quiet, alone, begun, entry_of
from tests.index.stepwise import Ask, Mark, Reply, StepwiseStore, World, answered


@dataclass(frozen=True)
class Tiny:
    """A method whose bodies are single letters: each has its buckets, and each pair its resemblance."""

    buckets: Mapping[bytes, tuple[int, ...]]
    alike: Mapping[frozenset[bytes], float]

    @property
    def room(self) -> Room:
        raise NotImplementedError

    def sign(self, texts: Texts) -> Signatures:
        raise NotImplementedError

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        pairs = [(row, key) for row, body in enumerate(bodies) if body for key in self.buckets[body]]
        rows, keys = np.array([row for row, _ in pairs], np.int64), np.array([key for _, key in pairs], np.uint64)
        return Probes(rows, keys, np.zeros(len(pairs), np.uint64), np.zeros(len(pairs), np.uint8))

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        return self.postings(bodies)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        pairs = zip(lefts, rights, strict=True)
        return Measures(resemblance=np.array([self.alike.get(frozenset(pair), 0.0) for pair in pairs]))

    def fingerprint(self, body: bytes) -> int | None:
        return None


class Told(NamedTuple):
    """What a claim was told: the whole answer, and the names of the entries in it."""

    answer: Answer
    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Scene:
    """Letters, their buckets and likeness; which claim algorithm runs, and how its steps may be ordered."""

    buckets: Mapping[bytes, tuple[int, ...]]
    alike: Sequence[str]
    index: Literal["originals", "all"] = "originals"
    revisions: Literal["keep", "replace"] = "keep"
    kind: type[Index] = Index
    concurrent: bool = False
    any_order: bool = False
    marks: list[Mark] = field(default_factory=list)

    @property
    def method(self) -> Tiny:
        return Tiny(self.buckets, {frozenset((pair[:1].encode(), pair[1:].encode())): 1.0 for pair in self.alike})

    def claim(self, document_id: str, letter: str) -> Process:
        name = f"claim {document_id}={letter}"
        return Process(name, lambda number: self._claim(self._index(_once(number)), document_id, letter))

    def delete(self, document_id: str) -> Process:
        return Process(f"delete {document_id}", lambda number: self._delete(self._index(_once(number)), document_id))

    def in_sequence(self, *acts: tuple[str, ...]) -> Process:
        """One process that deletes documents, given by name, and claims others, given by name and letter."""

        async def steps(number: int) -> Hashable:
            numbers = count(1000 * number)
            index = self._index(lambda _: next(numbers))
            return tuple([await (self._claim(index, *act) if act[1:] else self._delete(index, *act)) for act in acts])

        return Process(f"sequence {acts}", steps)

    def _index(self, new_entry_id: Callable[[bytes], int]) -> Index:
        store = StepwiseStore(self.marks, any_order=self.any_order)
        profile = Profile(name="tiny", resemblance=0.5, index=self.index, revisions=self.revisions)
        gather = store.side_by_side if self.concurrent else run_sequentially
        return self.kind(store, self.method, profile, Limits(), new_entry_id=new_entry_id, gather=gather)

    async def _claim(self, index: Index, document_id: str, letter: str) -> Told:
        claim = Claim(document_id=document_id, version=letter, content=letter.encode(), body=letter.encode())
        [outcome] = await index.claim([claim])
        return Told(outcome.answer, tuple(sorted((e, r.owner.document_id) for e, r in outcome.named.items())))

    async def _delete(self, index: Index, document_id: str) -> bool:
        return (await index.delete([document_id]))[0]

    def quiet(self, claims: Sequence[tuple[str, str]], *, replays: int) -> Quiet:
        """Which steps commute with all that others may still do, where nothing is deleted: postings stay, and a
        registered record stays as it is, but for documents that join its holders."""
        names, letters = Counter(name for name, _ in claims), Counter(letter.encode() for _, letter in claims)
        fixed = self.index == "originals" or max(letters.values()) == 1
        keys = {key for keys in self.buckets.values() for key in keys}
        sharing = {key: {p for p, (_, a) in enumerate(claims) if key in self.buckets[a.encode()]} for key in keys}
        members = {key: {letter for letter in letters if key in self.buckets[letter]} for key in keys}

        def quiet(world: World, ask: Ask, others: frozenset[int]) -> bool:
            match ask.what:
                case "add_content" | "save_answers":  # a document that only this process knows
                    return names[ask.key] == 1
                case "record" | "register":
                    return fixed and bool(world.get("records", ask.key).registered)
                case "add_entry":  # no other process knows an entry before it is in a bucket, unless by its content
                    entry = world.get("contents", ask.key)
                    posted = {posting[0] for _, postings in world.buckets for posting in postings}
                    unknown = letters[ask.key] == 1 and entry not in posted
                    return unknown or (fixed and entry is not None and bool(world.get("records", entry).registered))
                case "post":
                    there = world.get("buckets", ask.key) or ()
                    return set(ask.how) <= set(there) or not (replays or others & sharing[ask.key])
                case "bucket":  # everybody who will ever be in it is
                    there = world.get("buckets", ask.key) or ()
                    return {world.get("records", entry).content for entry, _ in there} == members[ask.key]
            return False

        return quiet


@dataclass(frozen=True)
class Cast:
    """The documents of a scene, each with its letter: process p claims the p-th of them."""

    scene: Scene
    claims: Sequence[tuple[str, str]]

    @cached_property
    def processes(self) -> list[Process]:
        return [self.scene.claim(*claim) for claim in self.claims]

    def explored(self, *, crashes: int = 0, replays: int = 0) -> Explorer:
        quiet = self.scene.quiet(self.claims, replays=replays)
        return Explorer(self.processes, crashes=crashes, replays=replays, quiet=quiet)

    def problems(self, final: Final) -> Iterator[str]:
        """What is wrong with an end. Nothing should be."""
        told: dict[str, set[Told]] = {name: set() for name, _ in self.claims}
        for (name, _), heard in zip(self.claims, final.told, strict=True):
            told[name] |= set(heard)
        for p, (name, _) in enumerate(self.claims):
            told[name].add(alone(final.world, self.processes[p], entry_of(p, 50))[1])
        if any(len(heard) > 1 for heard in told.values()):
            yield "a document was told two things"
        passes = {name for name, heard in told.items() if not all(one.answer.similar for one in heard)}
        yield from fairness(self.scene, dict(self.claims), passes)
        yield from leftovers(self.scene, final.world)


def fairness(scene: Scene, letters: Mapping[str, str], passes: Set[str]) -> Iterator[str]:
    """Of documents alike exactly one passes. Likeness is not chained: no two alike, and some of each family."""
    alike = {
        frozenset((a, b))
        for a, b in combinations(letters, 2)
        if letters[a] == letters[b] or frozenset((letters[a].encode(), letters[b].encode())) in scene.method.alike
    }
    if any(pair <= passes for pair in alike):
        yield "two that are alike passed"
    families = [{name} for name in letters]
    for pair in alike:
        joined = [family for family in families if family & pair]
        families = [family for family in families if not family & pair] + [set().union(*joined)]
    if not all(family & passes for family in families):
        yield "nobody of a family passed"


def leftovers(scene: Scene, world: World) -> Iterator[str]:
    """What is half-done in a world in which nobody does anything any more."""
    records: dict[int, EntryRecord] = dict(world.records)
    documents: dict[str, tuple[HeldContent, ...]] = dict(world.documents)
    contents: dict[bytes, int] = dict(world.contents)
    postings = {(key, entry) for key, bucket in world.buckets for entry, _ in bucket}
    if any(entry not in records for _, entry in postings):
        yield "a posting without a record"
    if any(contents.get(record.content) != entry for entry, record in records.items()) or len(contents) != len(records):
        yield "a content that does not point to its record"
    for entry, record in records.items():
        if record.dead:
            yield "a dead record"
        if record.ticket and any((key, entry) not in postings for key in scene.buckets[record.body]):
            yield "a ticket before all postings"
        for holder in record.holders:
            if all(held.content != record.content for held in documents.get(holder.document_id, ())):
                yield "a record without its document"
    for name, held in documents.items() if scene.revisions == "keep" else ():
        for one in held:
            there = records.get(contents.get(one.content, 0))
            holds = there is not None and there.ticket and any(who.document_id == name for who in there.holders)
            if one.answer and not decode_answer(one.answer).similar and not holds:
                yield "a document that passed and is not in the index"


def _once(number: int) -> Callable[[bytes], int]:
    """One entry number: whoever asks for a second begins another attempt."""
    left = [number]

    def new_entry_id(_: bytes) -> int:
        if not left:
            raise Again
        return left.pop()

    return new_entry_id


def cuts(world: World, process: Process, number: int) -> Iterator[World]:
    """The worlds that a process leaves behind when it stops for good: before its first step, after each, at its end."""
    node = begun(process, number)
    yield world
    while node.offers:
        place, ask = node.offers[0]
        world, answer = answered(world, ask)
        node = node.after(Reply(place, answer))
        yield world


def settled(world: World, *processes: Process, number: int = 9000) -> tuple[World, list[Any]]:
    """Let processes do their work one after another: the world after that, and what each was told."""
    told = []
    for n, process in enumerate(processes):
        world, heard = alone(world, process, number + 10 * n)
        told.append(heard)
    return world, told
