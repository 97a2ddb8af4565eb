"""The built-in profiles. How the parameters of `standard` were chosen is in docs/quality.md."""

from __future__ import annotations

from gate.core.method_parameters import BswN, MinHash, MinN, ModN, SimHash, SimilarityIndex, SketchN
from gate.core.profile import Profile

BUILT_IN: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        # SimHash for the guarantee and the fingerprint, MinHash bands for recall, the sketch for precision.
        Profile(name="standard"),
        # The lightest: 8 bytes of signature and four postings a document.
        Profile(name="simhash", method=SimHash(), resemblance=None),
        Profile(name="minhash", method=MinHash()),
        # Recognised text of scans: most runs of 8 characters outlast errors that leave few runs of words whole.
        # Unrelated texts are .2 alike at most, copies with 5 of 100 characters wrong about .5 (docs/quality.md).
        Profile(
            name="scans",
            tokenizer="characters",
            gram=8,
            method=MinHash(bands=24),
            resemblance=0.4,
            min_features=60,
        ),
        # Roth 2013: SimHash over the set of 4-character grams; "80 % similar" is 12 of 64 bits. As in the paper, with
        # many false matches (docs/quality.md): for comparison, not for use. All documents are kept, copies
        # too: whichever is selected, its variants are found.
        Profile(
            name="roth-2013",
            tokenizer="characters",
            gram=4,
            method=SimHash(radius=12, weights="set"),
            resemblance=None,
            index="all",
        ),
        # Roth 2011: his best, method 43B: Soundex codes without stop words, in 40s; the sum of the hashes that 25
        # divides; similar within 30 %. His other combinations by tokenizer, drop_*, gram, si_method and si_window. For
        # comparison, not for use: one of nine unrelated documents is similar by chance (docs/papers.md).
        Profile(
            name="roth-2011",
            tokenizer="soundex",
            gram=40,
            drop_stop_words=True,
            method=SimilarityIndex(),
            resemblance=0.7,
        ),
        # Bergillos et al. 2018: 9-character shingles, a hash function a value; 128 values in bands that find 95 % of
        # pairs from .7 on. Other families by `family`.
        Profile(
            name="bergillos-2018",
            tokenizer="characters",
            gram=9,
            method=MinHash(family="modular", bands=17, rows=5),
        ),
        # Azgomi et al. 2014: 5-character shingles, alike from .9 on, behind its length filter, a heuristic that loses
        # some (docs/papers.md). Signatures estimate the sets that it compares, in bands that find 99 % from .9 on.
        Profile(
            name="azgomi-2014",
            tokenizer="characters",
            gram=5,
            method=MinHash(bands=9, rows=8, length_filter="weighted"),
            resemblance=0.9,
        ),
        # Cherkasova et al. 2009: windows of 20 bytes, n = 100, and pairs from 70 % on.
        Profile(name="mod-n", tokenizer="characters", method=ModN(), resemblance=0.7),
        Profile(name="min-n", tokenizer="characters", method=MinN(), resemblance=0.7),
        Profile(name="sketch-n", tokenizer="characters", method=SketchN(), resemblance=0.7),
        Profile(name="bsw-n", tokenizer="characters", method=BswN(), resemblance=0.7),
        Profile(name="bsw-n-plain", tokenizer="characters", method=BswN(chunks="whole"), resemblance=0.7),
        # A part is found by its whole and the other way round (docs/containment.md).
        Profile(
            name="containment",
            tokenizer="characters",
            method=ModN(sample=25, max_keys=128),
            resemblance=0.7,
            containment=0.8,
            min_features=4,
        ),
    )
}
