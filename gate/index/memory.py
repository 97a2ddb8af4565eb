"""The index in this process's memory: the fastest backend, gone with the process.

A bucket is the packed postings of one key, 16 bytes each, oldest first:

    entry (u64, little endian) | tag (u64, little endian) | entry | tag | ...

so a read of many buckets is one join and one view of it. Most buckets hold one posting; those are `bytes`, half the
size of a `bytearray`, and become one with their second posting.

Marks. `read` hands out the number of postings appended so far, and a short log keeps the latest appends: a read
`since` a mark takes its tail from the log. A mark older than the log, or older than the last withdrawal (after which
the log would tell of postings that are gone), reads everything.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from itertools import compress, repeat
from operator import is_not
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gate.index.store import VOID, Enrolment, Held, Holder, Keys, Memory, Postings, Record, Registration, Standing

POSTING_BYTES = 16
LOG_POSTINGS = 1 << 16  # a dozen batches of 256 documents, 1.5 MB; with fewer, racing threads re-read whole buckets
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


class MemoryStore:
    """`gate.index.store.Store` in dictionaries; one lock makes each primitive atomic, so threads may share it."""

    def __init__(self, max_bucket: int = 4096) -> None:
        self._lock = Lock()
        self._documents: dict[str, tuple[Held, ...]] = {}
        self._contents: dict[bytes, int] = {}
        self._records: dict[int, Record] = {}
        self._buckets = _Buckets(max_bucket)
        self._tickets = 0

    async def enrol(self, wishes: Sequence[Enrolment]) -> list[Standing]:
        with self._lock:
            return [self._enrol(wish) for wish in wishes]

    def _enrol(self, wish: Enrolment) -> Standing:
        document_id, version, content, entry, body, share = wish
        # 1. The document knows its content before the content knows the document: a delete that comes now finds both.
        answer: bytes | None = None
        held = self._documents.get(document_id, ())
        others = tuple(other.content for other in held if other.content != content)
        if len(others) == len(held):
            self._documents[document_id] = (*held, Held(content, version, None, entry))
        else:
            [mine] = (one for one in held if one.content == content)
            answer = mine.answer or None
            self._replace(document_id, held, mine._replace(answer=answer, stamp=entry))
        if answer is not None:
            return Standing(None, answer, others)
        # 2. The content.
        standing = self._contents.get(content)
        if standing is None:
            if entry in self._records:
                raise ValueError(f"entry {entry} is in use; an entry's number is never used twice")
            record = Record(entry, content, (Holder(document_id, version),), body)
            self._contents[content] = entry
            self._records[entry] = record
        else:
            record = self._records[standing]
            if share and not record.dead and all(holder.document_id != document_id for holder in record.holders):
                record = record._replace(holders=(*record.holders, Holder(document_id, version)))
                self._records[standing] = record
        return Standing(record, answer, others)

    async def read(self, keys: Keys, *, since: int | None = None) -> Postings:
        with self._lock:
            return self._buckets.read(keys, since)

    async def records(self, entries: Sequence[int]) -> list[Record | None]:
        with self._lock:
            return list(map(self._records.get, entries))

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        with self._lock:
            self._buckets.append(keys, entries, tags)

    async def draw(self, count: int) -> int:
        with self._lock:
            first = self._tickets + 1
            self._tickets += count
            return first

    async def register(self, registrations: Sequence[Registration]) -> list[Record | None]:
        with self._lock:
            return [self._register(*registration) for registration in registrations]

    def _register(self, entry: int, ticket: int, duplicate_of: int) -> Record | None:
        if ticket and duplicate_of:
            raise ValueError("a registration is a ticket or a duplicate, not both")
        record = self._records.get(entry)
        if record is None or record.dead:
            return None
        if not (record.ticket or record.duplicate_of):
            record = Record(entry, record.content, record.holders, record.body, ticket, duplicate_of)
            self._records[entry] = record
        return record

    async def remember(self, memories: Sequence[Memory]) -> list[bytes | None]:
        with self._lock:
            return [self._remember(*memory) for memory in memories]

    def _remember(self, document_id: str, content: bytes, answer: bytes, replacing: bytes | None) -> bytes | None:
        held = self._documents.get(document_id, ())
        for mine in held:
            if mine.content == content:
                if mine.answer != replacing:
                    return mine.answer
                self._replace(document_id, held, mine._replace(answer=answer))
                return answer
        return None

    def _replace(self, document_id: str, held: tuple[Held, ...], one: Held) -> None:
        self._documents[document_id] = tuple(one if old.content == one.content else old for old in held)

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        with self._lock:
            return list(map(self._contents.get, contents))

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        with self._lock:
            return [self._documents.get(document_id, ()) for document_id in document_ids]

    async def recall(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        with self._lock:
            for document_id in document_ids:
                if held := self._documents.get(document_id):
                    self._documents[document_id] = tuple(one._replace(answer=VOID) for one in held)
            return [self._documents.get(document_id, ()) for document_id in document_ids]

    async def disown(self, holdings: Sequence[tuple[int, str]]) -> list[Record | None]:
        with self._lock:
            return [self._disown(entry, document_id) for entry, document_id in holdings]

    def _disown(self, entry: int, document_id: str) -> Record | None:
        record = self._records.get(entry)
        if record is None or record.dead:
            return record
        left = tuple(holder for holder in record.holders if holder.document_id != document_id)
        if len(left) < len(record.holders):
            record = record._replace(holders=left) if left else record._replace(dead=True)
            self._records[entry] = record
        return record

    async def bury(self, entries: Sequence[int]) -> list[Record | None]:
        with self._lock:
            for entry in entries:
                if record := self._records.get(entry):
                    self._records[entry] = record._replace(dead=True)
            return list(map(self._records.get, entries))

    async def withdraw(self, keys: Keys, entries: Keys) -> None:
        with self._lock:
            self._buckets.withdraw(keys, entries)

    async def erase(self, entries: Sequence[int]) -> None:
        with self._lock:
            for entry in entries:
                record = self._records.get(entry)
                if record is not None and record.dead:
                    del self._records[entry]
                    if self._contents.get(record.content) == entry:
                        del self._contents[record.content]

    async def forget(self, holdings: Sequence[tuple[str, Sequence[Held]]]) -> list[bool]:
        with self._lock:
            return [self._forget(document_id, held) for document_id, held in holdings]

    def _forget(self, document_id: str, held: Sequence[Held]) -> bool:
        gone = {(one.content, one.stamp) for one in held}
        left = tuple(one for one in self._documents.get(document_id, ()) if (one.content, one.stamp) not in gone)
        if left:
            self._documents[document_id] = left
        else:
            self._documents.pop(document_id, None)
        return not left

    async def close(self) -> None:
        """Nothing to close."""

    async def info(self) -> dict[str, int]:
        """Counts, and the bytes that the objects take without the allocator's slack. Walks the whole index."""
        size = sys.getsizeof
        with self._lock:
            records = sum(
                size(record) + size(record.entry) + size(record.body) + size(record.holders) + 64 * len(record.holders)
                for record in self._records.values()
            )
            documents = sum(
                size(name) + size(held) + sum(size(one) + size(one.answer or b"") for one in held)
                for name, held in self._documents.items()
            )
            return {
                "documents": len(self._documents),
                "contents": len(self._contents),
                "entries": len(self._records),
                "postings": self._buckets.total,
                "buckets": len(self._buckets.packed),
                "largest_bucket": max(map(len, self._buckets.packed.values()), default=0) // POSTING_BYTES,
                "tickets": self._tickets,
                "bytes_documents": size(self._documents) + documents,
                "bytes_contents": size(self._contents) + sum(map(size, self._contents)),
                "bytes_entries": size(self._records) + records,
                "bytes_buckets": self._buckets.size(),
            }


