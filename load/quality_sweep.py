"""The tables by which the built-in profiles were chosen: one choice a table, all else as in `standard`.

Every row is measured on every set and tells the worst of them: a recall is that of the set where it is lowest, among
those with enough pairs in the band to tell; false pairs (J < .5) are added up. Paragraphs of the sets stand beside
the sets themselves, because what is right for long documents may be wrong for short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gate.core import shingles, simhash
from gate.core.builtin_profiles import BUILT_IN
from gate.core.judge import DECIMALS
from gate.core.method_parameters import MinHash, SimHash, Weights
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.shingles import Features
from gate.lab import scores
from gate.lab.experiment import Proportion
from gate.lab.scores import BANDS, cut_paragraphs, normalise_in_batches
from gate.lab.truth import LEAST, Corpus, DocumentPairs, Floats
from load.quality_tables import PRECISION, Row, ScoreTable

StepTimer = Callable[[str], AbstractContextManager[None]]

ENOUGH = 20  # pairs in a band: with fewer, one pair more or less says nothing
SHOWN = (">= .9", ".8 - .9", ".7 - .8")
WEIGHTS: tuple[Weights, ...] = ("count", "log", "set")
RADII = (3, 6)
WIDE_RADII = (8, 12)
BINS = (64, 96, 128, 192, 256)
THRESHOLDS = (0.55, 0.6, 0.65, 0.7, 0.75)
BANDINGS = ((8, 4), (12, 4), (16, 4), (20, 4), (32, 4), (16, 3), (21, 3), (12, 5), (16, 5), (25, 5))
CUTS = ((10, 20), (21, 50), (51, 100))  # from where `standard` compares at all
LENGTHS = ((3, 3), (4, 4), (5, 6), (7, 9), (10, 12), (13, 16), (17, 24), (25, 50), (51, 100))

STANDARD = BUILT_IN["standard"]
FINGERPRINT = replace(STANDARD, name="fingerprint", method=SimHash(), resemblance=None)
SKETCH = replace(STANDARD, name="sketch", method=MinHash())
WORD_STREAMS = (
    *(replace(FINGERPRINT, gram=gram) for gram in (1, 2, 3, 4)),
    *(replace(FINGERPRINT, gram=gram, drop_stop_words=True) for gram in (1, 2, 3)),
    replace(FINGERPRINT, tokenizer="soundex", gram=3),
    replace(FINGERPRINT, tokenizer="soundex", gram=1, drop_stop_words=True),
    *(replace(FINGERPRINT, tokenizer="characters", gram=gram) for gram in (5, 9)),
)
CHARACTER_TOKENIZERS = tuple(replace(FINGERPRINT, tokenizer="characters", gram=gram) for gram in (4, 5, 7, 9))
SKETCH_STREAMS = (
    *(replace(SKETCH, gram=gram) for gram in (1, 2, 3, 4, 5)),
    replace(SKETCH, drop_stop_words=True),
    replace(SKETCH, tokenizer="soundex"),
    *(replace(SKETCH, tokenizer="characters", gram=gram) for gram in (5, 9, 15)),
)


def sweep(sets: Sequence[Corpus], timer: StepTimer) -> list[ScoreTable]:
    """All tables."""
    with timer("short texts: truth"):
        short = [part for documents in sets for part in cut_paragraphs(documents, CUTS) if len(part.pairs) >= ENOUGH]
    everything = [*sets, *short]
    return [
        fingerprint_table(sets, short, timer, WORD_STREAMS, RADII),
        fingerprint_table(sets, [], timer, CHARACTER_TOKENIZERS, WIDE_RADII),
        stream_table(everything, timer),
        sketch_table(everything, timer),
        band_table(everything, timer),
        *length_tables(sets, timer, ("standard", "simhash")),
    ]


@dataclass(frozen=True, slots=True)
class WorstCase:
    """What one choice finds on all sets: recall and precision of the worst, and all that is false."""

    recall: dict[str, Proportion]
    precision: Proportion
    called: int
    false: int

    def row(self) -> Row:
        row: Row = dict(self.recall)
        return row | {"false": self.false, "called": self.called, "precision": self.precision}


def worst(sets: Sequence[Corpus], pairs_of_sets: Iterable[DocumentPairs]) -> WorstCase:
    recalls: dict[str, list[Proportion]] = {band: [] for band in SHOWN}
    precisions: list[Proportion] = []
    for documents, pairs in zip(sets, pairs_of_sets, strict=True):
        for band, share in scores.recall_by_band(documents, pairs).items():
            if band in recalls and share.total >= ENOUGH:
                recalls[band].append(share)
        precisions.append(Proportion(int((pairs.jaccard >= LEAST).sum()), len(pairs.jaccard)))
    called, true = added(precisions).total, added(precisions).count
    return WorstCase(
        {band: lowest(shares) for band, shares in recalls.items()},
        lowest([share for share in precisions if share.total >= ENOUGH]),
        called,
        called - true,
    )


def lowest(shares: Sequence[Proportion]) -> Proportion:
    return min(shares, key=lambda share: share.count / share.total, default=Proportion(0, 0))


def added(shares: Iterable[Proportion]) -> Proportion:
    listed = list(shares)
    return Proportion(sum(share.count for share in listed), sum(share.total for share in listed))


def stream_of(profile: Profile) -> Row:
    left_out = "stop words" if profile.drop_stop_words else "-"
    return {"tokenizer": profile.tokenizer, "k": profile.gram, "left out": left_out}


def fingerprint_table(
    sets: Sequence[Corpus],
    short: Sequence[Corpus],
    timer: StepTimer,
    tokenizers: Sequence[Profile],
    radii: Sequence[int],
) -> ScoreTable:
    """Recall is that of whole documents: of short texts a fingerprint finds next to nothing. Errors are of both."""
    everything = [*sets, *short]
    rows: list[Row] = []
    for profile in tokenizers:
        with timer(f"SimHash, {', '.join(map(str, stream_of(profile).values()))}"):
            features = [
                [shingles.features(t, profile) for t in normalise_in_batches(documents.texts)]
                for documents in everything
            ]
            for weights in WEIGHTS:
                found = [within(d, parts, weights, max(radii)) for d, parts in zip(everything, features, strict=True)]
                row = stream_of(profile) | {"weights": weights}
                for radius in radii:
                    near = [pairs.only(distances <= radius) for pairs, distances in found]
                    recall, errors = worst(sets, near[: len(sets)]).recall, worst(everything, near)
                    row |= {f"{radius} bits: {band}": recall[band] for band in SHOWN[:2]}
                    row[f"{radius} bits: false of called"] = f"{errors.false:,} of {errors.called:,}"
                    row[f"{radius} bits: precision"] = errors.precision
                rows.append(row)
    beside = "; errors on short texts too" if short else ""
    return ScoreTable(f"SimHash alone, within {' or '.join(map(str, radii))} bits{beside}", rows)


def within(
    documents: Corpus, features: Sequence[Features], weights: Weights, radius: int
) -> tuple[DocumentPairs, NDArray[np.uint8]]:
    """All pairs of first documents whose fingerprints are within the radius, and their distances."""
    prints = np.concatenate([simhash.fingerprints(part, weights) for part in features])
    counts = np.concatenate([np.diff(part.starts) for part in features])
    least = FINGERPRINT.min_features
    bodies = [
        fingerprint.to_bytes(8, "little") if count >= least else b""
        for fingerprint, count in zip(prints.tolist(), counts.tolist())
    ]
    candidates = scores.candidates(documents, method_of(replace(FINGERPRINT, method=SimHash(radius=radius))), bodies)
    return candidates, simhash.distance(prints[candidates.left], prints[candidates.right])


def estimated(documents: Corpus, profile: Profile) -> tuple[DocumentPairs, Floats]:
    """All candidates of a profile with its estimates of their resemblance."""
    method = method_of(profile)
    bodies = scores.sign(method, documents.texts)
    candidates = scores.candidates(documents, method, bodies)
    parts = [
        measures.resemblance for measures in scores.compare_pairs(method, bodies, candidates.left, candidates.right)
    ]
    estimates = np.concatenate([np.empty(0), *(part for part in parts if part is not None)])
    return candidates, np.round(estimates, DECIMALS)


def worst_at(
    sets: Sequence[Corpus], estimated_pairs: Sequence[tuple[DocumentPairs, Floats]], threshold: float
) -> WorstCase:
    """What a threshold of the estimates would call alike."""
    return worst(sets, [pairs.only(estimates >= threshold) for pairs, estimates in estimated_pairs])


def stream_table(sets: Sequence[Corpus], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    for profile in SKETCH_STREAMS:
        with timer(f"MinHash, {', '.join(map(str, stream_of(profile).values()))}"):
            pairs = [estimated(documents, profile) for documents in sets]
            row = stream_of(profile) | {"threshold": "none up to .95"}
            for threshold in np.arange(0.4, 0.96, 0.05).round(2).tolist():
                result = worst_at(sets, pairs, threshold)
                if (result.precision.share or 0.0) >= PRECISION:
                    row |= {"threshold": f"{threshold:.2f}"} | result.row()
                    break
            rows.append(row)
    return ScoreTable("MinHash of other tokenizers, at the lowest threshold with a precision of 99.9 on each set", rows)


def sketch_table(sets: Sequence[Corpus], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    for bins in BINS:
        with timer(f"MinHash, {bins} bins"):
            found = [estimated(documents, replace(SKETCH, method=MinHash(bins=bins))) for documents in sets]
            errors = np.concatenate([(estimates - pairs.jaccard)[pairs.jaccard >= LEAST] for pairs, estimates in found])
            for threshold in THRESHOLDS:
                row: Row = {"bins": bins, "deviation of the estimate": float(errors.std())}
                rows.append(row | {"threshold": f"{threshold:.2f}"} | worst_at(sets, found, threshold).row())
    return ScoreTable("MinHash, 16 bands of 4: bins and thresholds", rows)


def band_table(sets: Sequence[Corpus], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    with timer("MinHash: bands and rows"):
        method = method_of(SKETCH)
        bodies = [scores.sign(method, documents.texts) for documents in sets]  # the same for all bands
        for bands, band_rows in BANDINGS:
            method = method_of(replace(SKETCH, method=MinHash(bands=bands, rows=band_rows)))
            found = [scores.candidates(documents, method, one) for documents, one in zip(sets, bodies, strict=True)]
            unrelated = sum(int((pairs.jaccard < LEAST).sum()) for pairs in found)
            row: Row = {"bands": bands, "rows": band_rows} | dict(worst(sets, found).recall)
            rows.append(row | {"candidates J < .5 a document": unrelated / max(sum(map(len, sets)), 1)})
    return ScoreTable("MinHash, 128 bins: recall of the candidates by bands and rows", rows)


def length_tables(sets: Sequence[Corpus], timer: StepTimer, names: Sequence[str]) -> list[ScoreTable]:
    """Short texts, with no minimum of features: where it has to be is seen by what goes wrong."""
    cuts = [cut_paragraphs(documents, LENGTHS) for documents in sets]
    tables = []
    for name in names:
        rows: list[Row] = []
        with timer(f"{name}: short texts"):
            for n, (low, high) in enumerate(LENGTHS):
                texts = [parts[n] for parts in cuts]
                found = [
                    scores.score_profile(documents, replace(BUILT_IN[name], min_features=1)) for documents in texts
                ]
                row: Row = {"words": f"{low} - {high}", "features": f"{low - 2} - {high - 2}"}
                row["texts"] = sum(map(len, texts))
                row |= {band: added(score.match_recall[band] for score in found) for band in BANDS}
                precise = added(score.precise for score in found)
                rows.append(row | {"false": precise.total - precise.count, "precision": precise})
        tables.append(ScoreTable(f"{name} on the sets' paragraphs, by length, without a minimum of features", rows))
    return tables
