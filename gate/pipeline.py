"""How a document is processed: the only owner of the order of the steps.

    events ──steps──▶ check-ins ──Signer──▶ claims ──Pipeline──▶ verdicts
             (deletes between them)

A source cuts its stream with `chunked`, divides each batch at its deletes with `steps`, and hands whole batches on.
Signing is pure and keeps a core busy; only claiming touches the index.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import msgspec
import numpy as np

from gate.core.document_details import MAX_MIME_TYPE_CHARS, encode_details, long_details, metadata_json
from gate.core.judge import Likeness, bit_agreement
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.stored_verdict import Answer, Hit
from gate.core.text import LONGEST_FOLD, Texts, content_id_of_bytes, content_ids, folded_lengths, normalise
from gate.errors import UNREADABLE_REASONS, BadDocument, ConfigError, UnreadableReason
from gate.index.protocol.batch_order import claim_in_order
from gate.index.protocol.claim import Index
from gate.index.protocol.outcome import Claim, Outcome
from gate.index.store import EntryRecord, Holder, retry_stale
from gate.limits import Limits
from gate.model import CheckIn, Degraded, Match, Relation, Verdict
from gate.wire import DeleteEvent, Event, VerdictEvent

T = TypeVar("T")

FINGERPRINT_BYTES = 8
THREAD_CHARS = 32_768  # fewer are not worth another thread
SIGNED_CHARS = 600_000  # a batch of 256 documents of 2 KB is signed in one go

_OPTIONAL = (str, type(None))
_ABSENT = (None,) * 10
_FIELDS: tuple[tuple[str, type | tuple[type, ...], str], ...] = (
    ("document_id", str, "a str"),
    ("text", str, "a str"),
    ("version", _OPTIONAL, "a str or None"),
    ("source", _OPTIONAL, "a str or None"),
    ("title", _OPTIONAL, "a str or None"),
    ("uri", _OPTIONAL, "a str or None"),
    ("mime_type", _OPTIONAL, "a str or None"),
    ("size_bytes", (int, type(None)), "an int or None"),
    ("checked_in_at", (datetime, type(None)), "a datetime or None"),
    ("metadata", (dict, msgspec.Raw, type(None)), "a dict or None"),
    ("content_sha256", _OPTIONAL, "a str or None"),
    ("unreadable_reason", _OPTIONAL, "a str or None"),
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("document_id", "text", "version", "source", "title", "uri", "mime_type")
# What a document itself makes a verdict lack, by whether its features, and its details, were cut.
_HIT: dict[tuple[bool, bool], tuple[Degraded, ...]] = {
    (False, False): (),
    (True, False): (Degraded.FEATURES_CAPPED,),
    (False, True): (Degraded.DETAILS_CUT,),
    (True, True): (Degraded.FEATURES_CAPPED, Degraded.DETAILS_CUT),
}
_UNCHECKED = Answer(similar=False, relation=Relation.NEW, group=0, candidates=0, degraded=(Degraded.UNCHECKED,))


def run_now(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, as those over an embedded store do not, without an event loop."""
    try:
        steps.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    steps.close()
    raise RuntimeError("an embedded store must not wait")


def validate_document(document: CheckIn, limits: Limits) -> None:
    """Refuse a document that cannot be judged, by a `BadDocument` that says why."""
    if type(document) is not CheckIn or type(document.text) is not str or type(document.document_id) is not str:
        _validate_types(document)
    others = (
        document.version,
        document.source,
        document.title,
        document.uri,
        document.mime_type,
        document.size_bytes,
        document.checked_in_at,
        document.metadata,
        document.content_sha256,
        document.unreadable_reason,
    )
    if others != _ABSENT:
        _validate_types(document)
    if not document.document_id:
        raise BadDocument("bad_field", "document_id: is empty; give every document an id")
    length, most = len(document.text), limits.max_document_chars
    if most // LONGEST_FOLD < length <= most and not document.text.isascii():
        [length] = folded_lengths([document.text])
    if length > most:
        raise BadDocument(
            "too_large",
            f"text: has {length} characters, over max_document_chars = {most}; raise that limit or split the document",
        )
    if not document.text.isascii() or not document.document_id.isascii() or others != _ABSENT:
        for name in _TEXTS:
            validate_characters(name, getattr(document, name) or "")
    if others != _ABSENT:
        _validate_details(document, limits)
        _validate_unreadable(document)


