"""How much an index holds in Redis, and what it weighs, part by part. Walks all of it, a page of buckets at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gate.index.redis.client import load_script, make_pipeline, translate_errors
from gate.index.redis.generations import current_view, scan
from gate.index.redis.scan import pages

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

SIZES = load_script("sizes")
SAMPLED = 1000  # fields of a hash that are weighed: the others weigh about the same, and each takes time
PARTS = {"b": "bytes_buckets", "o": "bytes_buckets", "r": "bytes_entries", "d": "bytes_documents"}


async def survey(store: RedisStore) -> dict[str, int]:
    """Counts, sizes of buckets, and bytes: those of hashes are estimated from a sample of their fields."""
    client, prefixes = store._link.client, store._prefixes
    view = await current_view(client, prefixes)
    told = dict.fromkeys(("documents", "entries", "postings", "buckets", "largest_bucket", "p99_bucket"), 0)
    told |= {"generations": len(view.read)} | dict.fromkeys((*PARTS.values(), "bytes_log"), 0)
    with translate_errors():
        for prefix in prefixes:
            async for keys in scan(client, prefix + b"*"):
                kinds = [_kind(key, prefix, view.read) for key in keys]
                pipe = make_pipeline(client)
                for key, kind in zip(keys, kinds, strict=True):
                    pipe.execute_command("MEMORY USAGE", key, "SAMPLES", SAMPLED)
                    pipe.execute_command("HLEN" if kind and kind in "brd" else "EXISTS", key)
                replies = await pipe.execute()
                for kind, size, fields in zip(kinds, replies[::2], replies[1::2], strict=True):
                    told[PARTS.get(kind, "bytes_log")] += size or 0
                    if kind in ("r", "d"):
                        told["entries" if kind == "r" else "documents"] += fields
    found = [page async for some in pages(store, SIZES, b"", store._widths.sizes) for page in some]
    counts = np.frombuffer(b"".join(found), "<u4")
    told["postings"], told["buckets"] = int(counts.sum()), len(counts)
    if len(counts):
        told["largest_bucket"], told["p99_bucket"] = int(counts.max()), int(np.percentile(counts, 99))
    return told


def _kind(key: bytes, prefix: bytes, generations: str) -> str:
    """What a key is: buckets, their overflow, the registry or documents, or '' for the few others."""
    generation, kind = chr(key[len(prefix)]), chr(key[len(prefix) + 1]) if len(key) > len(prefix) + 1 else ""
    return kind if generation in generations and kind in PARTS else ""
