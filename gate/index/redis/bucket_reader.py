"""Reading buckets: whole ones by plain commands, because through a script each would be copied and hashed twice more;
what was appended since a mark from the log of appends."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gate.index.redis.client import Argument, load_script
from gate.index.redis.layout import View, packed
from gate.index.redis.packing import KeysByShard, Widths, by_key, matching, unpack, unpack_log
from gate.index.redis.shards import Shards
from gate.index.store import Keys, Postings, ProbeMatches

LOG_TAIL, CROWDED, OVERFLOW = load_script("log_tail"), load_script("crowded_buckets"), load_script("read_overflow")
NO_PLACE = packed((b"",))
KEPT_MARKS = 64

Part = tuple[int, list[bytes]]  # a shard, and names of buckets
BucketBytes = dict[int, list[bytes]]  # by shard, in the order of the names; one that does not exist is empty


class BucketReader:
    """Reads the buckets of an index, and keeps the marks that it handed out."""

    def __init__(self, shards: Shards, widths: Widths, max_bucket: int) -> None:
        self._shards = shards
        self._widths = widths
        self._max_bucket = max_bucket
        self._marks: OrderedDict[int, tuple[View, dict[int, bytes]]] = OrderedDict()  # the log's place in each shard
        self._last_mark = 0

    async def read(self, keys: Keys, since: int | None) -> Postings:
        split = KeysByShard(keys)
        pieces, logged, mark = await self._fetch(split, since)
        triples, capped = unpack(split.restored(pieces), self._widths.of(keys), self._max_bucket)
        parts = [triples, unpack_log(keys, logged)] if logged else [triples]
        return Postings(*by_key(keys, *parts), mark, capped)

    async def probe(
        self, keys: Keys, tags: Keys, radii: NDArray[np.uint8], any_bits: int, since: int | None
    ) -> ProbeMatches:
        split = KeysByShard(keys)
        pieces, logged, mark = await self._fetch(split, since)
        order = split.order
        widths = self._widths.of(keys[order])
        matches, too_long = matching(pieces, widths, self._max_bucket, tags[order], radii[order], any_bits)
        places, entries, found = matches
        probes, capped = order[places], np.zeros(len(keys), np.bool_)
        capped[order] = too_long
        if logged:
            which, logged_entries, logged_tags = unpack_log(keys, logged)
            differing = (logged_tags ^ tags[which]) >> np.uint64(any_bits)
            close = np.bitwise_count(differing) <= radii[which]
            probes, entries = np.append(probes, which[close]), np.append(entries, logged_entries[close])
            found = np.append(found, logged_tags[close])
        in_order = np.argsort(probes, kind="stable")
        return ProbeMatches(probes[in_order], entries[in_order], found[in_order], mark, capped)

    async def crowded(self, shards: Sequence[int]) -> list[list[bytes]]:
        """The crowded buckets of each shard: generation and name."""
        return await self._shards.call(CROWDED, [(shard, b"") for shard in shards])

    async def overflow(self, parts: Sequence[Part], limit: int) -> list[list[bytes]]:
        """What overflowed from crowded buckets, at most so many postings of each."""
        shares = [(shard, b"".join(names)) for shard, names in parts]
        return await self._shards.call(OVERFLOW, shares, limit, self._widths.sizes)

    async def _fetch(self, split: KeysByShard, since: int | None) -> tuple[list[bytes], list[bytes], int]:
        """The buckets, or nothing where the log has what came to them since; what the log has; and a new mark."""
        view = self._shards.view
        marked_view, places = self._marks.get(since, (None, {})) if since is not None else (None, {})
        if marked_view != view:
            places = {}
        known = {shard: places[shard] for shard, _ in split.parts if places.get(shard)}
        tail_places, logged = await self._tail(known)
        whole_places, buckets = await self._whole([part for part in split.parts if part[0] not in tail_places])
        pieces = [piece for shard, names in split.parts for piece in buckets.get(shard) or [b""] * len(names)]
        return pieces, logged, self._keep_mark(view, tail_places | whole_places)

    def _keep_mark(self, view: View, places: dict[int, bytes]) -> int:
        self._last_mark += 1
        self._marks[self._last_mark] = view, places
        if len(self._marks) > KEPT_MARKS:
            self._marks.popitem(last=False)
        return self._last_mark

    async def _tail(self, places: dict[int, bytes]) -> tuple[dict[int, bytes], list[bytes]]:
        """Where the log of each shard ends now, and what was appended since a place in it; shards whose log does not
        reach back that far are left out."""
        ends: dict[int, bytes] = {}
        logged: list[bytes] = []
        replies = await self._shards.call(LOG_TAIL, [(shard, packed((place,))) for shard, place in places.items()])
        for shard, (end, *appended) in zip(places, replies, strict=True):
            if appended:
                ends[shard] = end
                logged += appended[1:]
        return ends, logged

    async def _whole(self, parts: Sequence[Part]) -> tuple[dict[int, bytes], BucketBytes]:
        """Where the log of each shard ended, and the buckets read after that: what is appended meanwhile is read twice
        rather than not at all."""
        if not parts:
            return {}, {}
        generations = [bytes([g]) for g in self._shards.generations[::-1]]  # the oldest postings come first
        commands: list[tuple[Argument, ...]] = [
            ("HMGET", self._shards.prefixes[shard] + g + b"b", *names) for shard, names in parts for g in generations
        ]
        shares = [(shard, NO_PLACE) for shard, _ in parts]
        ends, replies, crowded = await self._shards.read(LOG_TAIL, CROWDED, shares, commands)
        places = {shard: place for (shard, _), (place,) in zip(parts, ends, strict=True)}
        overflows = await self._overflow_of(parts, crowded)
        buckets: BucketBytes = {}
        for n, (shard, names) in enumerate(parts):
            heads = replies[n * len(generations) : (n + 1) * len(generations)]
            if overflows or len(heads) > 1:
                pieces = [
                    [
                        (head or b"") + overflows.get((shard, g + name), b"")
                        for name, head in zip(names, some, strict=True)
                    ]
                    for g, some in zip(generations, heads, strict=True)
                ]
                buckets[shard] = list(map(b"".join, zip(*pieces, strict=True)))
            else:
                buckets[shard] = [head or b"" for head in heads[0]]
        return places, buckets

    async def _overflow_of(
        self, parts: Sequence[Part], crowded: Sequence[Sequence[bytes]]
    ) -> dict[tuple[int, bytes], bytes]:
        """What overflowed from those buckets that are crowded, by shard, generation and name."""
        overflowing = [
            (shard, sorted(name for name in full if name[1:] in set(names)))
            for (shard, names), full in zip(parts, crowded, strict=True)
            if full
        ]
        overflowing = [(shard, names) for shard, names in overflowing if names]
        if not overflowing:
            return {}
        replies = await self.overflow(overflowing, self._max_bucket + 1)
        return {
            (shard, name): postings
            for (shard, names), some in zip(overflowing, replies, strict=True)
            for name, postings in zip(names, some, strict=True)
        }
