"""Who is measured on Redis: the gate, a pipeline of redis-py, and datasketch; and the documents that they get."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import redis
from numpy.typing import NDArray

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import method_of
from gate.index.protocol.claim import Index
from gate.index.protocol.outcome import Claim
from gate.index.redis.connect import open_store
from gate.index.redis.store import RedisStore
from gate.index.store import new_entry_id
from gate.limits import Limits
from gate.pipeline import Pipeline, SignedBatch, Signer
from load.bench_redis_stock import stock
from tests.support.servers import RedisServer

BATCH = 256
BATCHES_IN_FLIGHT = 2
COPIES = 0.1
PERMUTATIONS = 128
FEATURES = 300


class Drawn:
    """Signed documents without their texts: random bodies, and near copies of earlier ones."""

    def __init__(self, profile: str, *, seed: int = 1, shared: float = 0.0) -> None:
        self.width = method_of(BUILT_IN[profile]).layout.body_bytes
        self._rng = np.random.default_rng(seed)
        self._earlier = np.empty((0, self.width), np.uint8)
        self._template = self._rng.integers(0, 256, self.width, np.uint8)
        self._shared = shared  # of the bins that every document has in common, as letters from one template do
        self._count = 0

    def bodies(self, size: int) -> NDArray[np.uint8]:
        """Random bodies, none alike to another."""
        bodies = self._rng.integers(0, 256, (size, self.width), np.uint8)
        if self.width > 8:
            bodies[:, 8:12] = np.frombuffer(FEATURES.to_bytes(4, "little"), np.uint8)
        if self._shared:
            common = self._rng.random((size, self.width - 12)) < self._shared
            bodies[:, 12:] = np.where(common, self._template[12:], bodies[:, 12:])
        return bodies

    def names(self, size: int) -> list[str]:
        first, self._count = self._count, self._count + size
        return [f"document-{number:07d}" for number in range(first, first + size)]

    def batch(self, size: int = BATCH) -> list[Claim]:
        bodies = self.bodies(size)
        if len(self._earlier):
            chosen = np.flatnonzero(self._rng.random(size) < COPIES)
            bodies[chosen] = self._earlier[self._rng.integers(0, len(self._earlier), len(chosen))]
            bodies[chosen, 0] ^= np.uint8(1)  # one bit of the fingerprint
        self._earlier = np.concatenate([self._earlier[-4 * BATCH :], bodies])
        contents = self._rng.bytes(16 * size)
        flat = bodies.tobytes()
        return [
            Claim(
                document_id=name,
                version=None,
                content=contents[16 * i : 16 * i + 16],
                body=flat[self.width * i : self.width * (i + 1)],
            )
            for i, name in enumerate(self.names(size))
        ]


class GateOnRedis:
    """A gate's pipeline on Redis, without the signing."""

    def __init__(self, url: str, profile: str, *, name: str | None = None, shared: float = 0.0) -> None:
        self.runner = asyncio.Runner()
        self.profile, self.method = BUILT_IN[profile], method_of(BUILT_IN[profile])
        self.drawn = Drawn(profile, shared=shared)
        self.store: RedisStore = self.runner.run(
            open_store(
                url,
                profile_ref=name or self.profile.ref,
                digest=self.profile.digest(),
                layout=self.method.layout,
                max_bucket=Limits().max_bucket,
            )
        )
        index = Index(self.store, self.method, self.profile, Limits(), new_entry_id=new_entry_id, gather=asyncio.gather)
        self.pipeline = Pipeline(Signer(self.profile), index)
        self.flagged = 0

    def take(self, batches: Sequence[list[Claim]]) -> None:
        self.runner.run(self._take(batches))

    async def _take(self, batches: Sequence[list[Claim]]) -> None:
        waiting = list(reversed(batches))

        async def work() -> None:
            while waiting:
                batch = waiting.pop()
                verdicts = await self.pipeline.check_in(SignedBatch(batch, [FEATURES] * len(batch)))
                self.flagged += sum(verdict.similar for verdict in verdicts)

        await asyncio.gather(*(work() for _ in range(BATCHES_IN_FLIGHT)))

    def fill(self, count: int) -> None:
        """Check so many documents in."""
        for _ in range(0, count, 16 * BATCH):
            self.take([self.drawn.batch() for _ in range(16)])

    def stock(self, count: int) -> None:
        """Have so many documents in an index that was empty."""
        names = [name.encode() for name in self.drawn.names(count)]
        contents = np.random.default_rng(9).integers(0, 256, (count, 16), np.uint8)
        self.runner.run(stock(self.store, self.method, names, contents, self.drawn.bodies(count)))

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


class Bands:
    """What a redis-py user writes first: GET and APPEND per block, in a pipeline."""

    def __init__(self, server: RedisServer, prefix: str) -> None:
        self.client = redis.Redis(host="127.0.0.1", port=server.port)
        self.prefix = prefix
        self.drawn = Drawn("simhash", seed=2)

    def take(self, batches: Sequence[list[Claim]]) -> None:
        for batch in batches:
            prints = np.frombuffer(b"".join(claim.body for claim in batch), "<u8").tolist()
            pipe = self.client.pipeline(transaction=False)
            for number in prints:
                for block in range(4):
                    key = f"{self.prefix}:{block}:{number >> 16 * block & 0xFFFF:04x}"
                    pipe.get(key)
                    pipe.append(key, number.to_bytes(8, "little") * 2)
            pipe.execute()

    def stock(self, count: int) -> None:
        """What so many documents would have appended."""
        prints = self.drawn.bodies(count).view("<u8").ravel()
        for block in range(4):
            parts = (prints >> np.uint64(16 * block)) & np.uint64(0xFFFF)
            ordered = prints[np.argsort(parts, kind="stable")]
            bounds = np.searchsorted(np.sort(parts), np.arange(65537)).tolist()
            pipe = self.client.pipeline(transaction=False)
            for part, (a, b) in enumerate(pairwise(bounds)):
                if a < b:
                    pipe.set(f"{self.prefix}:{block}:{part:04x}", np.repeat(ordered[a:b], 2).tobytes())
            pipe.execute()


class DatasketchOnRedis:
    """MinHashLSH with its Redis storage."""

    def __init__(self, server: RedisServer, name: bytes, *, buffered: bool) -> None:
        from datasketch import MinHash, MinHashLSH

        storage = {"type": "redis", "basename": name, "redis": {"host": "127.0.0.1", "port": server.port}}
        self.lsh: Any = MinHashLSH(threshold=0.7, num_perm=PERMUTATIONS, storage_config=storage)
        self.sign: Any = MinHash
        self.buffered = buffered
        self.rng = np.random.default_rng(3)
        self.count = 0

    def take(self, size: int) -> int:
        values = self.rng.integers(0, 2**32, (size, PERMUTATIONS), np.uint64)
        signatures = [self.sign(num_perm=PERMUTATIONS, hashvalues=row, scheme="legacy") for row in values]
        names = [f"document-{self.count + i:07d}" for i in range(size)]
        self.count += size
        if self.buffered:
            with self.lsh.insertion_session(buffer_size=50_000) as session:
                for name, signature in zip(names, signatures, strict=True):
                    self.lsh.query(signature)
                    session.insert(name, signature)
            return size
        for name, signature in zip(names, signatures, strict=True):
            if not self.lsh.query(signature):
                self.lsh.insert(name, signature)
        return size