def _validate_unreadable(document: CheckIn) -> None:
    """Refuse what is neither a text nor a file without one."""
    digest, reason = document.content_sha256, document.unreadable_reason
    if digest is not None and not _SHA256.fullmatch(digest):
        raise BadDocument("bad_field", "content_sha256: is no SHA-256; give 64 lower-case hexadecimal digits")
    if digest is not None and document.text:
        raise BadDocument("bad_field", "content_sha256: there is a text too; give one of them")
    if reason is not None and (digest is None or reason not in UNREADABLE_REASONS):
        remedy = f"give one of {', '.join(UNREADABLE_REASONS)}, and content_sha256 with it"
        raise BadDocument("bad_field", f"unreadable_reason: is not the reason of a file without text; {remedy}")


def _validate_details(document: CheckIn, limits: Limits) -> None:
    """Refuse details that cannot be kept; and where `limits.long_details` says so, those that are too long."""
    if document.size_bytes is not None and not 0 <= document.size_bytes < 1 << 63:
        raise BadDocument("bad_field", f"size_bytes: is {document.size_bytes}; give a size of at least 0")
    if document.mime_type is not None and len(document.mime_type) > MAX_MIME_TYPE_CHARS:
        raise BadDocument("bad_field", f"mime_type: is longer than {MAX_MIME_TYPE_CHARS} characters; correct it")
    try:
        metadata_json(document)
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise BadDocument("bad_field", "metadata: cannot be written as JSON; give strings and numbers") from exc
    if limits.long_details == "refuse":
        for field, problem in long_details(document, limits):
            remedy = 'shorten it, raise the limit, or set limits.long_details = "cut"'
            raise BadDocument("too_large", f"{field}: {problem}; {remedy}")


def validate_characters(name: str, value: str) -> None:
    """Refuse half a character: no encoding of Unicode can carry it."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as exc:
            problem = f"{name}: has a lone surrogate at character {exc.start}; encode it as valid Unicode"
            raise BadDocument("bad_text", problem) from None


def _validate_types(document: object) -> None:
    """Refuse what is no document, and a field that is no string: no type checker has seen some callers."""
    if not isinstance(document, CheckIn):
        given = type(document).__name__
        raise BadDocument("bad_field", f"is of type {given}; give CheckIn(document_id=..., text=...)")
    for name, kind, wanted in _FIELDS:
        value = getattr(document, name)
        if not isinstance(value, kind):
            raise BadDocument("bad_field", f"{name}: is of type {type(value).__name__}; give {wanted}")


# Batches


def chunked(items: Iterable[T | None], *, size: Callable[[T], int], max_items: int, max_size: int) -> Iterator[list[T]]:
    """Cut a stream into chunks of at most `max_items` items and `max_size` characters or bytes, in its order.

    An item larger than `max_size` is a chunk of its own. None says that the input pauses: the chunk ends there, so that
    nothing waits for what may come later.
    """
    chunk: list[T] = []
    total = 0
    for item in items:
        added = 0 if item is None else size(item)
        if chunk and (item is None or len(chunk) >= max_items or total + added > max_size):
            yield chunk
            chunk, total = [], 0
        if item is not None:
            chunk.append(item)
            total += added
    if chunk:
        yield chunk


def batches(documents: Iterable[CheckIn], limits: Limits) -> Iterator[list[CheckIn]]:
    """Cut a stream of documents into batches within the limits."""
    return chunked(
        documents,
        size=lambda document: len(document.text),
        max_items=limits.batch_documents,
        max_size=limits.batch_chars,
    )


@dataclass(frozen=True, slots=True)
class CheckIns:
    """Check-ins of a batch that are judged together. `positions[i]` is the place of `documents[i]` in the batch."""

    positions: list[int]
    documents: list[CheckIn]


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes of a batch that follow each other, with their places in the batch."""

    positions: list[int]
    document_ids: list[str]


