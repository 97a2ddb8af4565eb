"""Reading buckets: whole ones by plain commands, because through a script each would be copied and hashed twice more;
what was appended since a mark from the log of appends."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gate.index.reading import Bucketfuls, Numbers, ReadLimit, ranges
from gate.index.redis.client import Argument, load_script
from gate.index.redis.layout import View, packed
from gate.index.redis.packing import KeysByShard, Widths, by_key, unpack, unpack_log, unpack_pieces
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

    async def read(
        self, keys: Keys, since: int | None, limit: ReadLimit | None = None, ignoring: Collection[int] = ()
    ) -> Postings:
        split = KeysByShard(keys)
        place_of = np.argsort(split.order)
        pieces, logged, mark = await self._fetch(split, since, lambda lengths: self._most(lengths, limit, place_of))
        triples, capped = unpack(split.restored(pieces), self._widths.of(keys), self._max_bucket)
        parts = [triples, unpack_log(keys, logged, ignoring)] if logged else [triples]
        counts, entries, tags = by_key(keys, *parts)
        shares = counts if limit is None else limit.of_lengths(counts)
        if shares is not counts:
            places = ranges(np.cumsum(counts) - counts, shares)
            entries, tags, capped = entries[places], tags[places], capped | (shares < counts)
        return Postings(shares, entries, tags, mark, capped)

    async def probe(
        self,
        keys: Keys,
        tags: Keys,
        radii: NDArray[np.uint8],
        any_bits: int,
        since: int | None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> ProbeMatches:
        """What matches the probes. A bucket that several documents of a batch read is fetched once."""
        distinct, key_of = np.unique(keys, return_inverse=True)
        split = KeysByShard(distinct)
        place_of = np.argsort(split.order)[key_of]  # of each probe's bucket, in the order in which they are fetched
        pieces, logged, mark = await self._fetch(split, since, lambda lengths: self._most(lengths, limit, place_of))
        widths = self._widths.of(distinct[split.order])
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces)) // (8 + widths)
        log = unpack_log(distinct[split.order], logged, ignoring) if logged else None
        in_log = np.bincount(log[0], minlength=len(pieces)) if log else np.zeros(len(pieces), np.int64)
        there = (lengths + in_log)[place_of]
        counts = np.minimum(there, self._max_bucket)
        if limit is not None:
            counts = limit.of_lengths(counts)
        most = np.zeros(len(pieces), np.int64)
        np.maximum.at(most, place_of, counts)

        cut = np.zeros(len(keys), np.bool_)
        found: list[tuple[Numbers, Keys, Keys]] = [(np.empty(0, np.int64), keys[:0], keys[:0])]

        def match(probes: Numbers, bucketfuls: Bucketfuls) -> None:
            own = None if limit is None else limit.only(probes)
            matched, *columns, too_many = bucketfuls.matching(keys[probes], tags[probes], radii[probes], any_bits, own)
            found.append((probes[matched], columns[0], columns[1]))
            cut[probes] |= too_many

        for width in np.flatnonzero(np.bincount(widths)).tolist():
            of_width = np.flatnonzero((widths == width) & (lengths > 0))
            if of_width.size:
                begins, entries, stored_tags = unpack_pieces(pieces, of_width, np.minimum(lengths, most), width)
                probes = np.flatnonzero(begins[place_of] >= 0)
                match(probes, Bucketfuls(begins[place_of[probes]], counts[probes], entries, stored_tags))
        if log and len(log[0]):
            which, entries, stored_tags = log
            probes = np.flatnonzero(in_log[place_of])
            begins = np.searchsorted(which, place_of[probes])
            match(probes, Bucketfuls(begins, np.minimum(counts, in_log[place_of])[probes], entries, stored_tags))
        matched, entries, stored_tags = (np.concatenate(column) for column in zip(*found, strict=True))
        in_order = np.argsort(matched, kind="stable")
        entries, stored_tags = entries[in_order], stored_tags[in_order]
        return ProbeMatches(matched[in_order], entries, stored_tags, mark, counts < there, cut)

    def _most(self, lengths: Numbers, limit: ReadLimit | None, place_of: Numbers) -> Numbers:
        """How much of each bucket may be needed, if it is no shorter than that. What is beyond decides nothing."""
        most = np.full(len(lengths), self._max_bucket)
        if limit is not None:
            own = lengths[place_of]
            shares = limit.of_lengths(own)
            bounded = np.where(shares < own, shares, self._max_bucket)
            most[:] = 0
            np.maximum.at(most, place_of, bounded)
        return most

    async def crowded(self, shards: Sequence[int]) -> list[list[bytes]]:
        """The crowded buckets of each shard: generation and name."""
        return await self._shards.call(CROWDED, [(shard, b"") for shard in shards])

    async def overflow(self, parts: Sequence[Part], limits: Sequence[Sequence[int]]) -> list[list[bytes]]:
        """What overflowed from crowded buckets, at most so many postings of each."""
        shares = [
            (shard, b"".join([name + most.to_bytes(4, "little") for name, most in zip(names, some, strict=True)]))
            for (shard, names), some in zip(parts, limits, strict=True)
        ]
        return await self._shards.call(OVERFLOW, shares, self._widths.sizes)

    async def _fetch(
        self, split: KeysByShard, since: int | None, most: Callable[[Numbers], Numbers]
    ) -> tuple[list[bytes], list[bytes], int]:
        """The buckets, or nothing where the log has what came to them since; what the log has; and a new mark. `most`
        tells by the least lengths of all buckets how much of each is needed."""
        view = self._shards.view
        marked_view, places = self._marks.get(since, (None, {})) if since is not None else (None, {})
        if marked_view != view:
            places = {}
        known = {shard: places[shard] for shard, _ in split.parts if places.get(shard)}
        tail_places, logged = await self._tail(known)
        whole_places, buckets = await self._whole(split, tail_places.keys(), most)
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

    async def _whole(
        self, split: KeysByShard, left_out: Collection[int], most: Callable[[Numbers], Numbers]
    ) -> tuple[dict[int, bytes], BucketBytes]:
        """Where the log of each shard ended, and the buckets read after that: what is appended meanwhile is read twice
        rather than not at all."""
        parts = [part for part in split.parts if part[0] not in left_out]
        if not parts:
            return {}, {}
        generations = [bytes([g]) for g in self._shards.generations[::-1]]  # the oldest postings come first
        commands: list[tuple[Argument, ...]] = [
            ("HMGET", self._shards.prefixes[shard] + g + b"b", *names) for shard, names in parts for g in generations
        ]
        shares = [(shard, NO_PLACE) for shard, _ in parts]
        ends, replies, crowded = await self._shards.read(LOG_TAIL, CROWDED, shares, commands)
        places = {shard: place for (shard, _), (place,) in zip(parts, ends, strict=True)}
        heads = {
            (shard, g): [head or b"" for head in replies[n * len(generations) + k]]
            for n, (shard, _) in enumerate(parts)
            for k, g in enumerate(generations)
        }
        full = {shard: set(names) for (shard, _), names in zip(parts, crowded, strict=True)}
        overflows = await self._overflow_of(split, heads, full, most) if any(full.values()) else {}
        buckets: BucketBytes = {}
        for shard, names in parts:
            if overflows or len(generations) > 1:
                pieces = [
                    [head + overflows.get((shard, g + name), b"") for name, head in zip(names, some, strict=True)]
                    for g, some in ((g, heads[shard, g]) for g in generations)
                ]
                buckets[shard] = list(map(b"".join, zip(*pieces, strict=True)))
            else:
                buckets[shard] = heads[shard, generations[0]]
        return places, buckets

    async def _overflow_of(
        self,
        split: KeysByShard,
        heads: Mapping[tuple[int, bytes], Sequence[bytes]],
        full: Mapping[int, Collection[bytes]],
        most: Callable[[Numbers], Numbers],
    ) -> dict[tuple[int, bytes], bytes]:
        """What overflowed from those buckets that are crowded, by shard, generation and name: as much as is needed, and
        one posting more, to see that there is more."""
        lengths: list[int] = []
        crowded: list[tuple[int, bytes, int, int]] = []  # shard, generation and name, place, length of the head
        for shard, names in split.parts:
            first = len(lengths)
            lengths += [0] * len(names)
            for g in [g for of_shard, g in heads if of_shard == shard]:
                for place, (name, head) in enumerate(zip(names, heads[shard, g], strict=True), first):
                    count = len(head) // self._widths.sizes[name[0]]
                    if g + name in full[shard]:
                        crowded.append((shard, g + name, place, count))
                        count += 1
                    lengths[place] += count
        if not crowded:
            return {}
        needed = most(np.array(lengths)).tolist()
        parts: dict[int, tuple[list[bytes], list[int]]] = {}
        for shard, name, place, head_length in crowded:
            names, limits = parts.setdefault(shard, ([], []))
            names.append(name)
            limits.append(max(needed[place] - head_length, 0) + 1)
        replies = await self.overflow([(s, names) for s, (names, _) in parts.items()], [m for _, m in parts.values()])
        return {
            (shard, name): postings
            for (shard, (names, _)), some in zip(parts.items(), replies, strict=True)
            for name, postings in zip(names, some, strict=True)
        }
