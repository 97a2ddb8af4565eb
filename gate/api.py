"""Where the parts are put together: a profile, a method, a store and the pipeline make a gate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from gate.config.profiles import chosen_profile
from gate.config.settings import MAX_SECRET_BYTES
from gate.core.judge import EXACT, Likeness, alike, best_first, likeness_of_pair
from gate.core.method_registry import Method, method_of
from gate.core.passages import Passage, passages
from gate.core.profile import Profile, with_threshold
from gate.core.stored_verdict import decode_answer
from gate.core.text import content_ids, normalise
from gate.errors import BadDocument, ConfigError
from gate.index.memory.store import MemoryStore
from gate.index.protocol.claim import Claim, Gather, Index, run_sequentially
from gate.index.scan import ScannableStore
from gate.index.sqlite.store import SqliteStore
from gate.index.store import EntryRecord, HeldContent, Holder, new_entry_id, retry_stale
from gate.limits import Limits
from gate.model import CheckIn, Match, Relation, Verdict
from gate.pipeline import Pipeline, SignedBatch, Signer, batches, run_now, validate_document

if TYPE_CHECKING:
    from gate.index.redis.client import ClientObserver
    from gate.index.redis.url import RedisSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two texts side by side. `relation` is what the gate would call the first if the second were known already."""

    alike: bool
    relation: Relation
    distance: int | None  # bits of 64 in which the fingerprints differ
    resemblance: float | None
    containment: tuple[float | None, float | None]  # of the first in the second, and of the second in the first
    fingerprints: tuple[str | None, str | None]
    passages: tuple[tuple[Passage, ...], tuple[Passage, ...]]  # each text, cut where what both share begins and ends


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
    machines may. Every method takes a list and answers with a list in its order; lists of any length are welcome, they
    are cut to the limits.

    Raises `ConfigError` for a profile, limits or an index that cannot be worked with.
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
    ) -> None:
        """
        profile: the name of a built-in one, a .toml file, or a `Profile`.
        index:   the SQLite file to keep the index in, or the URL of a Redis (redis://, rediss://, unix://,
                 redis+sentinel://, redis+cluster://); made if it is not there. None keeps it in memory.
        secret:  a seed of at most 64 bytes, without which nobody can make two texts collide on purpose. An index opens
                 only with the secret that it was made with.
        observer: is called for every round trip to a server, for metrics.
        """
        self.profile = chosen_profile(profile)
        self.limits = _checked(limits or Limits())
        if len(secret) > MAX_SECRET_BYTES:
            raise ConfigError(f"secret: has {len(secret)} bytes; at most {MAX_SECRET_BYTES} are used")
        self.signer = Signer(self.profile, secret=secret, limits=self.limits)
        self.method = self.signer.method
        self._secret = secret
        self._observer = observer
        self._runner: asyncio.Runner | None = None
        self._gather: Gather = run_sequentially
        if _is_url(index):
            self._runner, self._gather = asyncio.Runner(), at_once
        try:
            self._store = self._run(self._open(index, redis))
        except BaseException:
            if self._runner is not None:
                self._runner.close()
            raise
        self.pipeline = Pipeline(self.signer, self._index(self.method, self.profile))

    async def _open(self, index: Path | str | None, redis: RedisSettings | None) -> ScannableStore:
        meaning = self.profile.digest(self._secret)
        limit = self.limits.max_bucket
        if index is None:
            return MemoryStore(max_bucket=limit)
        if not _is_url(index):
            return SqliteStore(index, digest=meaning, profile_ref=self.profile.ref, max_bucket=limit)
        # Imported here: it takes a third of the time in which a command starts, and few need it.
        from gate.index.redis.connect import open_store

        return await open_store(
            str(index),
            profile_ref=self.profile.ref,
            digest=meaning,
            room=self.method.room,
            max_bucket=limit,
            settings=redis,
            observer=self._observer,
        )

    def _index(self, method: Method, profile: Profile) -> Index:
        return Index(self._store, method, profile, self.limits, new_entry_id=new_entry_id, gather=self._gather)

    def _run(self, steps: Coroutine[Any, Any, T]) -> T:
        """Embedded stores never wait; one across a network needs an event loop of the gate's own."""
        return run_now(steps) if self._runner is None else self._runner.run(steps)

    def _asked(self, question: Callable[..., Coroutine[Any, Any, T]], *about: Any) -> T:
        """The same for a question that changes nothing, put again where the generations changed meanwhile."""
        return self._run(retry_stale(lambda: question(*about)))

    # Judging

    def check_in(self, documents: Sequence[CheckIn]) -> list[Verdict]:
        """Judge documents and let the new ones in. A repeated check-in gets its first verdict again.

        `BadDocument` names the first that cannot be judged; nothing of the list was judged then. Take those out with
        `validate` where one bad document must not hold up the others.
        """
        return self._judge(documents, enter=True)

    def preview(self, documents: Sequence[CheckIn]) -> list[Verdict]:
        """Judge documents against the index, each by itself, and leave no trace. `BadDocument` as in `check_in`."""
        return self._judge(documents, enter=False)

    def validate(self, documents: Iterable[CheckIn]) -> tuple[list[CheckIn], list[RefusedDocument]]:
        """Part the documents that can be judged from those that cannot: too long, without an id, half a character."""
        good: list[CheckIn] = []
        refused: list[RefusedDocument] = []
        for document in documents:
            try:
                validate_document(document, self.limits)
            except BadDocument as exc:
                refused.append(RefusedDocument(document, exc))
            else:
                good.append(document)
        return good, refused

    def _judge(self, documents: Sequence[CheckIn], *, enter: bool) -> list[Verdict]:
        for place, document in enumerate(documents):
            try:
                validate_document(document, self.limits)
            except BadDocument as exc:
                raise BadDocument(exc.code, f"documents[{place}] ({document.document_id!r}): {exc}") from None
        verdicts: list[Verdict] = []
        for batch in batches(documents, self.limits):
            signed = self.signer.sign(batch)
            verdicts += self._run(self.pipeline.check_in(signed) if enter else self.pipeline.preview(signed))
        return verdicts

    def sign(self, documents: Sequence[CheckIn]) -> SignedBatch:
        """The first half of `check_in`, for one batch of admitted documents: busy, and free to run on another thread
        than the rest, while `check_in_signed` works on the batch before."""
        return self.signer.sign(documents)

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        """The second half of `check_in`."""
        return self._run(self.pipeline.check_in(signed))

    def unchecked(self, signed: SignedBatch) -> list[Verdict]:
        """What to say instead while the index is away, where documents may pass without a look."""
        return self.signer.unchecked(signed)

    # Looking

    def similar(self, texts: Sequence[str], *, threshold: float | None = None) -> list[list[Match]]:
        """For each text, the known documents that are alike, best first.

        `threshold` asks for another resemblance than the profile's (or share of equal bits, where those decide). A
        lower one finds what the index brings together: whatever shares a band, or is within 16 bits where bits decide.
        The rest stays unseen; `gate plan` tells how likely that is.
        """
        index = self._asking(threshold)
        return [
            self._similar(index, claim.body, claim.content, None)
            for batch in batches(self._texts(texts), self.limits)
            for claim in self.signer.sign(batch).claims
        ]

    def similar_to(self, document_ids: Sequence[str], *, threshold: float | None = None) -> list[list[Match]]:
        """For each document that was checked in, the others that are alike. `KeyError` names one that was not."""
        index = self._asking(threshold)
        found = []
        for document_id in _listed(document_ids):
            [held] = self._asked(self._store.documents, [document_id])
            if not held:
                raise KeyError(document_id)
            matches: dict[str, Match] = {}
            for one in held:
                if (record := self._record(one.content)) is not None:
                    for match in self._similar(index, record.body, one.content, document_id):
                        matches.setdefault(match.document_id, match)
            found.append(sorted(matches.values(), key=_match_order))
        return found

    def _asking(self, threshold: float | None) -> Index:
        if threshold is None:
            return self.pipeline.index
        asked = with_threshold(self.profile, threshold)
        return self._index(method_of(asked, self._secret), asked)

    def _similar(self, index: Index, body: bytes, content: bytes, own: str | None) -> list[Match]:
        found = [pair for pair in self._asked(index.find_alike, body).alike.values() if pair[0].content != content]
        same = self._record(content)
        if same is not None and not same.dead:
            found.append((same, EXACT))
        matches = [_match(holder, how) for record, how in found if record.ticket for holder in record.holders]
        return sorted((match for match in matches if match.document_id != own), key=_match_order)

    def compare(self, pairs: Sequence[tuple[str, str]], *, show_passages: bool = True) -> list[Comparison]:
        """Each pair of texts by the measures of the profile, and where they are alike. The index is not touched.

        Texts too short for the gate are measured too, but only equal ones are called alike, as the gate would.
        """
        measured = msgspec.structs.replace(self.profile, min_features=1)
        eager = method_of(measured, self._secret, max_features=self.limits.max_features)
        bodies: list[bytes] = []
        contents: list[bytes] = []
        features: list[int] = []
        lengths: list[int] = []
        for batch in batches(self._texts([text for pair in pairs for text in pair]), self.limits):
            texts = normalise([document.text for document in batch])
            signatures = eager.sign(texts)
            bodies += signatures.bodies
            contents += content_ids(texts, self._secret)
            features += signatures.features
            lengths += (texts.starts[1:] - texts.starts[:-1]).tolist()
        compared = []
        for n, (a, b) in enumerate(pairs):
            left, right = 2 * n, 2 * n + 1
            shown, around, is_alike = Likeness(None, None, None, Relation.NEW), None, False
            if bodies[left] and bodies[right]:
                measures = eager.compare([bodies[left]], [bodies[right]])
                shown, is_alike = likeness_of_pair(measures, 0, self.profile), bool(alike(measures, self.profile)[0])
                around = None if measures.right_in_left is None else round(float(measures.right_in_left[0]), 4)
            if min(features[left], features[right]) < self.profile.min_features:
                relation = Relation.TOO_SHORT if lengths[left] else Relation.EMPTY
                is_alike = False
            else:
                relation = shown.relation if is_alike else Relation.NEW
            if contents[left] == contents[right]:
                is_alike, relation = True, Relation.EXACT
            prints = [None if (p := eager.fingerprint(bodies[i])) is None else f"{p:016x}" for i in (left, right)]
            compared.append(
                Comparison(
                    alike=is_alike,
                    relation=relation,
                    distance=shown.distance,
                    resemblance=shown.resemblance,
                    containment=(shown.containment, around),
                    fingerprints=(prints[0], prints[1]),
                    passages=passages(a, b) if show_passages else ((), ()),
                )
            )
        return compared

    def explain(self, document_ids: Sequence[str]) -> list[list[Verdict]]:
        """For each document, the verdicts that it was given, one per content, oldest first; none if it is not known.

        Matches that were deleted since are no longer named, and `features` is None: only signatures are kept.
        """
        names = _listed(document_ids)
        return [
            [self._told(document_id, one) for one in held if one.answer]
            for document_id, held in zip(names, self._asked(self._store.documents, names), strict=True)
        ]

    def _told(self, document_id: str, held: HeldContent) -> Verdict:
        answer = decode_answer(held.answer or b"")
        wanted = sorted({hit.entry for hit in answer.hits} | ({answer.group} if answer.group else set()))
        others = self._asked(self._store.records, wanted)
        named = {other.entry: other for other in others if other is not None and not other.dead}
        living = msgspec.structs.replace(answer, hits=tuple(hit for hit in answer.hits if hit.entry in named))
        record = self._record(held.content)
        claim = Claim(
            document_id=document_id, version=held.version, content=held.content, body=record.body if record else b""
        )
        return self.signer.verdict(claim, living, named, features=None)

    def _record(self, content: bytes) -> EntryRecord | None:
        [entry] = self._asked(self._store.contents, [content])
        return self._asked(self._store.records, [entry])[0] if entry else None

    # Keeping

    def delete(self, document_ids: Sequence[str]) -> list[bool]:
        """Forget documents and all that was kept of them; what was refused for their sake may come in again.

        False: that one was not known, which is no error, so that a delete may be repeated.
        """
        return self._run(self.pipeline.index.delete(_listed(document_ids)))

    def info(self) -> dict[str, int]:
        """Counts of what the index holds, and bytes by part. Walks the whole index."""
        return self._run(self._store.info())

    def with_store(self, work: Callable[[ScannableStore], Coroutine[Any, Any, T]]) -> T:
        """Run a tool over the whole index, such as `gate.index.tools.audit` or `gate.index.tools.transfer`."""
        return self._run(work(self._store))

    def close(self) -> None:
        self._run(self._store.close())
        if self._runner is not None:
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _texts(self, texts: Sequence[str]) -> list[CheckIn]:
        """Texts without a name, as documents that can be judged."""
        documents = [CheckIn(document_id="?", text=text) for text in _listed(texts)]
        for place, document in enumerate(documents):
            try:
                validate_document(document, self.limits)
            except BadDocument as exc:
                raise BadDocument(exc.code, f"texts[{place}]: {exc}") from None
        return documents


async def at_once(*steps: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run steps side by side, to the end of the last: where one fails, none is left to write on by itself."""
    results = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def _is_url(index: Path | str | None) -> bool:
    """Whether an index is meant to be on a server."""
    return "://" in str(index)


def _listed(given: Sequence[str]) -> Sequence[str]:
    """A string is a sequence of strings too, and never what was meant."""
    if isinstance(given, str):
        raise TypeError("give a list of strings, not one string")
    return given


def _checked(limits: Limits) -> Limits:
    try:
        return msgspec.convert(msgspec.structs.asdict(limits), Limits)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"limits: {exc}") from exc


def _match(holder: Holder, how: Likeness) -> Match:
    return Match(
        document_id=holder.document_id,
        version=holder.version,
        relation=how.relation,
        distance=how.distance,
        resemblance=how.resemblance,
        containment=how.containment,
    )


def _match_order(match: Match) -> tuple[bool, float, int, str]:
    return (*best_first(match), match.document_id)
