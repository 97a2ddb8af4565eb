"""The way of a document, and the only owner of the order of its steps.

    check-ins -> normalise -> sign -> claim -> verdicts

Whole batches go through; sources and sinks only feed it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np

from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.stored_verdict import Answer, Hit
from gate.core.text import LONGEST_FOLD, content_ids, folded_length, normalise
from gate.errors import BadDocument, ConfigError
from gate.index.protocol.batch_order import claim_batch
from gate.index.protocol.claim import Claim, Index, Outcome
from gate.index.protocol.stale import until_fresh
from gate.index.store import Holder, Record
from gate.limits import Limits
from gate.model import CheckIn, Degraded, Match, Relation, Verdict
from gate.wire import VerdictEvent

T = TypeVar("T")

FINGERPRINT_BYTES = 8
SIGNED_CHARS = 600_000  # a batch of 256 documents of 2 KB is signed in one go


def run_now(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, as those over an embedded store do not, without an event loop."""
    try:
        steps.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    steps.close()
    raise RuntimeError("an embedded store must not wait")


def admit(document: CheckIn, limits: Limits) -> None:
    """Refuse what cannot be judged, by a `BadDocument` that says why."""
    if not document.document_id:
        raise BadDocument("bad_field", "document_id: is empty; give every document an id")
    length, most = len(document.text), limits.max_document_chars
    if most // LONGEST_FOLD < length <= most and not document.text.isascii():
        length = folded_length(document.text)
    if length > most:
        raise BadDocument(
            "too_large",
            f"text: has {length} characters, over max_document_chars = {most}; raise that limit or split the document",
        )
    if document.text.isascii() and document.document_id.isascii() and (document.version or "").isascii():
        return
    for name in ("document_id", "version", "text"):
        value = getattr(document, name)
        if value:
            try:
                value.encode()
            except UnicodeEncodeError as exc:
                problem = f"{name}: has a lone surrogate at character {exc.start}; encode it as valid Unicode"
                raise BadDocument("bad_text", problem) from None


def batches(documents: Iterable[CheckIn], limits: Limits) -> Iterator[list[CheckIn]]:
    """Cut a stream into batches bounded in documents and characters."""
    batch: list[CheckIn] = []
    characters = 0
    for document in documents:
        if batch and (len(batch) >= limits.batch_documents or characters + len(document.text) > limits.batch_chars):
            yield batch
            batch, characters = [], 0
        batch.append(document)
        characters += len(document.text)
    if batch:
        yield batch


