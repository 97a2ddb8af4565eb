"""The table of methods: how a text is signed, where its signature is kept, and how two of them compare.

A method is all that the index and the pipeline know of how likeness works. A new one is a new row of `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core import bands, length_filter, minhash, sampled_methods, shingles, simhash, similarity_index
from gate.core.bands import Probes
from gate.core.method import NO_LIMIT, Measures, Method, Room, Signatures, stack, whole
from gate.core.profile import Profile
from gate.core.sampled_methods import Sampled, Sketched
from gate.core.similarity_index import SimilarityIndex
from gate.core.text import Texts
from gate.errors import ConfigError

__all__ = ["METHODS", "Measures", "Method", "Room", "Signatures", "method_of"]


@dataclass(frozen=True, slots=True)
class SimHash:
    """The 64-bit fingerprint alone: 8 bytes a document, found within `radius` bits for certain."""

    profile: Profile
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def room(self) -> Room:
        return Room(8, {})

    def sign(self, texts: Texts) -> Signatures:
        features = shingles.features(texts, self.profile, self.secret)
        return _signatures(_print_bytes(features.first(self.max_features), self.profile), features, self)

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return bands.fingerprint_postings(rows, _prints(table))

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return bands.fingerprint_probes(rows, _prints(table), self.profile.radius)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        left, right = whole(lefts), whole(rights)
        return Measures(distance=_distances(left, right))

    def fingerprint(self, body: bytes) -> int | None:
        return int.from_bytes(body[:8], "little") if body else None


@dataclass(frozen=True, slots=True)
class MinHash:
    """A one-permutation signature: 4 bytes of set size, then one byte a bin; found by bands."""

    profile: Profile
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def room(self) -> Room:
        return Room(4 + self.profile.bins, bands.band_tag_bytes(self.profile.bands, self.profile.rows))

    def sign(self, texts: Texts) -> Signatures:
        features = shingles.features(texts, self.profile, self.secret)
        return _signatures(_sketch(features.first(self.max_features), self.profile), features, self)

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return bands.band_postings(rows, table[:, 4:], bands=self.profile.bands, band_rows=self.profile.rows)

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        return self.postings(bodies)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        left, right = whole(lefts), whole(rights)
        return _resemble(left, right, self.profile, distance=None)

    def fingerprint(self, body: bytes) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Both: 8 bytes of fingerprint before the sketch, and the union of both methods' buckets."""

    profile: Profile
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def room(self) -> Room:
        return Room(12 + self.profile.bins, bands.band_tag_bytes(self.profile.bands, self.profile.rows))

    def sign(self, texts: Texts) -> Signatures:
        features = shingles.features(texts, self.profile, self.secret)
        first = features.first(self.max_features)
        table = np.hstack([_print_bytes(first, self.profile), _sketch(first, self.profile)])
        return _signatures(table, features, self)

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return bands.together(bands.fingerprint_postings(rows, _prints(table)), self._bands(rows, table))

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        prints = bands.fingerprint_probes(rows, _prints(table), self.profile.radius)
        return bands.together(prints, self._bands(rows, table))

    def _bands(self, rows: NDArray[np.int64], table: NDArray[np.uint8]) -> Probes:
        return bands.band_postings(rows, table[:, 12:], bands=self.profile.bands, band_rows=self.profile.rows)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        left, right = whole(lefts), whole(rights)
        return _resemble(left[:, 8:], right[:, 8:], self.profile, distance=_distances(left, right))

    def fingerprint(self, body: bytes) -> int | None:
        return int.from_bytes(body[:8], "little") if body else None


def _signatures(
    table: NDArray[np.uint8], features: shingles.Features, method: SimHash | MinHash | Hybrid
) -> Signatures:
    """A body of each row of the table; `features` are all that the texts have."""
    counts, least = np.diff(features.starts).tolist(), method.profile.min_features
    width, flat = table.shape[1], np.ascontiguousarray(table).tobytes()
    bodies = [flat[i * width : (i + 1) * width] if count >= least else b"" for i, count in enumerate(counts)]
    return Signatures(bodies, counts, [count > method.max_features for count in counts])


