"""How much an index holds in Redis, and what it weighs, part by part. Walks all of it, a page of keys at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gate.index.redis.buckets import Widths
from gate.index.redis.layout import View
from gate.index.redis.link import Client, pipeline_of, translating
from gate.index.redis.views import scan

SAMPLED = 32  # one key of so many is weighed: MEMORY USAGE costs as much as all the rest
RECORD_FIELD_BYTES = (4, 5)  # a field of a page that is a record; the pieces of bodies have longer names


async def survey(client: Client, prefixes: Sequence[bytes], view: View, widths: Widths) -> dict[str, int]:
    """Counts, sizes of buckets, and bytes: those of keys are estimated from a sample of them."""
    found: dict[str, list[int]] = {"b": [], "r": [], "d": []}
    weighed: dict[str, list[int]] = {"b": [], "r": [], "d": []}
    others = 0
    with translating():
        for prefix in prefixes:
            async for keys in scan(client, prefix + b"*"):
                kinds = [_kind(key, prefix, view) for key in keys]
                pipe = pipeline_of(client)
                for key, kind in zip(keys, kinds, strict=True):
                    if kind == "b":
                        pipe.execute_command("STRLEN", key)
                    elif kind == "r":
                        pipe.execute_command("HKEYS", key)
                    elif kind == "d":
                        pipe.execute_command("HLEN", key)
                    else:
                        pipe.execute_command("MEMORY USAGE", key)
                for key, kind, reply in zip(keys, kinds, await pipe.execute(), strict=True):
                    if kind == "":
                        others += reply or 0
                        continue
                    if kind == "b":
                        size = reply // widths.sizes[key[len(prefix) + 2]]
                    else:
                        size = reply if kind == "d" else sum(len(name) in RECORD_FIELD_BYTES for name in reply)
                    found[kind].append(size)
                    if len(found[kind]) % SAMPLED == 1:  # the first of each kind in any case
                        weighed[kind].append(await client.memory_usage(key, samples=0) or 0)
    buckets = np.array(found["b"] or [0])
    bytes_of = {kind: round(len(found[kind]) * float(np.mean(weighed[kind] or [0]))) for kind in found}
    return {
        "documents": sum(found["d"]),
        "entries": sum(found["r"]),
        "postings": sum(found["b"]),
        "buckets": len(found["b"]),
        "largest_bucket": int(buckets.max()),
        "p99_bucket": int(np.percentile(buckets, 99)),
        "generations": len(view.read),
        "bytes_documents": bytes_of["d"],
        "bytes_entries": bytes_of["r"],
        "bytes_buckets": bytes_of["b"],
        "bytes_log": others,
    }


def _kind(key: bytes, prefix: bytes, view: View) -> str:
    """What a key is: a bucket, a page of records or of documents, or '' for the few others."""
    generation, kind = chr(key[len(prefix)]), chr(key[len(prefix) + 1]) if len(key) > len(prefix) + 1 else ""
    return kind if generation in view.read and kind in "brd" else ""
