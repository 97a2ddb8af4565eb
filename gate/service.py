"""Where the parts are put together: a profile, a method, a store and the pipeline make a gate."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import numpy as np

from gate.core.judge import decode_answer
from gate.core.methods import method_of
from gate.core.passages import Passage, passages
from gate.core.profile import Profile
from gate.core.profiles import BUILT_IN
from gate.core.text import normalise
from gate.core.verify import Likeness, alike, likeness
from gate.errors import ConfigError
from gate.index.claim import Claim, Index
from gate.index.memory import MemoryStore
from gate.index.sqlite import SqliteStore
from gate.index.store import Record
from gate.limits import Limits
from gate.model import CheckIn, Match, Relation, Verdict
from gate.pipeline import Pipeline, admit, batches, run_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two texts side by side. Containment is that of a in b, and of b in a."""

    fingerprints: tuple[str | None, str | None]
    distance: int | None
    resemblance: float | None
    containment: tuple[float | None, float | None]
    alike: bool
    relation: Relation
    passages_a: tuple[Passage, ...]
    passages_b: tuple[Passage, ...]


class Gate:
    """A near-duplicate gate in one process.

    >>> gate = Gate()
    >>> [first] = gate.check_in([CheckIn(document_id="a", text="the quick brown fox jumps over the lazy dog today")])
    >>> first.similar
    False

    The index is in memory, or in a file that several processes may share. Batches of any size are welcome: they
    are cut to the limits. Verdicts come in the order of the documents.
    """

    def __init__(
        self,
        profile: Profile | str = "standard",
        *,
        index: Path | str | None = None,
        secret: bytes = b"",
        limits: Limits | None = None,
    ) -> None:
        self.profile = _profile(profile)
        self.limits = limits or Limits()
        self.method = method_of(self.profile, secret)
        self._secret = secret
        self._store: MemoryStore | SqliteStore = (
            MemoryStore(max_bucket=self.limits.max_bucket)
            if index is None
            else SqliteStore(
                index,
                digest=self.profile.digest(secret),
                profile_ref=self.profile.ref,
                max_bucket=self.limits.max_bucket,
            )
        )
        claims = Index(self._store, self.method, self.profile, self.limits, new_entry=_new_entry)
        self.pipeline = Pipeline(claims, self.method, self.profile, secret=secret)

    def check_in(self, documents: Sequence[CheckIn]) -> list[Verdict]:
        """Judge documents and let the new ones in. A repeated check-in gets its first verdict again."""
        return self._judge(documents, enter=True)

    def check(self, documents: Sequence[CheckIn]) -> list[Verdict]:
        """Judge documents against the index and leave no trace there."""
        return self._judge(documents, enter=False)

    def _judge(self, documents: Sequence[CheckIn], *, enter: bool) -> list[Verdict]:
        for document in documents:
            admit(document, self.limits)
        verdicts: list[Verdict] = []
        for batch in batches(documents, self.limits):
            signed = self.pipeline.sign(batch)
            steps = self.pipeline.check_in(signed) if enter else self.pipeline.check(signed)
            verdicts += run_now(steps)
        return verdicts

    def similar(self, text: str, *, threshold: float | None = None) -> list[Match]:
        """Known documents that are alike to a text, best first. The threshold can only be stricter than the profile's
        where the index finds no more: below it, what the buckets do not bring together stays unseen."""
        document = CheckIn(document_id="?", text=text)
        admit(document, self.limits)
        claim = self.pipeline.sign([document]).claims[0]
        return self._similar(claim.body, claim.content, None, threshold)

    def similar_to(self, document_id: str, *, threshold: float | None = None) -> list[Match]:
        """Known documents that are alike to one that was checked in. KeyError: it is not known."""
        matches: dict[str, Match] = {}
        held = run_now(self._store.document(document_id))
        if not held:
            raise KeyError(document_id)
        for one in held:
            [entry] = run_now(self._store.contents([one.content]))
            [record] = run_now(self._store.records([entry])) if entry else [None]
            if record is not None:
                for match in self._similar(record.body, one.content, document_id, threshold):
                    matches.setdefault(match.document_id, match)
        return sorted(matches.values(), key=_best_first)

    def _similar(self, body: bytes, content: bytes, own: str | None, threshold: float | None) -> list[Match]:
        index = self.pipeline.index
        if threshold is not None:
            index = Index(
                self._store, self.method, _lowered(self.profile, threshold), self.limits, new_entry=_new_entry
            )
        found = list(run_now(index.alike(body)).alike.values())
        [entry] = run_now(self._store.contents([content]))
        [same] = run_now(self._store.records([entry])) if entry else [None]
        matches = [_match(record, how) for record, how in found if record.content != content]
        if same is not None and same.ticket and not same.dead:
            exact = Likeness(distance=0, resemblance=1.0, containment=1.0, relation=Relation.EXACT)
            matches.append(_match(same, exact))
        return sorted((match for match in matches if match.document_id != own), key=_best_first)

    def compare(self, a: str, b: str) -> Comparison:
        """Two texts by the measures of the profile, and the passages they share. The index is not touched."""
        for text in (a, b):
            admit(CheckIn(document_id="?", text=text), self.limits)
        eager = msgspec.structs.replace(self.profile, min_features=1)
        method = method_of(eager, self._secret)
        bodies = method.sign(normalise([a, b])).bodies
        contents = [claim.content for claim in self.pipeline.sign(_two(a, b)).claims]
        shown: Likeness = Likeness(None, None, None, Relation.NEW)
        around, is_alike = None, False
        if all(bodies):
            measures = method.compare(bodies[:1], bodies[1:])
            shown, is_alike = likeness(measures, 0), bool(alike(measures, eager)[0])
            around = None if measures.right_in_left is None else round(float(measures.right_in_left[0]), 4)
        same = contents[0] == contents[1]
        relation = Relation.EXACT if same else shown.relation if is_alike else Relation.NEW
        passages_a, passages_b = passages(a, b)
        prints = tuple(None if (p := method.fingerprint(body)) is None else f"{p:016x}" for body in bodies)
        return Comparison(
            fingerprints=(prints[0], prints[1]),
            distance=shown.distance,
            resemblance=shown.resemblance,
            containment=(shown.containment, around),
            alike=is_alike or same,
            relation=relation,
            passages_a=passages_a,
            passages_b=passages_b,
        )

    def delete(self, document_ids: Sequence[str]) -> list[bool]:
        """Forget documents and all that was kept of them. False: that one was not known."""
        return [run_now(self.pipeline.index.delete(document_id)) for document_id in document_ids]

    def explain(self, document_id: str) -> list[Verdict]:
        """The verdicts that a document was given, one per content; empty if it is not known."""
        verdicts = []
        for held in run_now(self._store.document(document_id)):
            if held.answer is None:
                continue
            answer = decode_answer(held.answer)
            wanted = sorted({hit.entry for hit in answer.hits} | ({answer.group} if answer.group else set()))
            [entry] = run_now(self._store.contents([held.content]))
            [record, *others] = run_now(self._store.records([entry or 0, *wanted]))
            named = {other.entry: other for other in others if other is not None and not other.dead}
            living = msgspec.structs.replace(answer, hits=tuple(h for h in answer.hits if h.entry in named))
            claim = Claim(
                document_id=document_id,
                version=held.version,
                content=held.content,
                body=record.body if record else b"",
            )
            verdicts.append(self.pipeline.verdict(claim, living, named, features=None))
        return verdicts

    def info(self) -> dict[str, int]:
        """Counts and sizes of the index."""
        return run_now(self._store.info())

    def close(self) -> None:
        run_now(self._store.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _profile(profile: Profile | str) -> Profile:
    if isinstance(profile, Profile):
        return profile
    if profile not in BUILT_IN:
        raise ConfigError(f"profile: {profile!r} is unknown; choose one of {', '.join(sorted(BUILT_IN))}")
    return BUILT_IN[profile]


def _new_entry(content: bytes) -> int:
    """A number for one life of a content: 32 bits of its id, so that a store may keep both together, 32 at random."""
    return int.from_bytes(content[:4], "big") << 32 | secrets.randbelow(2**32 - 1) + 1


def _lowered(profile: Profile, threshold: float) -> Profile:
    """The profile with another threshold of likeness: resemblance, or the share of equal bits where there is none."""
    if profile.resemblance is None:
        return msgspec.structs.replace(profile, radius=int(np.floor(64 * (1 - threshold) + 1e-9)))
    return msgspec.structs.replace(profile, resemblance=threshold, containment=None)


def _match(record: Record, how: Likeness) -> Match:
    return Match(
        document_id=record.owner.document_id,
        version=record.owner.version,
        relation=how.relation,
        distance=how.distance,
        resemblance=how.resemblance,
        containment=how.containment,
    )


def _best_first(match: Match) -> tuple[float, int, str]:
    return (-(match.resemblance or 0.0), match.distance or 0, match.document_id)


def _two(a: str, b: str) -> list[CheckIn]:
    return [CheckIn(document_id="a", text=a), CheckIn(document_id="b", text=b)]
