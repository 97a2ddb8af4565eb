"""The tables by which the profile `scans` was chosen: k-grams of characters, thresholds, bands, bins.

Copies are misread at three shares of wrong characters (`gate.lab.ocr_errors`) and looked up by their originals.
Beside them all pairs of the originals are compared: they are unrelated but for those that have 3-word shingles in
common, so what is alike among the rest is false. A recall is that of the set where it is lowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.judge import DECIMALS
from gate.core.method_parameters import MinHash
from gate.core.method_registry import Method, method_of
from gate.core.plan import plan
from gate.core.profile import Profile
from gate.lab import scores
from gate.lab.experiment import Proportion
from gate.lab.ocr_errors import misread
from gate.lab.truth import Corpus, Floats, Ints
from load.quality_sweep import StepTimer, lowest
from load.quality_tables import Row, ScoreTable

WRONG = (0.01, 0.03, 0.05, 0.08)
COPIED = 300  # documents of a set that are copied, at most
WORDS = 30  # of the shortest of them: of less, one line is the whole scan
RELATED = 0.1  # J of 3-word shingles from which on two originals quote each other, and are not counted as unrelated
SIZE = 1_000_000  # documents of the index that bytes are planned for
GRAMS = (4, 5, 6, 7, 8, 9)
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5)
BINS = (64, 128, 192, 256)
BAND_GRAMS = (6, 7, 8, 9)
BANDINGS = ((16, 4), (24, 4), (32, 4), (16, 3), (21, 3), (25, 5))

SCANS = BUILT_IN["scans"]


@dataclass(frozen=True, slots=True)
class ScannedSet:
    """Documents of a set, one of each work, and the copies of some of them by the share of wrong characters."""

    documents: Corpus
    copied: Ints
    copies: dict[float, list[str]]


def scan(sets: Sequence[Corpus], *, seed: int = 1) -> Iterator[ScannedSet]:
    rng = np.random.default_rng(seed)
    for documents in sets:
        works: dict[str, int] = {}
        for i in rng.permutation(len(documents)).tolist():
            name = documents.ids[i]
            works.setdefault(documents.clusters.get(name, f"\0{documents.first_equal[i]}"), i)
        chosen = sorted(works.values())
        one_each = Corpus(documents.name, [documents.ids[i] for i in chosen], [documents.texts[i] for i in chosen])
        long = [i for i, text in enumerate(one_each.texts) if len(text.split()) >= WORDS]
        copied = np.array(sorted(rng.permutation(long)[:COPIED].tolist()), np.int64)
        yield ScannedSet(
            one_each, copied, {share: [misread(one_each.texts[i], share, rng) for i in copied] for share in WRONG}
        )


@dataclass(frozen=True, slots=True)
class Signed:
    """All bodies of a set under one profile, and the estimates of all pairs that count."""

    originals: list[bytes]
    copies: dict[float, list[bytes]]
    own: dict[float, Floats]  # of each copy with its original
    others: Floats  # of all pairs of originals
    pairs: tuple[Ints, Ints]


def sign(one: ScannedSet, profile: Profile) -> Signed:
    method = method_of(profile)
    originals = scores.sign(method, one.documents.texts)
    copies = {share: scores.sign(method, texts) for share, texts in one.copies.items()}
    own = {}
    for share, bodies in copies.items():
        measured = method.compare([originals[i] for i in one.copied.tolist()], bodies).resemblance
        assert measured is not None
        own[share] = np.round(measured, DECIMALS)
    signed = np.flatnonzero([bool(body) for body in originals])
    left, right = (signed[side] for side in np.triu_indices(len(signed), 1))
    parts = [
        measures.resemblance
        for measures in scores.compare_pairs(method, originals, left, right)
        if measures.resemblance is not None
    ]
    return Signed(originals, copies, own, np.round(np.concatenate([np.empty(0), *parts]), DECIMALS), (left, right))


def false_pairs(one: ScannedSet, pairs: tuple[Ints, Ints]) -> int:
    """How many of the pairs have next to nothing in common."""
    return int((one.documents.jaccard(*pairs) < RELATED).sum())


def percent(share: float) -> str:
    return f"{share:.0%} wrong"


def scan_tables(sets: Sequence[Corpus], timer: StepTimer) -> list[ScoreTable]:
    with timer("scans: copies"):
        scanned = list(scan(sets))
    about: list[Row] = [
        {"set": one.documents.name, "works": len(one.documents), "copied": len(one.copied)} for one in scanned
    ]
    return [
        ScoreTable("Scans: the sets, one document of each work", about),
        gram_table(scanned, timer),
        band_table(scanned, timer),
        bin_table(scanned, timer),
        chosen_table(scanned, timer),
    ]


def estimate_row(scanned: Sequence[ScannedSet], signed: Sequence[Signed], threshold: float) -> Row:
    """What a threshold would call alike, were every pair compared."""
    row: Row = {"threshold": f"{threshold:.2f}"}
    for share in WRONG:
        found = [Proportion(int((own.own[share] >= threshold).sum()), len(own.own[share])) for own in signed]
        row[percent(share)] = lowest(found)
    false = 0
    for one, own in zip(scanned, signed, strict=True):
        over = own.others >= threshold
        false += false_pairs(one, (own.pairs[0][over], own.pairs[1][over]))
    return row | {"false pairs": false, "of": sum(len(own.others) for own in signed)}


def gram_table(scanned: Sequence[ScannedSet], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    for gram in GRAMS:
        with timer(f"scans: {gram} characters"):
            signed = [sign(one, replace(SCANS, gram=gram)) for one in scanned]
            rows += [{"k": gram} | estimate_row(scanned, signed, threshold) for threshold in THRESHOLDS]
    return ScoreTable("Scans: characters in a shingle, and thresholds; every pair compared", rows)


def bin_table(scanned: Sequence[ScannedSet], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    for bins in BINS:
        with timer(f"scans: {bins} bins"):
            signed = [sign(one, replace(SCANS, method=MinHash(bins=bins, bands=8, rows=4))) for one in scanned]
            rows += [{"bins": bins} | estimate_row(scanned, signed, threshold) for threshold in THRESHOLDS]
    return ScoreTable(f"Scans: bins, at {SCANS.gram} characters; every pair compared", rows)


def band_table(scanned: Sequence[ScannedSet], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    for gram in BAND_GRAMS:
        with timer(f"scans: bands of {gram} characters"):
            signed = [sign(one, replace(SCANS, gram=gram)) for one in scanned]
            for bands, band_rows in BANDINGS:
                profile = replace(SCANS, gram=gram, method=MinHash(bands=bands, rows=band_rows))
                row = {"k": gram, "bands": bands, "rows": band_rows} | found_row(scanned, signed, profile)
                rows.append(row | {"bytes a document": sum(plan(profile, SIZE).bytes_per_document.values())})
    return ScoreTable("Scans: bands and rows; candidates", rows)


def found_row(
    scanned: Sequence[ScannedSet], signed: Sequence[Signed], profile: Profile, *, threshold: float = 0.0
) -> Row:
    """What shares a band, and is at least so much alike."""
    method = method_of(profile)
    row: Row = {}
    for share in WRONG:
        row[percent(share)] = lowest(
            [
                Proportion(int((met(method, one, own, share) & (own.own[share] >= threshold)).sum()), len(one.copied))
                for one, own in zip(scanned, signed, strict=True)
            ]
        )
    candidates = false = 0
    for one, own in zip(scanned, signed, strict=True):
        left, right = scores.find_candidates(method, own.originals)
        candidates += len(left)
        estimates = [m.resemblance for m in scores.compare_pairs(method, own.originals, left, right)]
        alike = np.concatenate([np.empty(0), *(e for e in estimates if e is not None)]) >= threshold
        false += false_pairs(one, (left[alike], right[alike]))
    pairs = sum(len(own.others) for own in signed)
    row |= {"pairs compared": candidates, "of": pairs}
    if threshold:
        row["false pairs"] = false
    return row


def met(method: Method, one: ScannedSet, own: Signed, share: float) -> scores.Flags:
    """Which copies share a band with their originals."""
    count = len(own.originals)
    left, right = scores.find_candidates(method, [*own.originals, *own.copies[share]])
    mine = right >= count
    wanted = one.copied[np.maximum(right - count, 0)]
    flags = np.zeros(len(one.copied), np.bool_)
    flags[(right - count)[mine & (left == wanted)]] = True
    return flags


def chosen_table(scanned: Sequence[ScannedSet], timer: StepTimer) -> ScoreTable:
    rows: list[Row] = []
    for name in ("standard", "minhash", "scans"):
        profile = BUILT_IN[name]
        with timer(f"scans: {name}"):
            for one in scanned:
                signed = sign(one, profile)
                found = found_row([one], [signed], profile, threshold=profile.resemblance or 0.0)
                rows.append({"profile": profile.ref, "set": one.documents.name} | found)
    return ScoreTable("Scans: found under the built-in profiles", rows)
