"""How much an index holds in Redis, and its bytes, part by part. Scans all of it, a page of buckets at a time."""

from __future__ import annotations

import numpy as np

from gate.index.redis.client import load_script, make_pipeline, translate_errors
from gate.index.redis.generations import scan_keys
from gate.index.redis.layout import decode_held
from gate.index.redis.packing import Widths
from gate.index.redis.scan import ANY_NAME, pages
from gate.index.redis.shards import Shards

BUCKET_SIZES = load_script("bucket_sizes")
SCAN_HASH = load_script("scan_hash")
SAMPLED = 1000  # fields of a hash that are measured: the others take about as many bytes, and each takes time
PARTS = {"b": "bytes_buckets", "o": "bytes_buckets", "r": "bytes_entries", "d": "bytes_documents"}


async def measure_index(shards: Shards, widths: Widths) -> dict[str, int]:
    """Counts, sizes of buckets, and bytes; those of hashes and details are estimated from a sample."""
    client, prefixes = shards.library_client, shards.prefixes
    view = await shards.current_view()
    info = dict.fromkeys(("documents", "entries", "postings", "buckets", "largest_bucket", "p99_bucket"), 0)
    info |= {"generations": len(view.read)} | dict.fromkeys((*PARTS.values(), "bytes_log"), 0)
    with translate_errors():
        for prefix in prefixes:
            async for keys in scan_keys(client, prefix + b"*"):
                kinds = [_kind(key, prefix, view.read) for key in keys]
                pipe = make_pipeline(client)
                for key, kind in zip(keys, kinds, strict=True):
                    pipe.execute_command("MEMORY USAGE", key, "SAMPLES", SAMPLED)
                    pipe.execute_command("HLEN" if kind and kind in "brd" else "EXISTS", key)
                replies = await pipe.execute()
                for kind, size, fields in zip(kinds, replies[::2], replies[1::2], strict=True):
                    info[PARTS.get(kind, "bytes_log")] += size or 0
                    if kind in ("r", "d"):
                        info["entries" if kind == "r" else "documents"] += fields
    info["bytes_details"] = await _bytes_of_details(shards, info["documents"])
    pages_of_counts = [page async for some in pages(shards, BUCKET_SIZES, b"", widths.sizes) for page in some]
    counts = np.frombuffer(b"".join(pages_of_counts), "<u4")
    info["postings"], info["buckets"] = int(counts.sum()), len(counts)
    if len(counts):
        info["largest_bucket"], info["p99_bucket"] = int(counts.max()), int(np.percentile(counts, 99))
    return info


async def _bytes_of_details(shards: Shards, documents: int) -> int:
    """By the details of the first documents of each shard: they are as good as drawn at random."""
    sampled = size = 0
    async for page in pages(shards, SCAN_HASH, b"d", ANY_NAME):
        values = [value for fields in page for value in fields[1::2]]
        sampled += len(values)
        size += sum(len(stored.details) for value in values for stored in decode_held(value))
        if sampled >= SAMPLED:
            break
    return round(size * documents / sampled) if sampled else 0


def _kind(key: bytes, prefix: bytes, generations: str) -> str:
    """What a key is: buckets, their overflow, the registry or documents, or '' for the few others."""
    generation, kind = chr(key[len(prefix)]), chr(key[len(prefix) + 1]) if len(key) > len(prefix) + 1 else ""
    return kind if generation in generations and kind in PARTS else ""
