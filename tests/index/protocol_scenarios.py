"""Small worlds to explore: a few documents, which of them are alike, and what must be true at every end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, count
from typing import Any, Literal, NamedTuple

import numpy as np

from gate.core.bands import Probes
from gate.core.method_registry import BodyLayout, Measures, Signatures
from gate.core.profile import Profile
from gate.core.stored_verdict import Answer, decode_answer
from gate.core.text import Texts
from gate.index.protocol.claim import Index, run_sequentially
from gate.index.protocol.outcome import Claim
from gate.index.store import EntryRecord, HeldContent
from gate.limits import Limits
from tests.index.explorer import BeginsAgain, Explorer, Final, Process, Quiet, alone, begun, entry_of
from tests.index.stepwise import Ask, Mark, Reply, StepwiseStore, World, answered


@dataclass(frozen=True)
class Tiny:
    """A method whose bodies are single letters: each has its buckets, and each pair its resemblance."""

    buckets: Mapping[bytes, tuple[int, ...]]
    alike: Mapping[frozenset[bytes], float]

    @property
    def layout(self) -> BodyLayout:
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


class ClaimResult(NamedTuple):
    """The result of a claim: the whole answer, and the documents of the entries in it."""

    answer: Answer
    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Scenario:
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

    async def _claim(self, index: Index, document_id: str, letter: str) -> ClaimResult:
        claim = Claim(document_id=document_id, version=letter, content=letter.encode(), body=letter.encode())
        [outcome] = await index.claim([claim])
        return ClaimResult(outcome.answer, tuple(sorted((e, r.owner.document_id) for e, r in outcome.named.items())))

    async def _delete(self, index: Index, document_id: str) -> bool:
        return (await index.delete([document_id]))[0]

    def quiet(self, claims: Sequence[tuple[str, str]], *, replays: int) -> Quiet:
        """Which steps commute with all that others may still do, where nothing is deleted. A duplicate stays one, and
        so does an entry whose owner was told that it passes; postings of these stay as they are. Where all are kept,
        nothing loses its ticket, but documents join the holders of a record."""
        names, letters = Counter(name for name, _ in claims), Counter(letter.encode() for _, letter in claims)
        fixed = self.index == "originals" or max(letters.values()) == 1
        keys = {key for keys in self.buckets.values() for key in keys}
        sharing = {key: {p for p, (_, a) in enumerate(claims) if key in self.buckets[a.encode()]} for key in keys}
        members = {key: {letter for letter in letters if key in self.buckets[letter]} for key in keys}

        def settled(world: World, entry: int | None) -> bool:
            record = None if entry is None else world.get("records", entry)
            if record is None or not record.registered:
                return False
            if self.index == "all":
                return fixed
            return bool(record.duplicate_of) or has_answer(world, record.owner.document_id, record.content)

        def passed(world: World, entry: int) -> bool:
            return settled(world, entry) and bool(world.get("records", entry).ticket)

        def has_answer(world: World, document_id: str, content: bytes) -> bool:
            return any(held.answer and held.content == content for held in world.get("documents", document_id) or ())

        def quiet(world: World, ask: Ask, others: frozenset[int]) -> bool:
            match ask.what:
                case "add_content" | "save_answers":  # a document that only this process knows
                    return names[ask.key] == 1
                case "record" | "register" | "convert":
                    return settled(world, ask.key)
                case "document":
                    return all(
                        has_answer(world, ask.key, letter.encode()) for name, letter in claims if name == ask.key
                    )
                case "add_entry":  # no other process knows an entry before it is in a bucket, unless by its content
                    entry = world.get("contents", ask.key)
                    posted = {posting[0] for _, postings in world.buckets for posting in postings}
                    unknown = letters[ask.key] == 1 and entry not in posted
                    return unknown or settled(world, entry)
                case "post":
                    there = world.get("buckets", ask.key) or ()
                    if self.index == "all":
                        return set(ask.how) <= set(there) or not (replays or others & sharing[ask.key])
                    if set(ask.how) <= set(there) and all(passed(world, entry) for entry, _ in ask.how):
                        return True
                    # Or no other process can know these entries, and none reads this bucket.
                    posted_in = {
                        key for key, bucket in world.buckets if {e for e, _ in bucket} & {e for e, _ in ask.how}
                    }
                    return not (replays or any(others & sharing[key] for key in {ask.key} | posted_in))
                case "bucket":  # everything that will ever be in it is, and stays
                    there = world.get("buckets", ask.key) or ()
                    whole = {world.get("records", entry).content for entry, _ in there} == members[ask.key]
                    return whole and (self.index == "all" or all(passed(world, entry) for entry, _ in there))
            return False

        return quiet


@dataclass(frozen=True)
class ClaimRace:
    """The documents of a scenario, each with its letter: process p claims the p-th of them."""

    scenario: Scenario
    claims: Sequence[tuple[str, str]]

    @cached_property
    def processes(self) -> list[Process]:
        return [self.scenario.claim(*claim) for claim in self.claims]

    def explored(self, *, crashes: int = 0, replays: int = 0) -> Explorer:
        quiet = self.scenario.quiet(self.claims, replays=replays)
        return Explorer(self.processes, crashes=crashes, replays=replays, quiet=quiet)

    def problems(self, final: Final) -> Iterator[str]:
        """What is wrong with an end. Nothing should be."""
        results: dict[str, set[ClaimResult]] = {name: set() for name, _ in self.claims}
        for (name, _), own in zip(self.claims, final.results, strict=True):
            results[name] |= set(own)
        for p, (name, _) in enumerate(self.claims):
            results[name].add(alone(final.world, self.processes[p], entry_of(p, 50))[1])
        if any(len(own) > 1 for own in results.values()):
            yield "a document got two answers"
        passes = {name for name, own in results.items() if not all(one.answer.similar for one in own)}
        yield from fairness(self.scenario, dict(self.claims), passes)
        yield from leftovers(self.scenario, final.world)
        yield from refused_and_counted(self.scenario, final.world)


def fairness(scenario: Scenario, letters: Mapping[str, str], passes: Set[str]) -> Iterator[str]:
    """Of documents alike exactly one passes. Likeness is not chained: no two alike, and some of each family."""
    alike = {
        frozenset((a, b))
        for a, b in combinations(letters, 2)
        if letters[a] == letters[b] or frozenset((letters[a].encode(), letters[b].encode())) in scenario.method.alike
    }
    if any(pair <= passes for pair in alike):
        yield "two that are alike passed"
    families = [{name} for name in letters]
    for pair in alike:
        joined = [family for family in families if family & pair]
        families = [family for family in families if not family & pair] + [set().union(*joined)]
    if not all(family & passes for family in families):
        yield "none of a family passed"
    if scenario.index == "originals" and not all(
        name in passes or any(pair - {name} <= passes for pair in alike if name in pair) for name in letters
    ):
        yield "a document was refused and nothing that is alike to it passed"


def refused_and_counted(scenario: Scenario, world: World) -> Iterator[str]:
    """What still counts against later documents, though it was refused itself; and answers that name such things."""
    if scenario.index == "all":
        return
    records: dict[int, EntryRecord] = dict(world.records)
    documents: dict[str, tuple[HeldContent, ...]] = dict(world.documents)
    contents: dict[bytes, int] = dict(world.contents)
    posted = {entry for _, bucket in world.buckets for entry, _ in bucket}
    answers = {
        (name, held.content): decode_answer(held.answer)
        for name, contents_held in documents.items()
        for held in contents_held
        if held.answer
    }
    for (name, content), answer in answers.items():
        own = records[contents[content]]
        if answer.similar and own.owner.document_id == name:
            if not own.duplicate_of:
                yield "a refused document holds a ticket"
            if own.entry in posted:
                yield "a refused document is in the buckets"
        for entry in {answer.group, *(hit.entry for hit in answer.hits)} - {0}:
            named = records.get(entry)
            if named is None or named.dead:
                yield "an answer names a document that is gone"
            elif not named.ticket or answers[named.owner.document_id, named.content].similar:
                yield "an answer names a document that was refused"


def leftovers(scenario: Scenario, world: World) -> Iterator[str]:
    """What is half-done in a world in which all processes are done."""
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
        if record.ticket and any((key, entry) not in postings for key in scenario.buckets[record.body]):
            yield "a ticket before all postings"
        for holder in record.holders:
            if all(held.content != record.content for held in documents.get(holder.document_id, ())):
                yield "a record without its document"
    for name, held in documents.items() if scenario.revisions == "keep" else ():
        for one in held:
            there = records.get(contents.get(one.content, 0))
            holds = there is not None and there.ticket and any(holder.document_id == name for holder in there.holders)
            if one.answer and not decode_answer(one.answer).similar and not holds:
                yield "a document that passed and is not in the index"


def _once(number: int) -> Callable[[bytes], int]:
    """One entry number: a process that asks for a second begins another attempt."""
    left = [number]

    def new_entry_id(_: bytes) -> int:
        if not left:
            raise BeginsAgain
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


def run_in_sequence(world: World, *processes: Process, number: int = 9000) -> tuple[World, list[Any]]:
    """Let processes do their work one after another: the world after that, and the result of each."""
    results = []
    for n, process in enumerate(processes):
        world, result = alone(world, process, number + 10 * n)
        results.append(result)
    return world, results
