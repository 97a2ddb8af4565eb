"""BSW_n: chunks whose ends are set by the text itself, and the number that represents each.

A chunk ends with every window whose fingerprint n divides, so chunks are some n bytes long, and a change moves no end
but those near it:

    bytes    . . . . . . . . . . . . . . . . . . . . .
    windows  [=======]                                      n divides the fingerprint of the second one
               [=======]
    chunks   <----------><---- ...                          so the first chunk ends where that window does

A chunk is represented by the smallest fingerprint of the windows that end in it (Cherkasova et al. 2009), which most
changes within the chunk leave as it is; or, as before them, a hash of the chunk's bytes, which no change does.
"""

from __future__ import annotations

import hashlib

import mmh3
import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import Features
from gate.core.sketches import Windows, ascending, divisible
from gate.core.tokenizers import Hashes


def smallest_n(batch: Windows, n: int) -> Features:
    """The smallest fingerprint of each chunk, distinct and ascending."""
    starts, owners = _chunks(batch, n)
    # Where a text's windows end, a segment of those across two texts begins: it must not count for the last chunk.
    edges = _union(starts, batch.ends[batch.ends < batch.prints.size])
    least = np.minimum.reduceat(batch.prints, edges) if starts.size else batch.prints[:0]
    return ascending(least[np.searchsorted(edges, starts)], owners, len(batch.begins))


def whole_n(batch: Windows, n: int, secret: bytes = b"") -> Features:
    """A hash of each chunk's bytes, distinct and ascending."""
    starts, owners = _chunks(batch, n)
    opening = starts == batch.begins[owners]
    begins = np.where(opening, starts, starts + batch.width - 1)
    ends = np.empty_like(begins)
    ends[:-1] = begins[1:]
    closing = np.append(opening[1:], True) if starts.size else opening
    ends[closing] = batch.ends[owners[closing]] + batch.width - 1
    return ascending(_hashed(batch.data, begins, ends, secret), owners, len(batch.begins))


def _chunks(batch: Windows, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first window of each chunk, and the text that it belongs to."""
    closing, _ = batch.texts_at(divisible(batch.prints, n))
    opening = batch.begins[batch.begins < batch.ends]
    return batch.texts_at(_union(opening, closing[closing + 1 < batch.prints.size] + 1))


def _union(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two rising lists as one, without repetition."""
    merged = np.sort(np.concatenate([left, right]), kind="stable")  # finds the two runs, and merges them
    new = np.ones(merged.size, dtype=np.bool_)
    np.not_equal(merged[1:], merged[:-1], out=new[1:])
    return merged[new]


def _hashed(data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], secret: bytes) -> Hashes:
    """The first eight of 16 bytes of MurmurHash3 x64 128; with a secret, of BLAKE2b under a key derived from it.

    Chunks that collide are easily made for MurmurHash3, and gain nothing: a feature that is shared makes texts more
    alike, and to share that of a known chunk it is enough to copy the chunk. Equal contents are found by their content
    ids, which are BLAKE2b always. Without a secret, the fingerprints of windows can be computed by anybody too.
    """
    flat, places = data.tobytes(), zip(begins.tolist(), ends.tolist())
    if secret:
        key = hashlib.blake2b(secret, digest_size=32, person=b"gate.chunks").digest()
        digests = [hashlib.blake2b(flat[a:b], key=key, digest_size=16).digest() for a, b in places]
    else:
        digest = mmh3.mmh3_x64_128_digest
        digests = [digest(flat[a:b]) for a, b in places]
    return np.frombuffer(b"".join(digests), dtype="<u8")[::2].astype(np.uint64)
