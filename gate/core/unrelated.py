"""How far apart the fingerprints of unrelated texts are: closer than chance, because texts of one kind share features.

Two fingerprints of random bits differ in 32 of 64. Those of two texts in one language differ in fewer: both have its
frequent words and syllables, which vote alike on every bit. How many fewer depends on what the features are (single
words are shared by all, three words in a row by hardly any), on the weights, and on the kind and length of the texts.

The model is a beta-binomial distribution: each pair of texts has a chance of its own that a bit differs, and these
chances scatter. Its two parameters are measured: on a sample of one's own documents (`gate.lab.unrelated`), or else
`typical`, the middle of what English prose and manuals of 3 to 13 KB have.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, lgamma

from gate.core.method_parameters import Fingerprinted
from gate.core.profile import FINGERPRINT_BITS, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelatedDistance:
    """The distance of the fingerprints of two unrelated documents: its mean and its variance, in bits."""

    mean: float
    variance: float

    def chance_within(self, radius: int) -> float:
        """The chance that two unrelated documents are at most so many bits apart."""
        bits = FINGERPRINT_BITS
        p = min(max(self.mean / bits, 1e-9), 1.0 - 1e-9)
        # How much alike the bits of one pair are: 0 if each falls by itself.
        scatter = (self.variance / (bits * p * (1.0 - p)) - 1.0) / (bits - 1)
        if scatter < 1e-6:
            return sum(comb(bits, d) * p**d * (1.0 - p) ** (bits - d) for d in range(radius + 1))
        size = 1.0 / min(scatter, 1.0 - 1e-9) - 1.0
        a, b = p * size, (1.0 - p) * size
        return min(sum(comb(bits, d) * exp(_beta(d + a, bits - d + b) - _beta(a, b)) for d in range(radius + 1)), 1.0)


def _beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


RANDOM = UnrelatedDistance(mean=32.0, variance=16.0)
# By tokenizer, and whether repetition counts: size of the k-gram, mean and standard deviation of the distance. The
# middle of 1,189 chapters and 352 manuals; longer texts are closer, program code is farther apart.
_MEASURED: dict[tuple[str, bool], tuple[tuple[int, float, float], ...]] = {
    ("words", True): ((1, 16.5, 4.25), (2, 28.5, 4.3), (3, 31.7, 4.03)),
    ("characters", False): ((4, 25.0, 3.96), (5, 27.9, 4.03), (8, 30.7, 4.0)),
    ("characters", True): ((4, 18.7, 4.5), (8, 30.0, 4.1)),
}


def typical(profile: Profile) -> UnrelatedDistance:
    """The distance of texts of one kind under the k-grams of a profile, as measured for the nearest that is known."""
    if not isinstance(profile.method, Fingerprinted):
        return RANDOM
    counted = profile.method.weights != "set"
    known = _MEASURED.get((profile.tokenizer, counted)) or _MEASURED.get((profile.tokenizer, not counted))
    if known is None:
        return RANDOM
    # Of k-grams between two that were measured, the smaller ones: rather too many candidates than too few.
    _, mean, deviation = max((one for one in known if one[0] <= profile.gram), default=known[0])
    return UnrelatedDistance(mean=mean, variance=deviation * deviation)
