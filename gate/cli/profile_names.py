"""The built-in profiles in one line each, for help and completion: light, while the profiles themselves need numpy."""

from __future__ import annotations

FOR_USE = {
    "standard": "words in threes; SimHash for a guarantee, MinHash for recall: the choice unless there is a reason",
    "simhash": "words in threes; SimHash alone: the smallest index, finds copies with few changes",
    "minhash": "words in threes; MinHash alone: the recall of standard, without the guarantee of SimHash",
    "scans": "characters in eights, MinHash: finds copies whose text was recognised from scans, with its errors",
    "containment": "samples of characters; finds a document that is a part of another one",
}

FROM_PAPERS = {
    "roth-2013": "Roth 2013: characters in fours, SimHash within 12 bits; many false matches",
    "roth-2011": "Roth 2011: Soundex codes in forties, the sum of selected hashes; many false matches",
    "bergillos-2018": "Bergillos et al. 2018: characters in nines, MinHash with one hash function per value",
    "azgomi-2014": "Azgomi et al. 2014: characters in fives, MinHash, resemblance .9, with its length filter",
    "mod-n": "Cherkasova et al. 2009: windows whose fingerprint n divides",
    "min-n": "Cherkasova et al. 2009: the n smallest fingerprints of windows",
    "sketch-n": "Cherkasova et al. 2009: the smallest fingerprint under each of n functions",
    "bsw-n": "Cherkasova et al. 2009: chunks between windows whose fingerprint n divides, smallest window of each",
    "bsw-n-plain": "Cherkasova et al. 2009: chunks as in bsw-n, hashed as a whole",
}