class _Buckets:
    """Packed postings by key. Not locked: the store is."""

    def __init__(self, max_bucket: int) -> None:
        self.packed: dict[int, bytes | bytearray] = {}
        self.total = 0  # postings
        self._limit = max_bucket
        self._of_entry: dict[int, int] = {}  # how many postings an entry has: only those of a known entry can repeat
        self._log: deque[tuple[int, Keys, Keys, Keys]] = deque()  # (mark before it, keys, entries, tags)
        self._mark = 0  # postings ever appended
        self._log_from = 0  # the oldest mark that the log can serve

    def read(self, keys: Keys, since: int | None) -> Postings:
        if since is not None and since >= self._log_from:
            return self._tail(keys, since)
        pieces = list(map(self.packed.get, keys.tolist(), repeat(b"")))
        counts = np.fromiter(map(len, pieces), np.int64, len(pieces)) // POSTING_BYTES
        capped = counts > self._limit
        if capped.any():
            for place in np.flatnonzero(capped).tolist():
                pieces[place] = pieces[place][: self._limit * POSTING_BYTES]  # the oldest hold the lower tickets
            counts = np.minimum(counts, self._limit)
        postings = np.frombuffer(b"".join(pieces), "<u8").reshape(-1, 2)
        return Postings(counts, postings[:, 0].copy(), postings[:, 1].copy(), self._mark, capped)

    def _tail(self, keys: Keys, since: int) -> Postings:
        """What was appended after the mark. Nothing is cut off: the log bounds it, however long the bucket."""
        capped = np.zeros(len(keys), np.bool_)
        parts = [part for part in self._log if part[0] >= since]  # marks are only ever handed out between appends
        if not parts:
            none = np.empty(0, np.uint64)
            return Postings(np.zeros(len(keys), np.int64), none, none, self._mark, capped)
        logged, entries, tags = (np.concatenate([part[field] for part in parts]) for field in (1, 2, 3))
        # Group the log by key, keeping the order within a key, and look every key asked for up among the groups.
        order = np.argsort(logged, kind="stable")
        logged = logged[order]
        starts = np.flatnonzero(np.concatenate(([True], logged[1:] != logged[:-1])))
        sizes = np.diff(starts, append=len(logged))
        group = np.minimum(np.searchsorted(logged[starts], keys), len(starts) - 1)
        counts = np.where(logged[starts[group]] == keys, sizes[group], 0)
        ends = np.cumsum(counts)
        place = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[group] - (ends - counts), counts)
        taken = order[place]
        return Postings(counts, entries[taken], tags[taken], self._mark, capped)

    def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        if not len(keys):
            return
        owners, sizes = _runs(entries)
        if not self._of_entry.keys().isdisjoint(owners) or _repeats(keys, entries, tags):
            fresh = self._missing(keys, entries, tags)
            keys, entries, tags = keys[fresh], entries[fresh], tags[fresh]
            if not len(keys):
                return
            owners, sizes = _runs(entries)
        for owner, size in zip(owners, sizes, strict=True):
            self._of_entry[owner] = self._of_entry.get(owner, 0) + size

        # Most keys are new, and most others have a bytearray already: both are passed over at the speed of C.
        names, postings = keys.tolist(), _pack(entries, tags)
        stood = list(map(self.packed.setdefault, names, postings))
        later = list(map(is_not, stood, postings))
        for key, bucket, posting in zip(*map(compress, (names, stood, postings), repeat(later)), strict=True):
            if type(bucket) is bytes:
                bucket = self.packed[key]  # a key that stands twice in this call may have its bytearray by now
                if type(bucket) is bytes:
                    self.packed[key] = bytearray(bucket + posting)
                    continue
            bucket += posting

        self.total += len(keys)
        self._log.append((self._mark, keys.copy(), entries.copy(), tags.copy()))
        self._mark += len(keys)
        while self._mark - self._log_from > LOG_POSTINGS:
            before, dropped, _, _ = self._log.popleft()
            self._log_from = before + len(dropped)

    def _missing(self, keys: Keys, entries: Keys, tags: Keys) -> NDArray[np.bool_]:
        """Which postings are new: not in their bucket, and not earlier in this call."""
        seen: set[tuple[int, bytes]] = set()
        fresh = np.zeros(len(keys), np.bool_)
        known = self._of_entry
        for place, (key, entry, posting) in enumerate(
            zip(keys.tolist(), entries.tolist(), _pack(entries, tags), strict=True)
        ):
            if (key, posting) in seen or (entry in known and _holds(self.packed.get(key, b""), posting)):
                continue
            seen.add((key, posting))
            fresh[place] = True
        return fresh

    def withdraw(self, keys: Keys, entries: Keys) -> None:
        removed = 0
        for key, entry in zip(keys.tolist(), entries.tolist(), strict=True):
            bucket = self.packed.get(key)
            if bucket is None or entry not in self._of_entry:
                continue
            postings = np.frombuffer(bytes(bucket), "<u8").reshape(-1, 2)
            left = postings[postings[:, 0] != entry]
            gone = len(postings) - len(left)
            if not gone:
                continue
            if len(left):
                self.packed[key] = left.tobytes() if len(left) == 1 else bytearray(left.tobytes())
            else:
                del self.packed[key]
            self._of_entry[entry] -= gone
            if not self._of_entry[entry]:
                del self._of_entry[entry]
            removed += gone
        if removed:
            self.total -= removed
            self._log.clear()
            self._mark += 1  # even the latest mark is older than this withdrawal
            self._log_from = self._mark

    def size(self) -> int:
        return (
            sys.getsizeof(self.packed)
            + sum(map(sys.getsizeof, self.packed))
            + sum(map(sys.getsizeof, self.packed.values()))
            + sys.getsizeof(self._of_entry)
            + sum(map(sys.getsizeof, self._of_entry))
        )


def _runs(values: Keys) -> tuple[list[int], list[int]]:
    """The value and the length of each run of equal neighbours: a batch holds one run a document."""
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return values[starts].tolist(), np.diff(starts, append=len(values)).tolist()


def _repeats(keys: Keys, entries: Keys, tags: Keys) -> bool:
    """Whether a posting may stand in one call twice. Mixed to 64 bits: a chance hit only costs the slow path."""
    mixed = np.sort((keys * _MIX[0]) ^ (entries * _MIX[1]) ^ (tags * _MIX[2]))
    return bool((mixed[1:] == mixed[:-1]).any())


def _pack(entries: Keys, tags: Keys) -> list[bytes]:
    postings: list[bytes] = np.stack((entries, tags), axis=1).astype("<u8", copy=False).view("V16").ravel().tolist()
    return postings


def _holds(bucket: bytes | bytearray, posting: bytes) -> bool:
    at = bucket.find(posting)
    while at % POSTING_BYTES and at >= 0:  # across two postings: not one
        at = bucket.find(posting, at + 1)
    return at >= 0
