"""Every interleaving of processes that claim and delete, over the coroutines that are shipped.

A process is a coroutine over a `StepwiseStore`. What it does next depends on nothing but the replies it got, so it is
known by them, its trace; to go back to an earlier point it is run again from the start with the same answers.
The search is depth first over states

    (world, trace of each process, the results of each, how many crashes and replays are left)

and each state is visited once. A crash closes a process anywhere and begins it again; a replay begins one again that
was answered. What keeps the search small, and loses nothing:

- Traces are shared: a process is run again only for a trace that was never seen. Where several asks are open at once,
  a trace is the set of those granted, whatever their order: what a process knows is the same. Of a process that is
  done nothing is left but its result, and one that gives up an attempt begins anew with an empty trace
  (`Index.claim` of one document carries nothing from attempt to attempt).
- A crash is tried right after each change that a process makes to the world. At any later step before its next change
  it would be the same: the process loses what it knows, and no other process can tell.
- Some steps commute with whatever other processes may still do (`quiet`): reading what can no longer change, writing
  what no other process reads, writing what is there already. Where a process is at such a step, no other one goes
  first. That is a persistent set: every schedule from here has this step in it, and moving it to the front of the
  schedule leads to the same end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Hashable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from tests.index.stepwise import Ask, Offer, Reply, World, answered

Begin: TypeAlias = Callable[[int], Coroutine[Any, Any, Hashable]]
Quiet: TypeAlias = Callable[[World, Ask, frozenset[int]], bool]


class BeginsAgain(BaseException):
    """A process begins another attempt: raised where it asks for a second entry number."""


class Process(NamedTuple):
    """`begin` makes its coroutine, with an entry number for what it may enter."""

    name: str
    begin: Begin


class Node:
    """A process after some replies: what it asks for now, or its result."""

    __slots__ = ("again", "done", "later", "live", "number", "offers", "process", "result", "same", "trace")

    def __init__(self, process: Process, number: int, trace: tuple[Reply, ...], live: Coroutine[Any, Any, Any]) -> None:
        self.process, self.number, self.trace = process, number, trace
        self.same: dict[frozenset[Reply], Node] = {}
        self.later: dict[Reply, Node] = {}
        self.offers: tuple[Offer, ...] = ()
        self.result: Hashable = None
        self.again = self.done = False
        self.live: Coroutine[Any, Any, Any] | None = live  # handed on to the first that comes after
        try:
            self.offers = live.send(trace[-1] if trace else None)
        except StopIteration as stop:
            self.result, self.done, self.live = stop.value, True, None
        except BeginsAgain:
            self.again, self.live = True, None

    def after(self, reply: Reply) -> Node:
        if reply not in self.later:
            trace = (*self.trace, reply)
            granted = frozenset(trace)
            if granted not in self.same:
                live, self.live = self.live, None
                if live is None:
                    live = self.process.begin(self.number)
                    for earlier in (None, *self.trace):
                        live.send(earlier)
                self.same[granted] = Node(self.process, self.number, trace, live)
                self.same[granted].same = self.same
            self.later[reply] = self.same[granted]
        return self.later[reply]


class State(NamedTuple):
    world: int
    nodes: tuple[Node, ...]
    results: tuple[int, ...]
    lives: tuple[int, ...]  # how often each process began; only counted where entries can die
    crashes: int
    replays: int


class Final(NamedTuple):
    """An end: the world, the results of each process, and how it came to that."""

    world: World
    results: tuple[tuple[Any, ...], ...]
    schedule: Callable[[], str]


class Explorer:
    """One scenario. `lives` bounds how often a process begins where entries can die, so that no number may come twice
    (None: they cannot die, and a document's number stays the same)."""

    def __init__(
        self,
        processes: Sequence[Process],
        world: World = World(),  # noqa: B008 - a value
        *,
        crashes: int = 0,
        replays: int = 0,
        lives: int | None = None,
        quiet: Quiet | None = None,
    ) -> None:
        self._processes = processes
        self._lives = lives
        self._quiet = quiet
        self._worlds: list[World] = []
        self._world_ids: dict[World, int] = {}
        self._results: list[tuple[Any, ...]] = []
        self._result_ids: dict[tuple[Any, ...], int] = {}
        self._roots: dict[tuple[int, int], Node] = {}
        self._ends: dict[int, Node] = {}
        self._asks: dict[Ask, int] = {}
        self._steps: dict[tuple[int, int], tuple[int, int, Any]] = {}
        self._moves: dict[tuple[Node, int, int], Node] = {}
        self._offers: dict[Node, list[tuple[int, Offer]]] = {}
        self._quiets: dict[tuple[int, int, int], bool] = {}
        self._answers: dict[Any, int] = {}
        self.states = 0
        count = range(len(processes))
        self._first = State(
            self._world(world),
            tuple(self._root(p, 0) for p in count),
            tuple(self._result_id(()) for _ in count),
            tuple(0 for _ in count),
            crashes,
            replays,
        )

    def finals(self) -> Iterator[Final]:
        """Every state in which all processes are done, each once."""
        seen = {self._first}
        path = [self._first]
        options = [iter(self._successors(self._first))]
        while options:
            state = next(options[-1], None)
            if state is None:
                options.pop()
                path.pop()
                continue
            if state in seen:
                continue
            seen.add(state)
            self.states = len(seen)
            path.append(state)
            options.append(iter(self._successors(state)))
            if all(node.done for node in state.nodes):
                yield self._final(path)

    def random_schedules(self, count: int, *, seed: int) -> Iterator[Final]:
        """The ends of so many random schedules; those that ran out of lives are left out."""
        chance = random.Random(seed)
        for _ in range(count):
            path = [self._first]
            while options := self._successors(path[-1]):
                path.append(chance.choice(options))
            if all(node.done for node in path[-1].nodes):
                yield self._final(path)

    def _final(self, path: Sequence[State]) -> Final:
        end, way = path[-1], list(path)
        return Final(
            self._worlds[end.world], tuple(self._results[number] for number in end.results), lambda: self._schedule(way)
        )

    def _schedule(self, path: Sequence[State]) -> str:
        lines = []
        for before, after in pairwise(path):
            for old, new in zip(before.nodes, after.nodes, strict=True):
                if old is not new:
                    known = len(old.trace) if old.trace == new.trace[: len(old.trace)] else 0
                    replies = [reply.answer for reply in new.trace[known:]]
                    asks = " | ".join(f"{offer.ask.what} {offer.ask.key}" for offer in old.offers)
                    lines.append(f"{old.process.name}: {asks} -> {replies or 'begins again'}")
        return "\n".join(lines)

    def _successors(self, state: State) -> list[State]:
        """The states after each step that can be taken, and after all quiet steps that follow it."""
        moving = [
            later
            for p, node in enumerate(state.nodes)
            for ask, offer in self._open(node)
            for later in self._granted(state, p, ask, offer)
        ]
        resting = []
        while moving:
            later = moving.pop()
            if quiet := self._quiet_step(later):
                moving += self._granted(later, *quiet)
            else:
                resting.append(later)
        return resting

    def _quiet_step(self, state: State) -> tuple[int, int, Offer] | None:
        if self._quiet is None:
            return None
        running = sum([1 << p for p, node in enumerate(state.nodes) if not node.done])
        for p, node in enumerate(state.nodes):
            for ask, offer in self._open(node):
                case = (state.world, ask, running ^ 1 << p)
                is_quiet = self._quiets.get(case)
                if is_quiet is None:
                    others = frozenset(q for q, other in enumerate(state.nodes) if q != p and not other.done)
                    is_quiet = self._quiets[case] = self._quiet(self._worlds[state.world], offer.ask, others)
                if is_quiet:
                    return p, ask, offer
        return None

    def _open(self, node: Node) -> list[tuple[int, Offer]]:
        if node not in self._offers:
            self._offers[node] = [(self._asks.setdefault(o.ask, len(self._asks)), o) for o in node.offers]
        return self._offers[node]

    def _granted(self, state: State, p: int, ask: int, offer: Offer) -> list[State]:
        """One of the asks of a process is granted; then it may crash, or, if that was its last step, begin again."""
        world, short, answer = self._steps.get((state.world, ask)) or self._step(state.world, ask, offer.ask)
        move = (state.nodes[p], ask, short)
        node = self._moves.get(move)
        if node is None:
            node = self._moves[move] = state.nodes[p].after(Reply(offer.place, answer))
        end = self._ends.setdefault(p, node) if node.done else node
        later: list[State] = []
        after = State(world, _with(state.nodes, p, end), state.results, state.lives, state.crashes, state.replays)
        if state.crashes and world != state.world:
            later += self._begun(after._replace(crashes=state.crashes - 1), p)
        if node.again:
            return later + self._begun(after, p)
        if node.done:
            results = self._result_id((*self._results[state.results[p]], node.result))
            after = after._replace(results=_with(state.results, p, results))
            if state.replays:
                later += self._begun(after._replace(replays=state.replays - 1), p)
        return [*later, after]

    def _begun(self, state: State, p: int) -> list[State]:
        life = 0 if self._lives is None else state.lives[p] + 1
        if self._lives is not None and life >= self._lives:
            return []
        return [state._replace(nodes=_with(state.nodes, p, self._root(p, life)), lives=_with(state.lives, p, life))]

    def _root(self, p: int, life: int) -> Node:
        if (p, life) not in self._roots:
            self._roots[p, life] = begun(self._processes[p], entry_of(p, life))
        return self._roots[p, life]

    def _step(self, world: int, number: int, ask: Ask) -> tuple[int, int, Any]:
        """The world after a step, and its answer, by number and as it is."""
        after, answer = answered(self._worlds[world], ask)
        # What is done with a bucket must not depend on the order in it, but for caps, and nothing is capped here.
        after = after._replace(buckets=tuple((key, tuple(sorted(postings))) for key, postings in after.buckets))
        step = self._world(after), self._answers.setdefault(answer, len(self._answers)), answer
        self._steps[world, number] = step
        return step

    def _world(self, world: World) -> int:
        number = self._world_ids.setdefault(world, len(self._worlds))
        if number == len(self._worlds):
            self._worlds.append(world)
        return number

    def _result_id(self, results: tuple[Any, ...]) -> int:
        number = self._result_ids.setdefault(results, len(self._results))
        if number == len(self._results):
            self._results.append(results)
        return number


def entry_of(process: int, life: int = 0) -> int:
    """The entry number of a process."""
    return 100 * (process + 1) + life


@cache
def begun(process: Process, number: int) -> Node:
    return Node(process, number, (), process.begin(number))


def alone(world: World, process: Process, number: int) -> tuple[World, Any]:
    """Run a process to its end while no other does anything: the world after it, and its result."""
    node = begun(process, number)
    while not node.done:
        if node.again:
            number += 1
            node = begun(process, number)
            continue
        place, ask = node.offers[0]
        world, answer = answered(world, ask)
        node = node.after(Reply(place, answer))
    return world, node.result


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])
