"""A look-up: what an index holds that is like a text, a document or a fingerprint. It changes nothing.

It is done in steps that each take the index for little time, so that others may work on it in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gate.core.judge import EXACT, best_first
from gate.core.method_parameters import MAX_RADIUS, Fingerprinted
from gate.core.method_registry import Method
from gate.core.profile import Profile, decides_by_bits
from gate.index.protocol.candidates import CandidateSet
from gate.index.protocol.claim import Index
from gate.index.scan import ScannableStore
from gate.index.store import EntryRecord, retry_stale
from gate.index.tools.fingerprint_scan import FingerprintScan
from gate.limits import Limits
from gate.model import Degraded, LookUpResult, Match
from gate.pipeline import match_of


class LookUp:
    """Looks for what is alike to some signatures: those of one text, or of all contents of one document.

    By buckets, which find what they bring together; where fingerprints decide and more bits may differ than buckets
    can be probed for, by a scan of all fingerprints.
    """

    def __init__(
        self,
        store: ScannableStore,
        index: Index,
        method: Method,
        profile: Profile,
        limits: Limits,
        *,
        signatures: Iterable[tuple[bytes, bytes | None]],
        document_id: str | None = None,
        limit: int | None = None,
    ) -> None:
        """
        index:       over the same store, method and profile.
        signatures:  bodies, each with the id of its content if that is known: the same content is an exact match.
        document_id: of the document that they are of; it is not named itself.
        limit:       the most matches to name; None: all.
        """
        self._store = store
        self._index = index
        self._method = method
        self._profile = profile
        self._limits = limits
        self._signatures = list(signatures)
        self._document_id = document_id
        self._limit = limit
        self._scan: FingerprintScan | None = None
        self._matches: list[list[Match]] = []  # of each signature
        self._candidates = 0
        self._degraded: set[Degraded] = set()
        self._scanned = 0
        self._complete = True

    async def step(self) -> bool:
        """Do some of the work. False: all of it is done."""
        if not self._signatures:
            return False
        body, content = self._signatures[0]
        method = self._profile.method
        wide = isinstance(method, Fingerprinted) and decides_by_bits(self._profile) and method.radius > MAX_RADIUS
        if not (wide and body):
            [alike] = await retry_stale(lambda: self._index.find_alike([body]))
            await self._add(alike, content)
            return bool(self._signatures)
        if self._scan is None:
            assert isinstance(method, Fingerprinted)  # noqa: S101 - it is wide
            self._scan = FingerprintScan(
                self._store,
                self._method.fingerprint(body) or 0,
                method.radius,
                max_candidates=max(self._limits.max_candidates, self._limit or 0),
                max_scanned=self._limits.max_scanned,
            )
        if not await self._scan.step():
            self._scanned += self._scan.scanned
            self._complete &= self._scan.complete
            await self._add(await self._scan.found(self._method, self._profile, body), content)
            self._scan = None
        return bool(self._signatures)

    async def _add(self, found: CandidateSet, content: bytes | None) -> None:
        """Take what was found for the first signature, which is done."""
        del self._signatures[0]
        self._candidates += len(found.candidates)
        self._degraded |= found.degraded
        alike = [pair for pair in found.alike.values() if pair[0].content != content]
        same = None if content is None else await record_of(self._store, content)
        if same is not None and not same.dead:
            alike.append((same, EXACT))
        self._matches.append(
            [match_of(holder, likeness) for record, likeness in alike if record.ticket for holder in record.holders]
        )

    def result(self) -> LookUpResult:
        """What was found so far, best first."""
        return LookUpResult(
            matches=tuple(self._best()[: self._limit]),
            candidates=self._candidates,
            degraded=tuple(sorted(self._degraded)),
            scanned=self._scanned,
            complete=self._complete,
        )

    def _best(self) -> Sequence[Match]:
        if self._document_id is None:
            return sorted((match for matches in self._matches for match in matches), key=_order)
        # Of a document with several contents, each other document is named once.
        by_id: dict[str, Match] = {}
        for match in sorted((match for matches in self._matches for match in matches), key=_order):
            by_id.setdefault(match.document_id, match)
        by_id.pop(self._document_id, None)
        return list(by_id.values())


async def record_of(store: ScannableStore, content: bytes) -> EntryRecord | None:
    """The record of a content; None: it is not known."""

    async def read() -> EntryRecord | None:
        [entry] = await store.contents([content])
        return (await store.records([entry]))[0] if entry else None

    return await retry_stale(read)


def _order(match: Match) -> tuple[bool, float, int, str]:
    return (*best_first(match), match.document_id)
