"""Why a verdict is what it is, in sentences for people."""

from __future__ import annotations

from gate.core.judge import bit_agreement
from gate.core.method_parameters import Fingerprinted, LengthFilter, MinHash, SimilarityIndex
from gate.core.profile import Profile, decides_by_bits
from gate.errors import UnreadableReason
from gate.model import Degraded, Match, Relation, Verdict
from gate.numbers import counted, number

MEANINGS: dict[Relation, str] = {
    Relation.NEW: "nothing like it was known",
    Relation.EXACT: "the same text was known, but for case and white space",
    Relation.NEAR: "a document much like it was known",
    Relation.CONTAINED: "nearly all of it was known as part of a longer document",
    Relation.CONTAINS: "it holds nearly all of a document that was known",
    Relation.REVISION: "another version of the same document was known; that does not count against it",
    Relation.TOO_SHORT: "it has too few words for anything but an exact comparison, and no equal was known",
    Relation.EMPTY: "it has no text, so there is nothing to compare",
    Relation.UNREADABLE: "no text could be read from it, and no file with the same bytes was known",
    Relation.UNDECIDED: "a limit ended the search before anything alike was found (limits.on_capped)",
}
_SAME_BYTES = "a file with the same bytes was known"

# Why a file has no text, in an explanation.
UNREADABLE: dict[UnreadableReason, str] = {
    "no_text": "it holds none, as a scanned page",
    "binary": "it is of a kind that is not read",
    "encrypted": "it has a password",
    "damaged": "it is damaged",
    "bomb": "it unpacks beyond all bounds",
    "too_costly": "reading it takes more time or memory than is allowed",
    "too_large": "it is larger than is read",
    "bad_encoding": "its encoding is not known",
    "bad_compression": "its compressed data is damaged",
    "not_installed": "what reads such files was not installed",
}

# The lengths that a length filter goes by.
LENGTHS: dict[LengthFilter, str] = {
    "set": "the number of distinct features",
    "repetition": "the number of features, repeated ones counted",
    "weighted": "the sum of the places of features times their repetitions",
}

LIMITS_HIT: dict[Degraded, str] = {
    Degraded.BUCKET_CAPPED: "a crowded bucket was not read to its end (limits.max_bucket, limits.max_postings)",
    Degraded.CANDIDATES_CAPPED: "not every candidate was compared (limits.max_candidates)",
    Degraded.MATCHES_CAPPED: "there are more matches than are named (limits.max_matches)",
    Degraded.FEATURES_CAPPED: "the document was signed by its first part only (limits.max_features)",
    Degraded.DETAILS_CUT: "its title, source, URI or metadata was cut or left out (limits.max_title_chars and others)",
    Degraded.UNCHECKED: "the index was unavailable, and the document passed unchecked (on_index_unavailable)",
}


def versioned(document_id: str, version: str | None) -> str:
    return document_id if version is None else f"{document_id} (version {version})"


def reasons(verdict: Verdict, profile: Profile) -> list[str]:
    """Why this verdict, in sentences."""
    best = verdict.matches[0] if verdict.matches else None
    what = "a revision" if verdict.relation is Relation.REVISION else verdict.relation.value.replace("_", " ")
    meaning = MEANINGS[verdict.relation]
    if verdict.unreadable_reason is not None and verdict.relation is Relation.EXACT:
        meaning = _SAME_BYTES
    sentences = [f"It is {what}: {meaning}."]
    if verdict.unreadable_reason is not None:
        sentences.append(f"It was compared by its bytes, as it gave no text: {UNREADABLE[verdict.unreadable_reason]}.")
    if best is not None:
        sentences.append(_measured(best, profile))
    if verdict.similar and verdict.group not in (verdict.document_id, best.document_id if best else None):
        sentences.append(f"The first document of its family is {verdict.group}.")
    sentences += _compared(verdict)
    if verdict.ruled_out:
        sentences.append(_ruled_out(verdict, profile))
    sentences.append(f"It was judged under profile {verdict.profile}{_threshold(verdict, profile)}.")
    sentences += [f"It may know less than it should: {LIMITS_HIT[limit]}." for limit in verdict.degraded]
    return sentences


