"""The library: `Gate` puts a profile, a store and the pipeline together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from gate.arguments import (
    at_threshold,
    checked_limits,
    checked_threads,
    fingerprint_number,
    list_of,
    only_kind,
    positive,
    typed,
    validate_id,
    validated_documents,
    validated_ids,
    validated_pairs,
    wrong_type,
)
from gate.config.profiles import resolve_profile
from gate.config.settings import MAX_SECRET_BYTES
from gate.core.compare import Comparison, compare, compare_signatures
from gate.core.document_details import decode_details
from gate.core.method_parameters import Fingerprinted, SimHash
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.stored_verdict import decode_answer
from gate.errors import BadDocument, ConfigError, UnknownDocument, UsageError
from gate.index.memory.store import MemoryStore
from gate.index.protocol.claim import Gather, Index, run_sequentially
from gate.index.protocol.outcome import Claim
from gate.index.redis.url import RedisSettings
from gate.index.scan import ScannableStore
from gate.index.sqlite.store import SqliteStore
from gate.index.store import EntryRecord, HeldContent, new_entry_id, retry_stale
from gate.index.tools.pairs import PairFinder
from gate.index.tools.stored_documents import read_stored
from gate.limits import Limits
from gate.look_up import LookUp, record_of
from gate.model import CheckIn, LookUpResult, Match, Subject, Verdict
from gate.pipeline import (
    FINGERPRINT_BYTES,
    Pipeline,
    SignedBatch,
    Signer,
    batches,
    chunked,
    run_now,
    validate_document,
)

if TYPE_CHECKING:
    from gate.index.redis.client import ClientObserver

T = TypeVar("T")

CLOSED = "this gate is closed; open another one"


class RefusedDocument(NamedTuple):
    """A document that cannot be judged, and the reason."""

    document: CheckIn
    error: BadDocument


class Gate:
    """A near-duplicate gate in one process.

    >>> gate = Gate()
    >>> [verdict] = gate.check_in([CheckIn(document_id="a", text="The quick brown fox jumps over a lazy dog today.")])
    >>> verdict.similar, verdict.relation.value
    (False, 'new')

    The index is in memory, in a file that the threads and the processes of a machine may share, or in Redis, which all
    machines may. A method that takes a list answers with a list in its order; a list of any length will do, it is cut
    to the limits. Threads may share a gate; coroutines use `AsyncGate`, as every call here blocks.

    Raises `ConfigError` for a profile, limits or an index that cannot be worked with, `UsageError` for a call that is
    wrong by itself, `BadDocument` for a document that cannot be judged, and `Unavailable` where a retry may help.
    """

    def __init__(
        self,
        profile: Profile | str | Path = "standard",
        *,
        index: Path | str | None = None,
        secret: bytes = b"",
        limits: Limits | None = None,
        redis: RedisSettings | None = None,
        observer: ClientObserver | None = None,
        create: bool = True,
        keep_details: bool = True,
        sign_threads: int = 1,
    ) -> None:
        """
        profile: the name of a built-in one, a .toml file, or a `Profile`.
        index:   the SQLite file to keep the index in, or the URL of a Redis (redis://, rediss://, unix://,
                 redis+sentinel://, redis+cluster://); made if it is not there. None keeps it in memory.
        secret:  a key of at most 64 bytes, without which nobody can make two texts collide on purpose. An index opens
                 only with the secret that it was made with.
        redis:   how to reach a Redis beyond its URL: passwords, certificates, timeouts, retries.
        observer: is called for every round trip to a server, for metrics.
        create:  False refuses an index that is not there (`NoIndex`, a `ConfigError`).
        keep_details: False keeps no title, source, URI, size, MIME type, time and metadata of documents.
        sign_threads: how many threads sign the documents of a batch; more than one pays with the compiled kernel.
        """
        self.profile = resolve_profile(typed("profile", profile, (Profile, str, Path), "a name, a path or a Profile"))
        self.limits = checked_limits(limits)
        self._secret = typed("secret", secret, (bytes,), "bytes")
        if len(secret) > MAX_SECRET_BYTES:
            raise ConfigError(f"secret: has {len(secret)} bytes; at most {MAX_SECRET_BYTES} are used")
        typed("index", index, (Path, str, type(None)), "a path, a URL, or None")
        typed("redis", redis, (RedisSettings, type(None)), "RedisSettings or None")
        self.signer = Signer(
            self.profile,
            secret=secret,
            limits=self.limits,
            keep_details=keep_details,
            threads=checked_threads(sign_threads),
        )
        self.method = self.signer.method
        self._observer = observer
        self._create = create
        self._turn = Lock()  # of threads: an event loop runs one call at a time
        self._runner: asyncio.Runner | None = None
        self._gather: Gather = run_sequentially
        if _is_url(index):
            self._runner, self._gather = asyncio.Runner(), run_concurrently
        try:
            self._store = self._run(self._open(index, redis))
        except BaseException:
            if self._runner is not None:
                self._runner.close()
            raise
        self._closed = False
        self.pipeline = Pipeline(self.signer, self._index(self.profile))

    async def _open(self, index: Path | str | None, redis: RedisSettings | None) -> ScannableStore:
        digest, decisions = self.profile.digest(self._secret), self.profile.decisions()
        limit = self.limits.max_bucket
        if index is None:
            return MemoryStore(max_bucket=limit)
        if not _is_url(index):
            ref = self.profile.ref
            return SqliteStore(
                index, digest=digest, profile_ref=ref, decisions=decisions, max_bucket=limit, create=self._create
            )
        # Imported here: it takes a third of the time in which a command starts, and few need it.
        from gate.index.redis.connect import open_store

        return await open_store(
            str(index),
            profile_ref=self.profile.ref,
            digest=digest,
            layout=self.method.layout,
            max_bucket=limit,
            decisions=decisions,
            settings=redis,
            observer=self._observer,
            create=self._create,
        )

    @property
    def identity(self) -> str:
        """Which index this is: drawn at random when it was created; empty in memory."""
        return self._store.identity

    def _index(self, profile: Profile) -> Index:
        method = self.method if profile is self.profile else method_of(profile, self._secret)
        return Index(self._store, method, profile, self.limits, new_entry_id=new_entry_id, gather=self._gather)

    def _run(self, steps: Coroutine[Any, Any, T]) -> T:
        """Run steps over the store. An embedded one never waits; one across a network needs an event loop."""
        if self._runner is None:
            return run_now(steps)
        if _in_coroutine():
            steps.close()
            raise UsageError("a Gate on Redis would block the event loop that calls it; use `AsyncGate` in a coroutine")
        with self._turn:
            return self._runner.run(steps)

    def _query(self, query: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Run steps that change nothing, again where the generations of the index changed meanwhile."""
        return self._run(retry_stale(lambda: query(*arguments)))

    def _require_open(self) -> None:
        if self._closed:
            raise UsageError(CLOSED)

    # Judging

    def check_in(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        """Judge documents and let the new ones in. A repeated check-in gets its first verdict again.

        `BadDocument` names the first that cannot be judged; nothing of the list was judged then. Take those out with
        `validate` where one bad document must not hold up the others.
        """
        return self._judge(documents, self.check_in_signed)

    def preview(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        """Judge documents against the index, each by itself, and leave no trace. `BadDocument` as in `check_in`."""
        return self._judge(documents, self.preview_signed)

    def _judge(self, documents: Iterable[CheckIn], judge: Callable[[SignedBatch], list[Verdict]]) -> list[Verdict]:
        self._require_open()
        valid = validated_documents(documents, self.limits)
        return [
            verdict
            for batch in batches(valid, self.limits)
            for verdict in judge(self.signer.sign(batch, at=time.time()))
        ]

    def validate(self, documents: Iterable[CheckIn]) -> tuple[list[CheckIn], list[RefusedDocument]]:
        """Part the documents that can be judged from those that cannot: too long, without an id, half a character."""
        self._require_open()
        valid: list[CheckIn] = []
        refused: list[RefusedDocument] = []
        for document in list_of("documents", documents, "CheckIn"):
            try:
                validate_document(document, self.limits)
            except BadDocument as exc:
                refused.append(RefusedDocument(document, exc))
            else:
                valid.append(document)
        return valid, refused

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        """The second half of `check_in`, for one batch that `signer` has signed."""
        self._require_open()
        return self._run(self.pipeline.check_in(_signed(signed)))

    def preview_signed(self, signed: SignedBatch) -> list[Verdict]:
        """The second half of `preview`, for one batch that `signer` has signed."""
        self._require_open()
        return self._run(self.pipeline.preview(_signed(signed)))

    # Looking

    def find_similar(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> list[Match]:
        """Known documents that are alike to one thing, best first: give exactly one of the first three.

        text:        a text, whether it was checked in or not.
        document_id: a document that was checked in; it is not named itself. `UnknownDocument`: it was not.
        fingerprint: 16 hexadecimal digits, as a verdict shows them, or the number. What is found is within the radius
                     of the profile, or within the share of bits that `threshold` allows to differ.
        threshold:   another resemblance than the profile's, or share of equal bits where those decide, from .625 on.
                     Of bits, all is found: below .75 by a scan of all fingerprints. A lower resemblance finds what
                     shares a band; the rest is missed, and `gate plan` says how likely that is.
        limit:       the most matches to return; None: all.
        """
        found = self.look_up(
            text=text, document_id=document_id, fingerprint=fingerprint, threshold=threshold, limit=limit
        )
        return list(found.matches)

    def look_up(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> LookUpResult:
        """`find_similar`, and how it was found: whether by a scan, and whether a limit was hit."""
        work = self.begin_look_up(
            text=text, document_id=document_id, fingerprint=fingerprint, threshold=threshold, limit=limit
        )
        while self.step_look_up(work):
            pass
        return work.result()

    def begin_look_up(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> LookUp:
        """A `look_up` to be done step by step, so that other calls come in between."""
        self._require_open()
        only_kind("find_similar", Subject(text=text, document_id=document_id, fingerprint=fingerprint))
        most = None if limit is None else positive("limit", limit)
        profile = self.profile if fingerprint is None else self._profile_of_fingerprints()
        if threshold is not None:
            profile = at_threshold(profile, threshold)
        if document_id is not None:
            signatures = self._signatures_of(document_id)
        else:
            signatures = [self._signature_of(Subject(text=text, fingerprint=fingerprint))]
        return LookUp(
            self._store,
            self.pipeline.index if profile is self.profile else self._index(profile),
            self.method if profile is self.profile else method_of(profile, self._secret),
            profile,
            self.limits,
            signatures=signatures,
            document_id=document_id,
            limit=most,
        )

    def step_look_up(self, work: LookUp) -> bool:
        """Do some of a look-up. False: it is done."""
        self._require_open()
        return self._run(work.step())

    def _signatures_of(self, document_id: str) -> list[tuple[bytes, bytes | None]]:
        """The signature of each content of a document."""
        validate_id("document_id", document_id)
        [versions] = self._query(self._store.documents, [document_id])
        if not versions:
            raise UnknownDocument(document_id)
        records = [(self._record(version.content), version.content) for version in versions]
        return [(record.body, content) for record, content in records if record is not None]

    def _profile_of_fingerprints(self) -> Profile:
        """The profile as one of fingerprints alone: a stored signature begins with the fingerprint."""
        parameters = self.profile.method
        if isinstance(parameters, Fingerprinted):
            by_bits = SimHash(radius=parameters.radius, weights=parameters.weights)
            return msgspec.structs.replace(self.profile, method=by_bits)
        if self.method.fingerprint(bytes(self.method.layout.body_bytes)) is None:
            raise ConfigError(
                f"fingerprint: profile {self.profile.ref} keeps none, its method is {parameters.name}; find by text or "
                "by document_id, or use a profile of the method simhash or hybrid"
            )
        return self.profile

    def compare(
        self, pairs: Iterable[tuple[str, str]], *, show_passages: bool = True, threshold: float | None = None
    ) -> list[Comparison]:
        """Each pair of texts by the measures of the profile, and where they are alike. The index is not touched.

        Texts too short for the gate are measured too, but only equal ones are called alike, as the gate would.
        `threshold` as in `find_similar`.
        """
        self._require_open()
        profile = self.profile if threshold is None else at_threshold(self.profile, threshold)
        chunks = chunked(
            validated_pairs(pairs, self.limits),
            size=lambda pair: len(pair[0]) + len(pair[1]),
            max_items=self.limits.batch_documents,
            max_size=self.limits.batch_chars,
        )
        return [
            comparison
            for chunk in chunks
            for comparison in compare(
                chunk,
                profile,
                secret=self._secret,
                max_features=self.limits.max_features,
                show_passages=show_passages,
            )
        ]

    def measure(self, left: Subject, right: Subject, *, threshold: float | None = None) -> Comparison:
        """How alike two things are that may be texts, known documents and fingerprints: `alike` says whether the gate
        calls them so, the measures how much. Exact measures and passages need both texts. Where one is a fingerprint,
        its bits decide alone. `threshold` as in `find_similar`."""
        self._require_open()
        kinds = [only_kind(name, subject) for name, subject in (("left", left), ("right", right))]
        if kinds == ["text", "text"]:
            return self.compare([(left.text or "", right.text or "")], threshold=threshold)[0]
        by_bits = "fingerprint" in kinds
        profile = self._profile_of_fingerprints() if by_bits else self.profile
        if threshold is not None:
            profile = at_threshold(profile, threshold)
        bodies, contents = zip(*(self._signature_of(subject) for subject in (left, right)), strict=True)
        if by_bits:
            bodies = tuple(body[:FINGERPRINT_BYTES] for body in bodies)
        same = contents[0] is not None and contents[0] == contents[1]
        return compare_signatures((bodies[0], bodies[1]), profile, secret=self._secret, same_content=same)

    def _signature_of(self, subject: Subject) -> tuple[bytes, bytes | None]:
        """The signature of one thing, and its content if that is known."""
        if subject.text is not None:
            document = CheckIn(document_id="?", text=subject.text)
            validate_document(document, self.limits)
            [claim] = self.signer.sign([document]).claims
            return claim.body, claim.content
        if subject.document_id is not None:
            validate_id("document_id", subject.document_id)
            [stored] = self._run(read_stored(self._store, [subject.document_id]))
            if stored is None:
                raise UnknownDocument(subject.document_id)
            return stored.body, stored.held.content
        return fingerprint_number(subject.fingerprint).to_bytes(FINGERPRINT_BYTES, "little"), None

    def explain(self, document_ids: Iterable[str]) -> list[list[Verdict]]:
        """For each document, the verdicts that it was given, one per content, oldest first; none if it is not known.

        Matches that were deleted since are no longer named. `features` is None: the index keeps signatures, answers and
        details only.
        """
        self._require_open()
        ids = validated_ids(document_ids)
        return [
            [self._stored_verdict(document_id, version) for version in versions if version.answer]
            for document_id, versions in zip(ids, self._query(self._store.documents, ids), strict=True)
        ]

    def _stored_verdict(self, document_id: str, stored: HeldContent) -> Verdict:
        answer = decode_answer(stored.answer or b"")
        entries = sorted({hit.entry for hit in answer.hits} | ({answer.group} if answer.group else set()))
        others = self._query(self._store.records, entries)
        living = {other.entry: other for other in others if other is not None and not other.dead}
        answer = msgspec.structs.replace(answer, hits=tuple(hit for hit in answer.hits if hit.entry in living))
        record = self._record(stored.content)
        details = decode_details(stored.details)
        claim = Claim(
            document_id=document_id,
            version=stored.version,
            source=details.source if details else None,
            title=details.title if details else None,
            content=stored.content,
            body=record.body if record else b"",
        )
        return self.signer.verdict(claim, answer, living, features=None)

    def _record(self, content: bytes) -> EntryRecord | None:
        return self._run(record_of(self._store, content))

    def pair_finder(self, threshold: float | None = None) -> PairFinder:
        """What finds all pairs that are alike; `threshold` as in `find_similar`."""
        self._require_open()
        profile = self.profile if threshold is None else at_threshold(self.profile, threshold)
        method = self.method if profile is self.profile else method_of(profile, self._secret)
        return PairFinder(self._store, self._index(profile), method, profile, self.limits)

    # Keeping

    def delete(self, document_ids: Iterable[str]) -> list[bool]:
        """Delete documents and all that is stored of them; documents that were refused as their duplicates may come in.

        False: that one was not known, which is no error, so that a delete may be repeated.
        """
        self._require_open()
        return self._run(self.pipeline.delete(validated_ids(document_ids)))

    def info(self) -> dict[str, int]:
        """Counts of what the index holds, and bytes by part. Reads the whole index."""
        self._require_open()
        return self._run(self._store.info())

    def with_store(self, work: Callable[[ScannableStore], Coroutine[Any, Any, T]]) -> T:
        """Run a tool over the whole index, such as `gate.index.tools.audit` or `gate.index.tools.transfer`."""
        self._require_open()
        return self._run(work(self._store))

    def close(self) -> None:
        """Close the index. A second call does nothing."""
        if self._closed:
            return
        self._run(self._store.close())
        self._closed = True
        if self._runner is not None:
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def run_concurrently(*steps: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run steps concurrently, to the end of the last: where one fails, none goes on writing after the call."""
    results = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def _in_coroutine() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_url(index: Path | str | None) -> bool:
    """Whether an index is meant to be on a server."""
    return "://" in str(index)


def _signed(signed: object) -> SignedBatch:
    if not isinstance(signed, SignedBatch):
        raise wrong_type("signed", signed, "a batch that the signer of this gate has signed")
    return signed
