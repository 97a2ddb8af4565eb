"""The methods that look through a window of bytes: Mod_n, Min_n, BSW_n (a set of fingerprints) and Sketch_n.

A body of a set is its size (4 bytes; the uppermost bit says that the set was larger and these are its smallest) and
its fingerprints, 8 bytes each, ascending. So the keys follow from it: the smallest `max_keys` of the fingerprints.
Two documents find each other by any small fingerprint that they share, and so does a part its whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core import bands, chunking, shingles, sketches
from gate.core.bands import Probes
from gate.core.method import COUNT_BYTES, NO_LIMIT, BodyLayout, Floats, Measures, Signatures, stack, whole
from gate.core.method_parameters import BswN, MinN, ModN, SketchN, WindowParameters
from gate.core.profile import Profile
from gate.core.shingles import Features
from gate.core.sketches import Windows
from gate.core.text import Texts
from gate.core.tokenizers import Hashes

PRINT_BYTES = 8
VALUE_BYTES = 4  # of Sketch_n
MORE = 1 << 31
CUT = MORE >> 24  # in the last byte of the count
# With a hundred keys a document and more, 65,536 buckets would be crowded (`max_bucket`) at a million documents.
FEW_KEYS = 64
BUCKET_BITS = {True: 16, False: 20}


def sample(windows: Windows, parameters: ModN | MinN | BswN, secret: bytes) -> Features:
    """The fingerprints of each text that the method chooses, before any limit."""
    match parameters:
        case ModN(sample=n):
            return sketches.mod_n(windows, n)
        case MinN(sample=n):
            return sketches.min_n(windows, n + 1)  # one more shows whether there are more
        case BswN(sample=n, chunks="whole"):
            return chunking.whole_n(windows, n, secret)
        case BswN(sample=n):
            return chunking.smallest_n(windows, n)


@dataclass(frozen=True, slots=True)
class SampleMethod:
    """Mod_n, Min_n and BSW_n."""

    profile: Profile
    parameters: ModN | MinN | BswN
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def most(self) -> int:
        """Fingerprints that a body has room for."""
        return self.parameters.sample if isinstance(self.parameters, MinN) else self.parameters.max_prints

    @property
    def bucket_bits(self) -> int:
        return BUCKET_BITS[self.parameters.max_keys <= FEW_KEYS]

    @property
    def layout(self) -> BodyLayout:
        return BodyLayout(COUNT_BYTES, bands.print_tag_bytes(self.bucket_bits), PRINT_BYTES)

    def sign(self, texts: Texts) -> Signatures:
        every = _windows(texts, self.profile, self.parameters, self.secret)
        sets = sample(every.first(self.max_features), self.parameters, self.secret)
        keeps_few = isinstance(self.parameters, MinN)
        sizes = np.diff(sets.starts)
        larger, bounded = sizes > self.most, sets.first(self.most)
        # All of a text's windows count for Min_n, which always keeps a few of many.
        counted = every.counts if keeps_few else sizes
        capped = every.counts > self.max_features
        if not keeps_few:
            capped |= larger
        enough = (counted >= self.profile.min_features) & (sizes > 0)
        flat = bounded.hashes.astype("<u8").tobytes()
        heads = (np.diff(bounded.starts) + larger * MORE).astype("<u4").tobytes()
        bounds = (bounded.starts * PRINT_BYTES).tolist()
        bodies = [
            heads[COUNT_BYTES * i : COUNT_BYTES * (i + 1)] + flat[bounds[i] : bounds[i + 1]] if has else b""
            for i, has in enumerate(enough.tolist())
        ]
        return Signatures(bodies, counted.tolist(), capped.tolist())

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        end = COUNT_BYTES + PRINT_BYTES * self.parameters.max_keys
        keys = [body[COUNT_BYTES:end] for body in bodies]
        counts = np.fromiter(map(len, keys), np.int64, len(keys)) // PRINT_BYTES
        rows = np.repeat(np.arange(len(bodies)), counts)
        prints = np.frombuffer(b"".join(keys), "<u8").astype(np.uint64, copy=False)
        return bands.print_postings(rows, prints, bucket_bits=self.bucket_bits)

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        return self.postings(bodies)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        both, left, right = self._shared(lefts, rights)
        resemblance = both / np.maximum(left + right - both, 1.0)
        if isinstance(self.parameters, MinN):  # the smallest of a part say nothing of the smallest of its whole
            return Measures(resemblance=resemblance)
        # Of two or three fingerprints, all may be shared by chance; sets that were not cut have the minimum anyway.
        least = float(self.profile.min_features)
        contained = [both / np.maximum(size, least) for size in (left, right)]
        return Measures(resemblance=resemblance, left_in_right=contained[0], right_in_left=contained[1])

    def _shared(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> tuple[Floats, Floats, Floats]:
        """How many fingerprints the pairs share, and how many of either side were looked at."""
        if not all(lefts) or not all(rights):
            raise ValueError("a text with too few features has no body to compare")
        counts = np.zeros((3, len(lefts)))
        uncut: dict[bytes, list[int]] = {}  # pairs of sets that were not cut, by the left one, which has many
        for i, (left, right) in enumerate(zip(lefts, rights, strict=True)):
            if (left[COUNT_BYTES - 1] | right[COUNT_BYTES - 1]) & CUT:
                counts[:, i] = sketches.shared_of_cut(_prints(left), _prints(right), self.most)
            else:
                uncut.setdefault(left, []).append(i)
        for left, places in uncut.items():
            print_set, others = _prints(left), [_prints(rights[i]) for i in places]
            counts[0, places] = sketches.shared_by_each(print_set, others)
            counts[1, places], counts[2, places] = print_set.size, [other.size for other in others]
        return counts[0], counts[1], counts[2]

    def fingerprint(self, body: bytes) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class SketchMethod:
    """Sketch_n: 4 bytes of each of n minima; found by bands of their lowest bytes."""

    profile: Profile
    parameters: SketchN
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def layout(self) -> BodyLayout:
        tags = bands.band_tag_bytes(self.parameters.bands, self.parameters.rows)
        return BodyLayout(VALUE_BYTES * self.parameters.sample, tags)

    def sign(self, texts: Texts) -> Signatures:
        every = _windows(texts, self.profile, self.parameters, self.secret)
        flat = sketches.sketch_n(every.first(self.max_features), self.parameters.sample).astype("<u4").tobytes()
        counts, width = every.counts, self.layout.body_bytes
        enough = counts >= self.profile.min_features
        bodies = [flat[i * width : (i + 1) * width] if has else b"" for i, has in enumerate(enough.tolist())]
        return Signatures(bodies, counts.tolist(), (counts > self.max_features).tolist())

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        lowest = table[:, : self.layout.body_bytes : VALUE_BYTES]
        return bands.band_postings(rows, lowest, bands=self.parameters.bands, band_rows=self.parameters.rows)

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        return self.postings(bodies)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        left, right = _values(whole(lefts)), _values(whole(rights))
        return Measures(resemblance=np.count_nonzero(left == right, axis=1) / self.parameters.sample)

    def fingerprint(self, body: bytes) -> int | None:
        return None


def _windows(texts: Texts, profile: Profile, parameters: WindowParameters, secret: bytes) -> Windows:
    return sketches.windows(shingles.filter_texts(texts, profile), parameters.window, secret)


def _prints(body: bytes) -> Hashes:
    return np.frombuffer(body, "<u8", offset=COUNT_BYTES).astype(np.uint64, copy=False)


def _values(table: NDArray[np.uint8]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(table).view("<u4")
