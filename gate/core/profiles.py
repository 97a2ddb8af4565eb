"""The built-in profiles. How the parameters of `standard` were chosen is in docs/quality.md."""

from __future__ import annotations

from gate.core.profile import Profile

BUILT_IN: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        # SimHash for the guarantee and the fingerprint, MinHash bands for recall, the sketch for precision.
        Profile(name="standard"),
        # The lightest: 8 bytes of signature and four postings a document.
        Profile(name="simhash", method="simhash", resemblance=None),
        Profile(name="minhash", method="minhash"),
        # Roth 2013: SimHash over the set of 4-character grams; "80 % similar" is 12 of 64 bits. As in the paper, with
        # many false matches (docs/quality.md): for comparison, not for use.
        Profile(
            name="roth-2013",
            stream="characters",
            gram=4,
            weights="set",
            method="simhash",
            radius=12,
            resemblance=None,
        ),
    )
}