def _print_bytes(features: shingles.Features, profile: Profile) -> NDArray[np.uint8]:
    return simhash.fingerprints(features, profile.weights).astype("<u8").view(np.uint8).reshape(-1, 8)


def _sketch(features: shingles.Features, profile: Profile) -> NDArray[np.uint8]:
    signatures, sizes = minhash.signatures(features, profile.bins, profile.family)
    return np.hstack([sizes.astype("<u4").view(np.uint8).reshape(-1, 4), signatures])


def _prints(table: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(table[:, :8]).view("<u8").ravel().astype(np.uint64, copy=False)


def _distances(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.int64]:
    distances: NDArray[np.int64] = np.bitwise_count(_prints(left) ^ _prints(right)).astype(np.int64)
    return distances


def _resemble(
    left: NDArray[np.uint8], right: NDArray[np.uint8], profile: Profile, *, distance: NDArray[np.int64] | None
) -> Measures:
    """Resemblance from the bins; containment from it and the two set sizes."""
    resemblance = minhash.resemblance(left[:, 4:], right[:, 4:])
    sizes = [np.ascontiguousarray(side[:, :4]).view("<u4").ravel().astype(np.float64) for side in (left, right)]
    shared = resemblance / (1.0 + resemblance) * (sizes[0] + sizes[1])
    inside = [np.clip(shared / np.maximum(size, 1.0), 0.0, 1.0) for size in sizes]
    if profile.length_filter:  # never of containment: a part is smaller than its whole
        resemblance = np.minimum(resemblance, length_filter.most_alike(*sizes))
    return Measures(distance=distance, resemblance=resemblance, left_in_right=inside[0], right_in_left=inside[1])


METHODS: dict[str, Callable[[Profile, bytes, int], Method]] = {
    "simhash": SimHash,
    "minhash": MinHash,
    "hybrid": Hybrid,
    "mod-n": Sampled,
    "min-n": Sampled,
    "bsw-n": Sampled,
    "sketch-n": Sketched,
    "simindex": SimilarityIndex,
}


def method_of(profile: Profile, secret: bytes = b"", *, max_features: int = NO_LIMIT) -> Method:
    """The profile's row of the table, its parameters checked."""
    if profile.method not in METHODS:
        raise ConfigError(f"profile.method: {profile.method!r} is unknown; choose one of {', '.join(sorted(METHODS))}")
    if profile.method in sampled_methods.NAMES:
        sampled_methods.check(profile)
    elif profile.method == "simindex":
        similarity_index.check(profile)
    elif profile.method != "simhash" and profile.bands * profile.rows > profile.bins:
        raise ConfigError(
            f"profile.bands x profile.rows: {profile.bands} x {profile.rows} rows need more than the "
            f"{profile.bins} bins there are; lower bands or rows, or raise profile.bins"
        )
    if profile.length_filter and profile.method not in ("minhash", "hybrid"):
        raise ConfigError(
            f"profile.length_filter: {profile.method} keeps no sizes of sets; leave it off, or choose the method "
            "minhash or hybrid"
        )
    method = METHODS[profile.method](profile, secret, max_features)
    if not _can_decide(method, profile):
        raise ConfigError(
            f"profile.resemblance: {profile.method} has nothing to decide by; give a threshold between 0 and 1 for "
            "profile.resemblance or profile.containment"
        )
    return method


def _can_decide(method: Method, profile: Profile) -> bool:
    """Whether the method tells a measure that the profile has a threshold for; the distance has always the radius."""
    anything = [bytes(method.room.body)]
    told = method.compare(anything, anything)
    return (
        told.distance is not None
        or (told.resemblance is not None and profile.resemblance is not None)
        or (told.left_in_right is not None and profile.containment is not None)
    )
