"""What a profile finds, scored against the truth, over all pairs of a set.

Pairs are counted among the first documents of each group of equal ones, as in the label files; otherwise a page that
occurs twenty times in a set would outweigh everything else. Equal documents are counted separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time

import numpy as np
from numpy.typing import NDArray

from gate.core import plan
from gate.core.judge import alike
from gate.core.method_registry import Measures, Method, method_of
from gate.core.profile import Profile
from gate.core.shingles import Features, features
from gate.core.text import Texts, normalise
from gate.lab.experiment import Proportion
from gate.lab.truth import GRAM, LEAST, Corpus, DocumentPairs, Floats, Ints, words
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import batches

Flags = NDArray[np.bool_]

# Upper bounds are exclusive. EQUAL is J = 1: one set of shingles, though the texts may differ.
EQUAL = "= 1"
BANDS = {
    ">= .9": (0.9, 1.0),
    ".8 - .9": (0.8, 0.9),
    ".7 - .8": (0.7, 0.8),
    ".6 - .7": (0.6, 0.7),
    ".5 - .6": (0.5, 0.6),
}
SLACK = 0.1  # so far below its threshold a profile may err before the stricter precision counts it
_AT_ONCE = 1 << 16  # pairs compared at a time: bodies are copied for it
_ROWS = 512  # documents that look up their neighbours at a time: a radius of 12 bits is 1,108 keys each


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """One profile on one set, over all pairs."""

    documents: int
    candidate_recall: dict[str, Proportion]  # by band: pairs that are candidates in the index
    match_recall: dict[str, Proportion]  # by band: pairs that are called alike
    candidates: int
    false_candidates: int  # candidates with J < .5
    precise: Proportion  # pairs called alike with J >= .5
    strict: Proportion  # pairs called alike with J >= the threshold less SLACK
    # By band: the recall of candidates that the plan expects of these very pairs.
    planned: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPairs:
    """All pairs of candidates, the earlier document on the left, and which were called alike; times are seconds of the
    processor."""

    left: Ints
    right: Ints
    is_match: Flags
    bodies: Sequence[bytes]  # none of a method that is not the gate's own
    signing: float
    finding: float


def normalise_in_batches(texts: Sequence[str]) -> Iterator[Texts]:
    """The texts, normalised by batches as the gate does."""
    for batch in batches((CheckIn(document_id="?", text=text) for text in texts), Limits()):
        yield normalise([document.text for document in batch])


def extract_features(texts: Sequence[str], profile: Profile) -> Features:
    """The features of all texts as one batch."""
    parts = [features(batch, profile) for batch in normalise_in_batches(texts)]
    starts = [np.zeros(1, np.int64)]
    for part in parts:
        starts.append(starts[-1][-1] + part.starts[1:])
    hashes = [part.hashes for part in parts]
    return Features(np.concatenate([*hashes, np.empty(0, np.uint64)]), np.concatenate(starts))


def sign(method: Method, texts: Sequence[str]) -> list[bytes]:
    """The body of each text."""
    return [body for batch in normalise_in_batches(texts) for body in method.sign(batch).bodies]


def find_candidates(method: Method, bodies: Sequence[bytes]) -> tuple[Ints, Ints]:
    """All pairs of candidates that the index would give, the earlier document on the left."""
    postings = method.postings(bodies)
    order = np.argsort(postings.keys, kind="stable")
    keys, owners, tags = postings.keys[order], postings.rows[order], postings.tags[order]
    codes = [np.empty(0, np.int64)]
    for begin in range(0, len(bodies), _ROWS):
        probes = method.probes(bodies[begin : begin + _ROWS])
        first = np.searchsorted(keys, probes.keys)
        counts = np.searchsorted(keys, probes.keys, side="right") - first
        probe = np.repeat(np.arange(len(probes)), counts)
        places = np.arange(len(probe)) + np.repeat(first - np.cumsum(counts) + counts, counts)
        left, right = owners[places], probes.rows[probe] + begin
        close = probes.answered_by(probe, tags[places]) & (left < right)
        codes.append(np.unique(right[close] * len(bodies) + left[close]))
    right, left = np.divmod(np.concatenate(codes), max(len(bodies), 1))
    return left, right


def compare_pairs(method: Method, bodies: Sequence[bytes], left: Ints, right: Ints) -> Iterator[Measures]:
    """The measures of all pairs, some at a time."""
    for begin in range(0, len(left), _AT_ONCE):
        sides = [[bodies[i] for i in side[begin : begin + _AT_ONCE].tolist()] for side in (left, right)]
        yield method.compare(sides[0], sides[1])


def among_first_documents(documents: Corpus, left: Ints, right: Ints) -> Flags:
    """Which pairs are of first documents only."""
    first: Flags = documents.first_equal == np.arange(len(documents))
    return first[left] & first[right]


def candidates(documents: Corpus, method: Method, bodies: Sequence[bytes]) -> DocumentPairs:
    left, right = find_candidates(method, bodies)
    among = among_first_documents(documents, left, right)
    left, right = left[among], right[among]
    return DocumentPairs(left, right, documents.jaccard(left, right))


def recall_by_band(documents: Corpus, pairs: DocumentPairs) -> dict[str, Proportion]:
    """How many of the true pairs of each band are among those found."""
    totals = count_by_band(documents.pairs.jaccard)
    return {band: Proportion(count, totals[band]) for band, count in count_by_band(pairs.jaccard).items()}


def count_by_band(jaccards: Floats) -> dict[str, int]:
    return {band: int(((jaccards >= low) & (jaccards < high)).sum()) for band, (low, high) in BANDS.items()}


def judge_all(documents: Corpus, profile: Profile) -> JudgedPairs:
    """Find the candidates of all documents of a set and compare them, as the gate would."""
    begun = process_time()
    method = method_of(profile)
    bodies = sign(method, documents.texts)
    signed = process_time()
    left, right = find_candidates(method, bodies)
    verdicts = [alike(measures, profile) for measures in compare_pairs(method, bodies, left, right)]
    return JudgedPairs(
        left=left,
        right=right,
        is_match=np.concatenate([*verdicts, np.empty(0, np.bool_)]),
        bodies=bodies,
        signing=signed - begun,
        finding=process_time() - signed,
    )


def score_pairs(documents: Corpus, judged: JudgedPairs, *, least: float = LEAST) -> PairScores:
    """What was found, against the truth."""
    left, right = judged.left, judged.right
    among = among_first_documents(documents, left, right)
    true_jaccard = documents.known if least >= LEAST else documents.jaccard
    candidates = DocumentPairs(left[among], right[among], true_jaccard(left[among], right[among]))
    matches = candidates.only(judged.is_match[among])
    copies = np.flatnonzero(documents.first_equal != np.arange(len(documents)))
    equal = documents.first_equal[copies] + copies * len(documents)
    joined = left + right * len(documents)
    return PairScores(
        documents=int((documents.first_equal == np.arange(len(documents))).sum()),
        candidate_recall=recall_by_band(documents, candidates)
        | {EQUAL: Proportion(int(np.isin(equal, joined).sum()), len(copies))},
        match_recall=recall_by_band(documents, matches)
        | {EQUAL: Proportion(int(np.isin(equal, joined[judged.is_match]).sum()), len(copies))},
        candidates=len(candidates),
        false_candidates=int((candidates.jaccard < LEAST).sum()),
        precise=Proportion(int((matches.jaccard >= LEAST).sum()), len(matches)),
        strict=Proportion(int((matches.jaccard >= least).sum()), len(matches)),
    )


def score_profile(documents: Corpus, profile: Profile) -> PairScores:
    """Score a profile over all pairs of a set."""
    least = LEAST if profile.resemblance is None else profile.resemblance - SLACK
    score = score_pairs(documents, judge_all(documents, profile), least=least)
    return replace(score, planned=planned_recall(documents, profile))


def planned_recall(documents: Corpus, profile: Profile) -> dict[str, float | None]:
    """The mean over the true pairs of what the plan says of their J; the plan knows only the profile's own features,
    so there is no comparison where those are not 3-word shingles."""
    jaccards = documents.pairs.jaccard
    plain = not (profile.drop_stop_words or profile.drop_repeats or profile.mask_numbers)
    if profile.tokenizer != "words" or profile.gram != GRAM or not plain:
        return dict.fromkeys(BANDS)
    expected = np.array([plan.recall(profile, jaccard) for jaccard in jaccards.tolist()])
    within = {band: expected[(jaccards >= low) & (jaccards < high)] for band, (low, high) in BANDS.items()}
    return {band: float(values.mean()) if len(values) else None for band, values in within.items()}


def cut_paragraphs(documents: Corpus, lengths: Sequence[tuple[int, int]], *, most: int = 10_000) -> list[Corpus]:
    """Short texts: the distinct paragraphs of a set, in its order, by number of words; at most so many of a length.

    Revisions of a document share most of their paragraphs and have edited the others, so these are as real as the
    documents themselves.
    """
    seen: dict[str, tuple[int, str]] = {}
    for text in documents.texts:
        for lines in text.split("\n\n"):
            found = words(lines)
            if lengths[0][0] <= len(found) <= lengths[-1][1]:
                seen.setdefault(" ".join(found), (len(found), lines))
    sets = []
    for low, high in lengths:
        texts = [lines for count, lines in seen.values() if low <= count <= high][:most]
        sets.append(Corpus(f"{documents.name}, {low}-{high} words", [str(i) for i in range(len(texts))], texts))
    return sets
