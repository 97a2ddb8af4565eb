"""The claim that is shipped, over the embedded stores, with a method whose documents are letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

from gate.core.profile import Profile
from gate.index.memory.store import MemoryStore
from gate.index.protocol.batch_order import claim_in_order
from gate.index.protocol.claim import Index
from gate.index.protocol.outcome import Claim, Outcome
from gate.index.sqlite.store import SqliteStore
from gate.index.store import Store
from gate.limits import Limits
from gate.pipeline import run_now
from tests.index.protocol_scenarios import Tiny

T = TypeVar("T")
Backend = Literal["memory", "sqlite"]


@dataclass(frozen=True)
class NamedAnswer:
    """An answer with the names of documents instead of entries."""

    relation: str
    similar: bool
    matches: tuple[str, ...]
    group: str | None
    candidates: int
    degraded: tuple[str, ...]


class CountingStore:
    """A store that counts the calls of each primitive."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        primitive = getattr(self._store, name)

        async def counted(*given: Any, **more: Any) -> Any:
            self.calls["read" if name == "probe" else name] += 1
            return await primitive(*given, **more)

        return counted


class FailingStore:
    """A store whose connection breaks when a primitive is called."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            raise ConnectionError(name)
        return getattr(self._store, name)


class ClaimHarness:
    """Letters that share a bucket are compared; `alike` are pairs of letters, with a resemblance where it is not 1."""

    def __init__(
        self,
        backend: Backend,
        folder: Path,
        alike: Sequence[str] | Mapping[str, float] = (),
        *,
        buckets: Mapping[str, tuple[int, ...]] | None = None,
        limits: Limits | None = None,
        **profile: Any,
    ) -> None:
        weights = alike if isinstance(alike, Mapping) else dict.fromkeys(alike, 1.0)
        letters = {chr(n): (1, 2) for n in range(ord("a"), ord("z") + 1)} | dict(buckets or {})
        self.method = Tiny(
            {letter.encode(): keys for letter, keys in letters.items()},
            {frozenset((pair[:1].encode(), pair[1:].encode())): weight for pair, weight in weights.items()},
        )
        self.profile = Profile(name="tiny", resemblance=0.5, **profile)
        self.limits = limits or Limits()
        folder.mkdir()
        path = folder / "index.gate"
        self._opened: MemoryStore | SqliteStore = (
            MemoryStore(self.limits.max_bucket)
            if backend == "memory"
            else SqliteStore(path, digest="d", profile_ref="tiny@1", max_bucket=self.limits.max_bucket)
        )
        self._numbers = count(1)
        self.use(self._opened)

    def use(self, store: Store, *, limits: Limits | None = None) -> None:
        """Work on over another store, or with other limits."""
        self.store = store
        self.index = Index(store, self.method, self.profile, limits or self.limits, new_entry_id=self.new_entry_id)

    def new_entry_id(self, content: bytes) -> int:
        return int.from_bytes(content[:4], "big") << 32 | next(self._numbers)

    def close(self) -> None:
        run_now(self._opened.close())

    def claim(self, document_id: str, letter: str, version: str | None = None) -> Claim:
        """A letter; "" is an empty text, and a word is a text too short to be signed."""
        content, body = letter.encode().ljust(16, b"."), letter.encode() if len(letter) == 1 else b""
        return Claim(document_id=document_id, version=version, content=content, body=body, empty=not letter)

    def check_in(self, document_id: str, letter: str, version: str | None = None) -> NamedAnswer:
        [outcome] = run_now(self.index.claim([self.claim(document_id, letter, version)]))
        return named_answer(outcome)

    def check_in_batch(self, *documents: tuple[str, str]) -> list[NamedAnswer]:
        claims = [self.claim(*document) for document in documents]
        return [
            named_answer(outcome) for outcome in run_now(claim_in_order(self.index, self.method, self.profile, claims))
        ]

    def preview(self, document_id: str, letter: str) -> NamedAnswer:
        [outcome] = run_now(self.index.preview([self.claim(document_id, letter)]))
        return named_answer(outcome)

    def delete(self, *document_ids: str) -> list[bool]:
        return run_now(self.index.delete(document_ids))

    def counts(self) -> tuple[int, int, int]:
        """How many documents, entries and postings there are."""
        info = run_now(self._opened.info())
        return info["documents"], info["entries"], info["postings"]


OpenHarness = Callable[..., ClaimHarness]


@contextmanager
def open_harnesses(backend: Backend, folder: Path) -> Iterator[OpenHarness]:
    """Opens harnesses over a backend, and close them at the end."""
    opened: list[ClaimHarness] = []

    def open_one(*given: Any, **more: Any) -> ClaimHarness:
        opened.append(ClaimHarness(backend, folder / str(len(opened)), *given, **more))
        return opened[-1]

    yield open_one
    for harness in opened:
        harness.close()


def named_answer(outcome: Outcome) -> NamedAnswer:
    answer, names = outcome.answer, {entry: record.owner.document_id for entry, record in outcome.named.items()}
    return NamedAnswer(
        relation=answer.relation.value,
        similar=answer.similar,
        matches=tuple(names[hit.entry] for hit in answer.hits),
        group=names[answer.group] if answer.group else None,
        candidates=answer.candidates,
        degraded=tuple(reason.value for reason in answer.degraded),
    )


class InterruptedStore:
    """A store that lets something happen before the first call of a primitive."""

    def __init__(self, store: Store, name: str, happens: Callable[[], None]) -> None:
        self._store, self._name, self._happens = store, name, happens

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            self._name = ""
            self._happens()
        return getattr(self._store, name)
