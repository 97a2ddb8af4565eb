"""The similarity index of Roth 2011: a document as one number, and documents alike whose numbers are within 30 %.

The k-grams of a document are hashed as Java hashes a String (`java_string_hash`), a filter keeps some of the hashes as
the sketch, and the sketch is added up, or hashed into one number of 64 bits. Roth's fourteen methods by his numbers:

     1  sum of all                                  2  Rabin hash of all
     3  sum of those that 25 divides                4  Rabin hash of those
     5  sum of those that winnowing chooses         6  Rabin hash of those
     7  sum of the 400 lowest                       8  Rabin hash of those, rising
     9  sum of the 400 highest                     10  Rabin hash of those, falling
    11  sum of a random third                      12  Rabin hash of that
    13  sum over the 200 most frequent words       14  super shingle of all

and two of our own, whose sketch of a changed document holds what that of the original holds before the change:

    15  sum of a fixed third                       16  Rabin hash of that

Hashes are signed, as they are in Java, so a sum may be negative, and that of twice the text need not be twice the sum.

- Winnowing takes the lowest hash of each window of w, the rightmost of equals, each place once; a document of fewer
  than w hashes is one window.
- A random third is drawn anew for each document, as in the paper: the hashes h(j) at the places j = 0, 1, 2 ... where 3
  divides fmix64(s + j). The seed s is the sum of fmix64(2^32 j + h(j)) mod 2^64, so a document always has the same
  number, and one that differs in a single hash another third.
- The fixed third are the hashes at the places where 3 divides fmix64(2011 * 2^32 + j), the same in every document.
- Of words that are equally frequent those that occur first are taken.
- The super shingle hashes each k hashes, side by side but not overlapping, as `Arrays.hashCode` does, and then those,
  until one is left. The paper makes "k-grams" of the hashes, which would overlap: each round would then shorten the
  document by k - 1 hashes only and take the square of its length in all.
- The Rabin hash is that of `gate.core.rabin_sequence`, read as a signed number. It can be undone, so that with a secret
  it is SipHash of that under the key of `gate.core.keyed_hash`, except of an empty sketch.

**Alike.** "Within 30 %" is not the same from both sides: 72 is within 30 % of 102, but 102 is not within 30 % of 72.
The likeness here is smaller / larger, 0 if the signs differ, and the threshold .7: alike are two of which one is within
30 % of the other.

**Where it is kept.** A number's bucket is its sign, the length of its binary form and the four digits behind the first
(16 buckets in each doubling). Buckets rise with numbers, so a look-up that reads those from n times the threshold to n
divided by it finds every number that is alike. A document whose sketch is empty, or adds up to 0, has no number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core import java_string_hash, rabin_sequence
from gate.core.bands import Probes
from gate.core.keyed_hash import hash_numbers, key_of
from gate.core.length_filter import distinct
from gate.core.method import NO_LIMIT, BodyLayout, Measures, Signatures, stack
from gate.core.method import whole as rows_of
from gate.core.method_parameters import FREQUENT, SUPER, SimilarityIndex
from gate.core.profile import Profile
from gate.core.shingles import Features
from gate.core.text import Texts
from gate.core.tokenizers import fmix64

Numbers = NDArray[np.int64]
Signed = NDArray[np.int32]

DIVISOR = 25
MAX_HASHES = 400  # lowest or highest hashes
MAX_WORDS = 200
TABLE = 9  # between the blocks of fingerprints and the bands
_STEPS = 4  # binary digits of a bucket behind the first
_SEED = np.uint64(2011 << 32)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ROUNDING = 5.1e-5  # a likeness is rounded to four places before it is held against the threshold


@dataclass(frozen=True, slots=True)
class Sketch:
    """The hashes that were kept of each document, in their order: those of document i from starts[i] on."""

    values: Signed
    starts: NDArray[np.int64]

    def only(self, places: NDArray[np.int64]) -> Sketch:
        """Some of the values, given by rising places."""
        return Sketch(self.values[places], np.searchsorted(places, self.starts))


def numbers(features: Features, method: int, *, gram: int, window: int, secret: bytes = b"") -> Numbers:
    """The similarity index of each document by the method of that number; 0: it has none."""
    whole = Sketch(features.hashes.astype(np.uint32).view(np.int32), features.starts)
    if method == SUPER:
        return _super_shingles(whole, gram)
    filtered = FILTERS[(method - 1) // 2](whole, window)
    if method % 2:
        return np.diff(np.concatenate([[0], np.cumsum(filtered.values, dtype=np.int64)])[filtered.starts])
    prints = rabin_sequence.fingerprints(filtered.values.view(np.uint32), filtered.starts, secret)
    if (key := key_of(secret)) is not None:
        filled = np.diff(filtered.starts) > 0
        prints[filled] = hash_numbers(prints[filled], key)
    return prints.view(np.int64)


def _all(whole: Sketch, window: int) -> Sketch:
    return whole


def _divided(whole: Sketch, window: int) -> Sketch:
    return whole.only(np.flatnonzero(whole.values % DIVISOR == 0))


def _winnowed(whole: Sketch, window: int) -> Sketch:
    # A hash above its place counted backwards: the least of such pairs is the lowest hash, and of equals the last.
    last = np.uint64(2**32 - 1)
    pairs = _unsigned(whole.values) << np.uint64(32) | last - np.arange(whole.values.size, dtype=np.uint64)
    begins, _ = java_string_hash.windows(whole.starts, window)
    sizes = np.diff(whole.starts)
    short = np.flatnonzero((sizes > 0) & (sizes < window))
    ends = np.stack([whole.starts[short], whole.starts[short + 1]], axis=1).reshape(-1)
    if ends.size and ends[-1] == pairs.size:
        ends = ends[:-1]
    of_short = np.minimum.reduceat(pairs, ends)[::2] if ends.size else pairs[:0]
    width = 1
    while 2 * width <= window:
        pairs = np.minimum(pairs[:-width], pairs[width:])
        width *= 2
    lowest = np.minimum(pairs[begins], pairs[begins + window - width]) if begins.size else pairs[:0]
    places = np.unique(last - (np.concatenate([lowest, of_short]) & last))
    return whole.only(places.astype(np.int64))


def _lowest(whole: Sketch, window: int) -> Sketch:
    return _extreme(whole, _unsigned(whole.values))


def _highest(whole: Sketch, window: int) -> Sketch:
    return _extreme(whole, np.uint64(2**32 - 1) - _unsigned(whole.values))


def _extreme(whole: Sketch, keys: NDArray[np.uint64]) -> Sketch:
    """The values with the lowest keys, in the order of the keys."""
    documents = np.repeat(np.arange(whole.starts.size - 1, dtype=np.uint64), np.diff(whole.starts))
    order = np.argsort(documents << np.uint64(32) | keys, kind="stable")
    return Sketch(whole.values[order], whole.starts).only(np.flatnonzero(_places(whole.starts) < MAX_HASHES))


def _third(whole: Sketch, window: int) -> Sketch:
    places = _places(whole.starts).astype(np.uint64)
    mixed = fmix64(places << np.uint64(32) | whole.values.view(np.uint32))
    sums = np.zeros(mixed.size + 1, np.uint64)
    np.cumsum(mixed, out=sums[1:])
    seeds = np.diff(sums[whole.starts])
    return _drawn(whole, places + np.repeat(seeds, np.diff(whole.starts)))


def _fixed_third(whole: Sketch, window: int) -> Sketch:
    return _drawn(whole, _places(whole.starts).astype(np.uint64) | _SEED)


def _drawn(whole: Sketch, seeds: NDArray[np.uint64]) -> Sketch:
    return whole.only(np.flatnonzero(fmix64(seeds) % np.uint64(3) == 0))


def _frequent(whole: Sketch, window: int) -> Sketch:
    first, counts = distinct(Features(_unsigned(whole.values) * _SPREAD, whole.starts))
    starts = np.searchsorted(first, whole.starts)
    documents = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    order = np.lexsort((first, -counts, documents))
    return Sketch(whole.values[first[order]], starts).only(np.flatnonzero(_places(starts) < MAX_WORDS))


FILTERS: tuple[Callable[[Sketch, int], Sketch], ...] = (
    _all, _divided, _winnowed, _lowest, _highest, _third, _frequent, _fixed_third
)  # fmt: skip


def _super_shingles(whole: Sketch, gram: int) -> Numbers:
    hashes, starts = whole.values.view(np.uint32), whole.starts
    while (np.diff(starts) > 1).any():
        counts = -(-np.diff(starts) // gram)
        bounds = np.zeros_like(starts)
        np.cumsum(counts, out=bounds[1:])
        begins = np.repeat(starts[:-1], counts) + gram * _places(bounds)
        ends = np.minimum(begins + gram, np.repeat(starts[1:], counts))
        # A single number is the result: it is not hashed again.
        alone = np.repeat(np.diff(starts) == 1, counts)
        hashed = (
            java_string_hash.hash_codes(hashes, begins, ends) + java_string_hash.powers(31, gram + 1)[ends - begins]
        )
        hashes, starts = np.where(alone, hashes[begins], hashed), bounds
    result = np.zeros(starts.size - 1, np.int64)
    result[np.diff(starts) == 1] = hashes.view(np.int32)
    return result


def _unsigned(values: Signed) -> NDArray[np.uint64]:
    """Numbers in the same order that are not negative."""
    return (values.view(np.uint32) ^ np.uint32(1 << 31)).astype(np.uint64)


def _places(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2 ... in each document."""
    return np.arange(int(starts[-1])) - np.repeat(starts[:-1], np.diff(starts))