def pieces(batch: Sequence[CheckIn]) -> Iterator[Sequence[CheckIn]]:
    """Cut a batch into even parts of about SIGNED_CHARS: the kernels are a quarter slower where a core's cache is too
    small for what they work on."""
    characters = sum(len(document.text) for document in batch)
    size = -(-len(batch) // max(-(-characters // SIGNED_CHARS), 1))
    return (batch[first : first + size] for first in range(0, len(batch), max(size, 1)))


@dataclass(frozen=True, slots=True)
class Signed:
    """A batch after the pure steps: what the index will be asked, and how many features each document has."""

    documents: Sequence[CheckIn]
    claims: list[Claim]
    features: list[int]


class Pipeline:
    """Signs on whatever thread calls it, claims wherever the store lives."""

    def __init__(self, index: Index, method: Method, profile: Profile, *, secret: bytes = b"") -> None:
        self.index = index
        self.method = method
        self.profile = profile
        self._secret = secret
        self._ref = profile.ref
        self._begun = hashlib.blake2b(_measured(self._ref.encode()), digest_size=16)

    def sign(self, documents: Sequence[CheckIn]) -> Signed:
        """Normalise and sign: pure and busy, so a service calls it outside its event loop."""
        parts = [self._sign(piece) for piece in pieces(documents)]
        claims = [claim for claims, _ in parts for claim in claims]
        return Signed(documents, claims, [count for _, counts in parts for count in counts])

    def _sign(self, documents: Sequence[CheckIn]) -> tuple[list[Claim], list[int]]:
        """Claims, and how many features each document has."""
        texts = normalise([document.text for document in documents])
        contents = content_ids(texts, self._secret)
        signatures = self.method.sign(texts)
        lengths = np.diff(texts.starts).tolist()
        claims = [
            Claim(
                document_id=d.document_id,
                version=d.version,
                content=content,
                body=body,
                empty=not length,
                degraded=(Degraded.FEATURES_CAPPED,) if capped else (),
            )
            for d, content, body, length, capped in zip(
                documents, contents, signatures.bodies, lengths, signatures.capped, strict=True
            )
        ]
        return claims, signatures.features

    def signed_by(self, verdicts: Sequence[Verdict | VerdictEvent]) -> Signed:
        """What was signed, from the verdicts that it got. ConfigError: they do not tell enough for that."""
        if self.method.room.body != FINGERPRINT_BYTES:
            raise ConfigError(
                f"profile {self._ref} keeps a sketch of each document, and a verdict tells its fingerprint only: "
                "rebuild the index from the check-ins, or carry it over with `gate index export` and `import`"
            )
        claims = [
            Claim(
                document_id=verdict.document_id,
                version=verdict.version,
                content=bytes.fromhex(verdict.content_id),
                body=int(verdict.fingerprint, 16).to_bytes(FINGERPRINT_BYTES, "little") if verdict.fingerprint else b"",
                empty=verdict.relation is Relation.EMPTY,
                degraded=tuple(reason for reason in verdict.degraded if reason is Degraded.FEATURES_CAPPED),
            )
            for verdict in verdicts
        ]
        return Signed((), claims, [verdict.features or 0 for verdict in verdicts])

    async def check_in(self, signed: Signed) -> list[Verdict]:
        """Claim a place for every document, and say what became of it."""
        # What was claimed stands; to claim it again gives the same answers.
        outcomes = await until_fresh(lambda: claim_batch(self.index, self.method, self.profile, signed.claims))
        return self._verdicts(signed, outcomes)

    async def preview(self, signed: Signed) -> list[Verdict]:
        """Judge against the index without entering it."""
        return self._verdicts(signed, await until_fresh(lambda: self.index.look(signed.claims)))

    def _verdicts(self, signed: Signed, outcomes: Sequence[Outcome]) -> list[Verdict]:
        return [
            self.verdict(claim, outcome.answer, outcome.named, features=features)
            for claim, outcome, features in zip(signed.claims, outcomes, signed.features, strict=True)
        ]

    def verdict(self, claim: Claim, answer: Answer, named: dict[int, Record], *, features: int | None) -> Verdict:
        """Dress an answer for the outside, with names instead of entries."""
        print_ = self.method.fingerprint(claim.body)
        group = named.get(answer.group) if named else None
        return Verdict(
            document_id=claim.document_id,
            version=claim.version,
            similar=answer.similar,
            relation=answer.relation,
            group=group.owner.document_id if group else claim.document_id,
            content_id=claim.content.hex(),
            fingerprint=None if print_ is None else f"{print_:016x}",
            profile=self._ref,
            verdict_id=self.verdict_id(claim),
            features=features,
            candidates=answer.candidates,
            matches=tuple([_match(hit, named[hit.entry].owner) for hit in answer.hits]) if answer.hits else (),
            degraded=answer.degraded,
        )

    def unchecked(self, signed: Signed) -> list[Verdict]:
        """What is said of documents that pass without a look, because the index is away; nothing is claimed for them.
        Their verdicts have ids of their own, since a check-in of the same document may get another one later."""
        answer = Answer(similar=False, relation=Relation.NEW, group=0, candidates=0, degraded=(Degraded.UNCHECKED,))
        return [
            msgspec.structs.replace(
                self.verdict(claim, answer, {}, features=features), verdict_id=self.verdict_id(claim, b"unchecked")
            )
            for claim, features in zip(signed.claims, signed.features, strict=True)
        ]

    def verdict_id(self, claim: Claim, kind: bytes = b"") -> str:
        """The same document with the same content under the same profile has the same verdict, and the same id."""
        digest = self._begun.copy()
        digest.update(_measured(claim.document_id.encode()) + _measured(claim.content) + kind)
        return digest.hexdigest()


def _match(hit: Hit, owner: Holder) -> Match:
    return Match(
        document_id=owner.document_id,
        version=owner.version,
        relation=hit.relation,
        distance=hit.distance,
        resemblance=hit.resemblance,
        containment=hit.containment,
    )


def _measured(part: bytes) -> bytes:
    """With its length before it: no two lists of parts are the same when they are joined."""
    return len(part).to_bytes(4, "little") + part