def steps(events: Iterable[Event | None]) -> list[CheckIns | Deletes]:
    """Divide a batch at its deletes: check-ins before a delete are judged before it, those after it are judged after.

    None keeps the place of a message that could not be decoded; it is in no step.
    """
    divided: list[CheckIns | Deletes] = []
    for position, event in enumerate(events):
        if event is None:
            continue
        last = divided[-1] if divided else None
        if isinstance(event, DeleteEvent):
            if not isinstance(last, Deletes):
                divided.append(last := Deletes([], []))
            last.document_ids.append(event.document_id)
        else:
            if not isinstance(last, CheckIns):
                divided.append(last := CheckIns([], []))
            last.documents.append(event.check_in())
        last.positions.append(position)
    return divided


# Signing


@dataclass(frozen=True, slots=True)
class SignedBatch:
    """A batch after the pure steps: a claim for the index, and the number of features, of each document."""

    claims: list[Claim]
    features: list[int]


class Signer:
    """The part of a gate that needs no index: normalises and signs documents, and makes verdicts of answers.

    Pure, so threads may share it. With several `threads` it signs parts of a batch side by side: the compiled kernel
    lets other threads run, numpy does so less.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        secret: bytes = b"",
        limits: Limits | None = None,
        keep_details: bool = True,
        threads: int = 1,
    ) -> None:
        self.profile = profile
        self.keep_details = keep_details
        self._limits = limits or Limits()
        self.method = method_of(profile, secret, max_features=self._limits.max_features)
        self._secret = secret
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gate-sign") if threads > 1 else None
        self._profile_ref = profile.ref
        self._profile_digest = hashlib.blake2b(_length_prefixed(profile.ref.encode()), digest_size=16)

    def sign(self, documents: Sequence[CheckIn], *, at: float | None = None) -> SignedBatch:
        """Normalise and sign valid documents. It keeps a core busy: a service calls it outside its event loop.

        `at` is the time, in Unix seconds, of check-ins that name none."""
        parts = split_for_signing(documents, self.threads)
        sign = partial(self._sign_part, at=at)
        signed = list(map(sign, parts) if self._pool is None else self._pool.map(sign, parts))
        if len(signed) == 1:
            return signed[0]
        return SignedBatch(
            [claim for part in signed for claim in part.claims], [size for part in signed for size in part.features]
        )

    def _sign_part(self, part: Sequence[CheckIn], *, at: float | None) -> SignedBatch:
        most_of_title, most_of_source = self._limits.max_title_chars, self._limits.max_source_chars
        texts = normalise([document.text for document in part])
        contents = self._contents(part, texts)
        signatures = self.method.sign(texts)
        lengths = np.diff(texts.starts).tolist()
        details = [encode_details(document, self._limits, at=at) for document in part]
        claims = [
            Claim(
                document_id=document.document_id,
                version=document.version,
                content=content,
                body=body,
                source=document.source and document.source[:most_of_source],
                title=document.title and document.title[:most_of_title],
                details=kept if self.keep_details else b"",
                empty=not length and document.content_sha256 is None,
                unreadable=_unreadable_reason(document),
                degraded=_HIT[capped, cut],
            )
            for document, content, body, length, capped, (kept, cut) in zip(
                part, contents, signatures.bodies, lengths, signatures.capped, details, strict=True
            )
        ]
        return SignedBatch(claims, signatures.features)

    def _contents(self, documents: Sequence[CheckIn], texts: Texts) -> list[bytes]:
        """The content ids of documents: by their texts, and of files without text by their bytes."""
        contents = content_ids(texts, self._secret)
        for i, document in enumerate(documents):
            if document.content_sha256 is not None:
                contents[i] = content_id_of_bytes(bytes.fromhex(document.content_sha256), self._secret)
        return contents

    def from_verdicts(self, verdicts: Sequence[Verdict | VerdictEvent]) -> SignedBatch:
        """Recover what was signed from the verdicts on it. ConfigError: a verdict does not hold enough for that."""
        if self.method.layout.body_bytes != FINGERPRINT_BYTES:
            raise ConfigError(
                f"profile {self.profile.ref} keeps a sketch of each document, and a verdict has its fingerprint only: "
                "rebuild the index from the check-ins, or carry it over with `gate index export` and `import`"
            )
        claims = [
            Claim(
                document_id=verdict.document_id,
                version=verdict.version,
                source=verdict.source,
                title=verdict.title,
                content=bytes.fromhex(verdict.content_id),
                body=int(verdict.fingerprint, 16).to_bytes(FINGERPRINT_BYTES, "little") if verdict.fingerprint else b"",
                empty=verdict.relation is Relation.EMPTY,
                unreadable=verdict.unreadable_reason,
                degraded=tuple(reason for reason in verdict.degraded if reason in _HIT[True, True]),
                details=self._details_of(verdict),
            )
            for verdict in verdicts
        ]
        return SignedBatch(claims, [verdict.features or 0 for verdict in verdicts])

    def _details_of(self, verdict: Verdict | VerdictEvent) -> bytes:
        """What a verdict repeats of the details of its document."""
        if not self.keep_details:
            return b""
        at = verdict.checked_in_at if isinstance(verdict, VerdictEvent) else None
        document = CheckIn(document_id="", text="", title=verdict.title, source=verdict.source, checked_in_at=at)
        return encode_details(document, self._limits, measure=False)[0]

    def verdict(self, claim: Claim, answer: Answer, named: dict[int, EntryRecord], *, features: int | None) -> Verdict:
        """The verdict that an answer of the index becomes, with document ids instead of entries."""
        fingerprint = self.method.fingerprint(claim.body)
        original = named.get(answer.group) if named else None
        group = original.owner.document_id if original else claim.document_id
        matches = tuple([match_of(named[hit.entry].owner, hit) for hit in answer.hits]) if answer.hits else ()
        return Verdict(
            document_id=claim.document_id,
            version=claim.version,
            similar=answer.similar,
            relation=answer.relation,
            group=group,
            content_id=claim.content.hex(),
            fingerprint=None if fingerprint is None else f"{fingerprint:016x}",
            profile=self._profile_ref,
            verdict_id=self._verdict_id(
                claim.document_id, claim.content, answer.similar, answer.relation, group, matches, answer.degraded
            ),
            features=features,
            candidates=answer.candidates,
            matches=matches,
            degraded=answer.degraded,
            source=claim.source,
            title=claim.title,
            unreadable_reason=answer.unreadable or claim.unreadable,  # as it was when this was judged
            ruled_out=answer.ruled_out,
        )

    def unchecked(self, signed: SignedBatch) -> list[Verdict]:
        """Verdicts on documents that pass while the index is unavailable; nothing is claimed for them."""
        return [
            self.verdict(claim, _UNCHECKED, {}, features=features)
            for claim, features in zip(signed.claims, signed.features, strict=True)
        ]

    def verdict_id(self, verdict: Verdict | VerdictEvent) -> str:
        """The id that a verdict under this profile has."""
        content = bytes.fromhex(verdict.content_id)
        return self._verdict_id(
            verdict.document_id,
            content,
            verdict.similar,
            verdict.relation,
            verdict.group,
            verdict.matches,
            verdict.degraded,
        )

    def _verdict_id(
        self,
        document_id: str,
        content: bytes,
        similar: bool,
        relation: Relation,
        group: str,
        matches: Sequence[Match],
        degraded: Sequence[Degraded],
    ) -> str:
        """A hash of the profile, the document with its content, what was decided, and what that rests on. A repeated
        verdict has the same id; one that replaces it, after a document that it names was deleted, has another."""
        decided = f"{'similar' if similar else 'passes'} {relation.value}"
        if Degraded.UNCHECKED in degraded:
            decided = Degraded.UNCHECKED.value
        parts = [document_id.encode(), content, decided.encode(), group.encode()]
        for match in matches:
            version = "" if match.version is None else f"={match.version}"
            parts += [match.document_id.encode(), version.encode(), match.relation.value.encode()]
        digest = self._profile_digest.copy()
        digest.update(b"".join(map(_length_prefixed, parts)))
        return digest.hexdigest()


def _unreadable_reason(document: CheckIn) -> UnreadableReason | None:
    return None if document.content_sha256 is None else document.unreadable_reason or "no_text"


def split_for_signing(batch: Sequence[CheckIn], threads: int = 1) -> list[list[CheckIn]]:
    """Cut a batch into parts of at most SIGNED_CHARS after folding, or one document: a text may fold to six times its
    length, and the kernels are a quarter slower where a core's cache is too small for what they work on. For several
    threads each part is a share of that, and of the batch, so that together they need no more memory."""
    lengths = folded_lengths([document.text for document in batch])
    size = SIGNED_CHARS
    if threads > 1:  # a little more than an equal share, or the last documents would make another part
        size = min(SIGNED_CHARS // threads, max(sum(lengths) * 17 // 16 // threads, THREAD_CHARS))
    sized = zip(batch, lengths, strict=True)
    parts = chunked(sized, size=itemgetter(1), max_items=max(len(batch), 1), max_size=size)
    return [[document for document, _ in part] for part in parts]


# Judging


class Pipeline:
    """Judges signed batches against an index. The coroutines wait only where the store does."""

    def __init__(self, signer: Signer, index: Index) -> None:
        self.signer = signer
        self.index = index

    async def check_in(self, signed: SignedBatch) -> list[Verdict]:
        """Judge documents and index the new ones."""
        method, profile = self.signer.method, self.signer.profile
        # A batch that is claimed again gets the same answers: what was claimed before the index changed is kept.
        outcomes = await retry_stale(lambda: claim_in_order(self.index, method, profile, signed.claims))
        await self.index.confirm()
        return self._verdicts(signed, outcomes)

    async def delete(self, document_ids: Sequence[str]) -> list[bool]:
        """Delete documents. False: there was no such document."""
        known = await self.index.delete(document_ids)
        await self.index.confirm()
        return known

    async def preview(self, signed: SignedBatch) -> list[Verdict]:
        """Judge each document against the index, and leave the index as it is."""
        return self._verdicts(signed, await retry_stale(lambda: self.index.preview(signed.claims)))

    def _verdicts(self, signed: SignedBatch, outcomes: Sequence[Outcome]) -> list[Verdict]:
        return [
            self.signer.verdict(claim, outcome.answer, outcome.named, features=features)
            for claim, outcome, features in zip(signed.claims, outcomes, signed.features, strict=True)
        ]


def match_of(owner: Holder, found: Hit | Likeness) -> Match:
    """What was found, with the name of the document."""
    return Match(
        document_id=owner.document_id,
        version=owner.version,
        relation=found.relation,
        distance=found.distance,
        resemblance=found.resemblance,
        containment=found.containment,
        bit_agreement=bit_agreement(found.distance),
    )


def _length_prefixed(part: bytes) -> bytes:
    """Prefixed with its length, so that no two lists of parts are the same when they are joined."""
    return len(part).to_bytes(4, "little") + part