def _compared(verdict: Verdict) -> list[str]:
    """How many others were looked at. Empty and short texts are only ever looked up by their whole content."""
    if verdict.relation is Relation.EXACT:
        return ["Its content itself was known, so nothing else had to be compared."]
    if verdict.relation in (Relation.EMPTY, Relation.TOO_SHORT, Relation.UNREADABLE):
        return []
    if not verdict.candidates:
        return ["No document in the index was near enough to be compared with it."]
    compared = f"{counted(verdict.candidates, 'candidate')} from the index"
    outcome = "none was alike enough"
    if alike := len(verdict.matches):
        more = " or more" if Degraded.MATCHES_CAPPED in verdict.degraded else ""
        outcome = f"{number(alike)}{more} {'was' if alike == 1 and not more else 'were'} alike"
    return [f"It was compared with {compared}; {outcome}."]


def resemblance_of(profile: Profile) -> str:
    """What the resemblance under a profile is the share of."""
    if isinstance(profile.method, SimilarityIndex):
        return "the smaller of the two similarity indexes, of the larger"
    return "features that both have, of all that either has"


def _ruled_out(verdict: Verdict, profile: Profile) -> str:
    """How many comparisons the length filter saved, and by which length if the profile is that of the verdict."""
    by = "their lengths"
    if profile.ref == verdict.profile and isinstance(profile.method, MinHash):
        by = LENGTHS.get(profile.method.length_filter, by)
    return (
        f"{counted(verdict.ruled_out, 'document')} more had a bucket in common with it, and {by} ruled "
        f"{'it' if verdict.ruled_out == 1 else 'them'} out: neither fetched nor compared."
    )


def _measured(best: Match, profile: Profile) -> str:
    parts = []
    if best.resemblance is not None and isinstance(profile.method, SimilarityIndex):
        parts.append(
            f"has a similarity index near its own (the smaller is {number(best.resemblance, '%')} of the larger)"
        )
    elif best.resemblance is not None:
        parts.append(f"resembles it to {number(best.resemblance, '%')}")
    if best.containment is not None:
        parts.append(f"has {number(best.containment, '%')} of its features in it")
    if best.distance is not None:
        agreement = bit_agreement(best.distance) or 0.0
        equal = f" ({number(agreement, '%')} are equal)" if decides_by_bits(profile) else ""
        parts.append(f"differs from its fingerprint in {best.distance} of 64 bits{equal}")
    what = versioned(best.document_id, best.version)
    if not parts:
        return f"The best match is {what}."
    *others, last = parts
    return f"The best match is {what}: this document {', '.join(others)}{' and ' if others else ''}{last}."


def _threshold(verdict: Verdict, profile: Profile) -> str:
    """The thresholds of the profile, if it is the profile of the verdict."""
    if profile.ref != verdict.profile:
        return ""
    if verdict.relation is Relation.TOO_SHORT:
        return f", which asks for at least {profile.min_features} features"
    thresholds = []
    if profile.resemblance is not None and "resemblance" not in profile.method.unused:
        what = "a quotient of similarity indexes" if isinstance(profile.method, SimilarityIndex) else "a resemblance"
        thresholds.append(f"{what} of at least {number(profile.resemblance, '%')}")
    if profile.containment is not None and "containment" not in profile.method.unused:
        thresholds.append(f"a containment of at least {number(profile.containment, '%')}")
    if not thresholds and isinstance(profile.method, Fingerprinted):
        agreement = bit_agreement(profile.method.radius) or 0.0
        thresholds.append(f"fingerprints within {profile.method.radius} bits ({number(agreement, '%')} equal)")
    return f", which asks for {' or '.join(thresholds)}"