def likeness(left: Numbers, right: Numbers) -> NDArray[np.float64]:
    """Smaller / larger of each pair, the same from both sides; 0 if the signs differ."""
    sizes = np.abs(np.stack([left, right]).astype(np.float64))
    alike: NDArray[np.float64] = sizes.min(axis=0) / np.maximum(sizes.max(axis=0), 1.0)
    return np.where(np.sign(left) == np.sign(right), alike, 0.0)


def buckets(sizes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bucket of numbers above 0, without the sign. It never falls where the number rises."""
    lengths = np.zeros(sizes.size, np.uint64)  # of the binary form, less the first digit
    left = sizes.copy()
    for step in (32, 16, 8, 4, 2, 1):
        more = left >> np.uint64(step) > 0
        left[more] >>= np.uint64(step)
        lengths[more] += np.uint64(step)
    steps = np.uint64(_STEPS)
    # The digits behind the first, brought to the length of the longest and cut to the uppermost.
    digits = (sizes << (np.uint64(63) - lengths)) >> (np.uint64(63) - steps) & ((np.uint64(1) << steps) - np.uint64(1))
    return lengths << steps | digits


@dataclass(frozen=True, slots=True)
class SimilarityIndexMethod:
    """One number: 8 bytes a document, found by range."""

    profile: Profile
    parameters: SimilarityIndex
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def layout(self) -> BodyLayout:
        return BodyLayout(8, {TABLE: 0})

    def sign(self, texts: Texts) -> Signatures:
        profile, parameters = self.profile, self.parameters
        words = parameters.si_method == FREQUENT
        features = java_string_hash.features(texts, profile, self.secret, gram=1 if words else None)
        values = numbers(
            features.first(self.max_features),
            parameters.si_method,
            gram=profile.gram,
            window=parameters.si_window,
            secret=self.secret,
        )
        counts = features.counts
        signed = (values != 0) & (counts >= profile.min_features)
        flat = values.astype("<i8").tobytes()
        bodies = [flat[8 * i : 8 * i + 8] if has else b"" for i, has in enumerate(signed.tolist())]
        return Signatures(bodies, counts.tolist(), (counts > self.max_features).tolist())

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        signed = _numbers(table)
        return _ranges(rows, signed, _size(signed), _size(signed))

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        signed = _numbers(table)
        sizes = _size(signed)
        least = max((self.profile.resemblance or 1.0) - _ROUNDING, 2.0**-63)
        low = np.floor(sizes * least).clip(1.0, 2.0**63)
        high = np.ceil(sizes / least).clip(1.0, 2.0**63)
        return _ranges(rows, signed, low.astype(np.uint64), high.astype(np.uint64))

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        return Measures(resemblance=likeness(_numbers(rows_of(lefts)), _numbers(rows_of(rights))))

    def fingerprint(self, body: bytes) -> int | None:
        return int.from_bytes(body, "little") if body else None


def _numbers(table: NDArray[np.uint8]) -> Numbers:
    return np.ascontiguousarray(table[:, :8]).view("<i8").ravel().astype(np.int64, copy=False)


def _size(signed: Numbers) -> NDArray[np.uint64]:
    """Without the sign. The lowest number has no positive twin of 64 bits; as an unsigned one it is right."""
    return np.where(signed < 0, -signed, signed).view(np.uint64)


def _ranges(rows: NDArray[np.int64], signed: Numbers, low: NDArray[np.uint64], high: NDArray[np.uint64]) -> Probes:
    """Every bucket from that of the low to that of the high number, of the sign of each document's own."""
    first, last = buckets(low).astype(np.int64), buckets(high).astype(np.int64)
    counts = last - first + 1
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    negative = np.repeat(signed < 0, counts).astype(np.uint64) << np.uint64(6 + _STEPS)
    keys = (np.repeat(first, counts) + within).astype(np.uint64) | negative | np.uint64(TABLE << 32)
    nothing = np.zeros(keys.size, np.uint64)
    return Probes(np.repeat(rows, counts), keys, nothing, nothing.astype(np.uint8))
