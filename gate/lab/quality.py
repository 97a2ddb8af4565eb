"""Recall, precision and cost of profiles, beside other libraries, on documents whose resemblance is counted exactly.

Where nothing is known of a corpus, edited copies of its own documents are planted, so that there is something to find
at every resemblance. The truth is the same either way: J of the sets of 3-word shingles, of all pairs with J >= .5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Fingerprinted, WindowParameters
from gate.core.method_registry import method_of
from gate.core.plan import IDENTITY_BYTES, POSTING_BYTES
from gate.core.profile import Profile
from gate.core.simhash import distance
from gate.errors import ConfigError
from gate.lab import peers
from gate.lab.experiment import (
    Experiment,
    ExperimentOptions,
    ExperimentReport,
    Plot,
    ProgressTracker,
    Proportion,
    Row,
    Section,
    Series,
    Table,
    per_cent,
)
from gate.lab.planting import FEW_WORDS, add_copies
from gate.lab.scores import BANDS, EQUAL, JudgedPairs, PairScores, count_by_band, judge_all, score_pairs
from gate.lab.truth import LEAST, Corpus, Floats, Ints, disagreements

BITS = 64
SHOWN_BITS = 45  # unrelated texts differ in half of the bits; far beyond, there is nothing to see
SHOWN_RADII = 17
QUANTILES = (0.05, 0.5, 0.95)
NEAR = (3, 6, 12)
UNRELATED = "< .5"


class QualityOptions(ExperimentOptions, frozen=True, kw_only=True):
    documents: Annotated[int, Meta(ge=2, description="Of a larger corpus, so many are drawn.")] = 2_000
    profiles: Annotated[tuple[Profile, ...], Meta(description="Built-in profiles, or files with one.")] = tuple(
        BUILT_IN.values()
    )
    plant: Annotated[
        Literal["auto", "yes", "no"],
        Meta(description="Plant edited copies; auto: where nothing is known of the corpus."),
    ] = "auto"
    copies: Annotated[float, Meta(gt=0.0, le=1.0, description="Share of the documents that get a copy.")] = 0.3
    peers: Annotated[bool, Meta(description="Measure other libraries too, where they are installed.")] = True


def run(corpus: Corpus, options: QualityOptions, progress: ProgressTracker) -> ExperimentReport:
    rng = np.random.default_rng(options.seed)
    documents = draw_sample(corpus, options.documents, rng)
    plants = options.plant == "yes" or (options.plant == "auto" and not (corpus.labels or corpus.clusters))
    if plants:
        documents = add_copies(documents, max(1, round(options.copies * len(documents))), rng)
    [truth] = [documents.pairs for _ in progress(("truth",), "exact resemblance of all pairs")]
    if plants and not len(truth):
        raise ConfigError(
            f"corpus: no copy could be planted in {corpus.name}, so there is nothing to find; give documents of "
            f"{FEW_WORDS} words or more"
        )
    scores: dict[str, PairScores] = {}
    costs: dict[str, Row] = {}
    known: dict[str, Proportion] = {}
    prints: dict[str, NDArray[np.uint64]] = {}
    for profile in progress(options.profiles, "profiles"):
        judged = judge_all(documents, profile)
        scores[profile.ref] = score_pairs(documents, judged)
        known[profile.ref] = labelled(documents, judged)
        costs[profile.ref] = cost(profile, judged, len(documents))
        if fingerprints := prints_of(profile, judged.bodies):
            prints[profile.ref] = np.array(fingerprints, np.uint64)
    missing: list[str] = []
    for peer in peers.PEERS if options.peers else ():
        if not peer.installed:
            missing.append(peer.name)
            continue
        judged = peers.judge_all(documents, peer, progress(documents.texts, peer.name))
        scores[peer.name] = score_pairs(documents, judged)
        known[peer.name] = labelled(documents, judged)
        costs[peer.name] = peer_cost(peer, judged, len(documents))
    sections = [
        Section("What is called alike, and what it takes", [method_table(scores, costs, known, missing)]),
        Section("Recall by resemblance", [recall_plot(scores), recall_table(scores)]),
        Section("The documents, and the truth about them", [corpus_table(corpus, documents, planted=plants)]),
    ]
    for name, own in distinct(prints).items():
        curve = FingerprintDistances(documents, name, own)
        sections += [
            Section(f"Distances of fingerprints by resemblance ({name})", [curve.spread(), curve.distances()]),
            Section(f"The k curve: what a radius of k bits finds ({name})", [curve.recall(), curve.radii()]),
        ]
    return ExperimentReport(conclusion=conclusion(scores), sections=sections, notes=notes(plants, missing, len(truth)))


def draw_sample(corpus: Corpus, count: int, rng: np.random.Generator) -> Corpus:
    """So many documents, in their order; versions of one work stay together, or there would be little to find."""
    if len(corpus) <= count:
        return corpus
    works: dict[str, list[int]] = {}
    for number, name in enumerate(corpus.ids):
        works.setdefault(corpus.clusters.get(name, name), []).append(number)
    names = list(works)
    numbers: list[int] = []
    for at in rng.permutation(len(names)).tolist():
        numbers += works[names[at]][: count - len(numbers)]
        if len(numbers) >= count:
            break
    numbers.sort()
    ids = [corpus.ids[number] for number in numbers]
    known = set(ids)
    return replace(
        corpus,
        ids=ids,
        texts=[corpus.texts[number] for number in numbers],
        labels=[label for label in corpus.labels if label.a in known and label.b in known],
    )


def prints_of(profile: Profile, bodies: Sequence[bytes]) -> list[int]:
    """The SimHash of each body, 0 of an empty one; nothing where the method has none."""
    if not isinstance(profile.method, Fingerprinted):
        return []
    method = method_of(profile)
    return [method.fingerprint(body) or 0 if body else 0 for body in bodies]


def distinct(prints: dict[str, NDArray[np.uint64]]) -> dict[str, NDArray[np.uint64]]:
    """One of those that have the same fingerprints: two profiles may differ in how they are found alone."""
    seen: dict[bytes, str] = {}
    for name, own in prints.items():
        seen.setdefault(own.tobytes(), name)
    return {name: prints[name] for name in seen.values()}


def cost(profile: Profile, judged: JudgedPairs, documents: int) -> Row:
    bodies = sum(map(len, judged.bodies)) / documents
    postings = len(method_of(profile).postings(judged.bodies)) / documents
    seen = (
        f"windows of {profile.method.window}"
        if isinstance(profile.method, WindowParameters)
        else f"{profile.tokenizer} in {profile.gram}s"
    )
    return {
        "how": f"{profile.method.name}, {seen}",
        "signature, bytes": round(bodies),
        "index, bytes": round(IDENTITY_BYTES + bodies + POSTING_BYTES * postings),
        "signing, ms": judged.signing / documents * 1000,
        "finding, ms": judged.finding / documents * 1000,
    }


def peer_cost(peer: peers.PeerLibrary, found: JudgedPairs, documents: int) -> Row:
    """What its index takes cannot be measured from outside, nor what part of the time was signing."""
    return {
        "how": peer.how,
        "signature, bytes": peer.body_bytes,
        "index, bytes": None,
        "signing, ms": found.signing / documents * 1000,
        "finding, ms": None,
    }


def corpus_table(corpus: Corpus, documents: Corpus, *, planted: bool) -> Table:
    row: Row = {
        "corpus": corpus.name,
        "documents": len(documents),
        "of them planted": len(documents) - min(len(corpus), len(documents)) if planted else 0,
        "equal to an earlier one": len(documents) - len(set(documents.first_equal.tolist())),
        **{f"pairs J {band}": count for band, count in count_by_band(documents.pairs.jaccard).items()},
        "labels": len(documents.labels),
        "labels that disagree": disagreements(documents),
    }
    return Table(name="corpus", title="The documents, and the truth about them", rows=[row])


def labelled(documents: Corpus, found: JudgedPairs) -> Proportion:
    """How many of the pairs that are labelled alike, without a degree, are called so."""
    number = {name: i for i, name in enumerate(documents.ids)}
    stated = {
        (min(number[one.a], number[one.b]), max(number[one.a], number[one.b]))
        for one in documents.labels
        if one.jaccard is None and one.a in number and one.b in number
    }
    called = set(zip(found.left[found.is_match].tolist(), found.right[found.is_match].tolist(), strict=True))
    return Proportion(len(stated & called), len(stated))


def method_table(
    scores: dict[str, PairScores], costs: dict[str, Row], known: dict[str, Proportion], missing: Sequence[str]
) -> Table:
    rows: list[Row] = []
    for name, score in scores.items():
        rows.append(
            {
                "method": name,
                "how": costs[name]["how"],
                **{f"recall J {band}": score.match_recall[band] for band in BANDS},
                **({"labelled pairs": known[name]} if known[name].total else {}),
                "precision": score.precise,
                "false pairs": score.precise.total - score.precise.count,
                "candidates a document": score.candidates / max(score.documents, 1),
                **{key: value for key, value in costs[name].items() if key != "how"},
            }
        )
    rows += [{"method": name, "how": "not installed"} for name in missing]
    return Table(
        name="methods",
        title="What is called alike, and what it takes",
        rows=rows,
        note="Recall and precision are of pairs; precision is the share of pairs called alike with J >= .5, so that "
        "parts of larger documents, which a profile with a threshold of containment finds, count as false. Time is of "
        "the processor, a document, and a peer's holds signing and finding. Bytes are a document's, as the index is "
        "defined; what a store needs beyond comes on top.",
    )


def recall_table(scores: dict[str, PairScores]) -> Table:
    rows: list[Row] = [
        {"method": name, "stage": stage, **{band: found[band] for band in (EQUAL, *BANDS)}}
        for name, score in scores.items()
        for stage, found in (("candidates", score.candidate_recall), ("alike", score.match_recall))
    ]
    return Table(name="recall", title="Recall by band of J: candidates, and called alike", rows=rows)


def recall_plot(scores: dict[str, PairScores]) -> Plot:
    bands = list(BANDS)[::-1]
    series = []
    for name, score in scores.items():
        shares = [(float(i), score.match_recall[band].share) for i, band in enumerate(bands)]
        points = [(x, share) for x, share in shares if share is not None]
        series.append(Series(label=name, x=[x for x, _ in points], y=[y for _, y in points]))
    return Plot(
        name="recall",
        title="Recall of what is called alike, by resemblance",
        x_label="J of the pair",
        y_label="recall",
        ticks=bands,
        series=series,
        y_range=(-0.02, 1.02),
    )


class FingerprintDistances:
    """How far apart the fingerprints of a profile are: of pairs alike, by band of J, and of all others."""

    def __init__(self, documents: Corpus, name: str, prints: NDArray[np.uint64]) -> None:
        self.name = name
        self.slug = name.partition("@")[0]
        first = np.flatnonzero((documents.first_equal == np.arange(len(documents))) & (prints != 0))
        kept = np.zeros(len(documents), np.bool_)
        kept[first] = True
        pairs = documents.pairs
        among = kept[pairs.left] & kept[pairs.right]
        apart = distance(prints[pairs.left[among]], prints[pairs.right[among]])
        self.counts = _by_band(pairs.jaccard[among], apart)
        every = np.zeros(BITS + 1, np.int64)
        own = prints[first]
        for i in range(1, len(own)):
            every += np.bincount(distance(own[:i], int(own[i])), minlength=BITS + 1)
        self.counts[UNRELATED] = every - np.bincount(apart, minlength=BITS + 1)

    def distances(self) -> Table:
        rows: list[Row] = []
        for band, counts in self.counts.items():
            total = int(counts.sum())
            below = np.cumsum(counts)
            row: dict[str, object] = {"J": band, "pairs": total}
            for quantile in QUANTILES:
                row[f"{per_cent(quantile, 0)} up to"] = int(np.searchsorted(below, quantile * total)) if total else None
            rows.append(row | {f"within {bits} bits": Proportion(int(below[bits]), total) for bits in NEAR})
        title = f"Differing bits of fingerprints by band of J ({self.name})"
        return Table(name=f"distances-{self.slug}", title=title, rows=rows)

    def radii(self) -> Table:
        below = {band: np.cumsum(counts) for band, counts in self.counts.items()}
        rows: list[Row] = []
        for radius in range(SHOWN_RADII):
            near = {band: Proportion(int(own[radius]), int(own[-1])) for band, own in below.items()}
            true = sum(found.count for band, found in near.items() if band != UNRELATED)
            false = near[UNRELATED].count
            rows.append(
                {"k": radius}
                | {f"recall J {band}": found for band, found in near.items() if band != UNRELATED}
                | {"false pairs": false, "precision": Proportion(true, true + false)}
            )
        title = f"The k curve: what a radius of k bits finds ({self.name})"
        return Table(name=f"k-{self.slug}", title=title, rows=rows)

    def spread(self) -> Plot:
        series = [
            Series(
                label=f"J {band}",
                x=[float(d) for d in range(SHOWN_BITS)],
                y=(counts / counts.sum())[:SHOWN_BITS].tolist(),
            )
            for band, counts in self.counts.items()
            if counts.sum()
        ]
        return Plot(
            name=f"distances-{self.slug}",
            title=f"Distances of fingerprints by resemblance ({self.name})",
            x_label="differing bits",
            y_label="share of the pairs of the band",
            series=series,
        )

    def recall(self) -> Plot:
        radii = list(range(SHOWN_RADII))
        below = {band: np.cumsum(counts) for band, counts in self.counts.items()}
        series = [
            Series(label=f"recall J {band}", x=radii, y=(own[:SHOWN_RADII] / own[-1]).tolist())
            for band, own in below.items()
            if band != UNRELATED and own[-1]
        ]
        true = sum((own[:SHOWN_RADII] for band, own in below.items() if band != UNRELATED), np.zeros(SHOWN_RADII))
        called = true + below[UNRELATED][:SHOWN_RADII]
        distances = np.flatnonzero(called)
        series.append(Series(label="precision", x=distances.tolist(), y=(true[distances] / called[distances]).tolist()))
        return Plot(
            name=f"k-{self.slug}",
            title=f"The k curve: recall and precision of a radius of k bits ({self.name})",
            x_label="k: bits that may differ",
            y_label="share",
            series=series,
            y_range=(-0.02, 1.02),
        )


def _by_band(jaccard: Floats, apart: NDArray[np.uint8]) -> dict[str, Ints]:
    return {
        band: np.bincount(apart[(jaccard >= low) & (jaccard < high)], minlength=BITS + 1)
        for band, (low, high) in BANDS.items()
    }


def conclusion(scores: dict[str, PairScores]) -> str:
    """The methods that find most, in the band below which most profiles have their threshold."""
    band = list(BANDS)[1]

    def line(name: str) -> str:
        found = scores[name]
        recall, precise = found.match_recall[band].share, found.precise.share
        shares = [f"{per_cent(share)}" if share is not None else "-" for share in (recall, precise)]
        return f"{name} ({shares[0]} at a precision of {shares[1]})"

    best = sorted(scores, key=lambda name: -(scores[name].match_recall[band].share or 0.0) * _precision(scores[name]))
    return (
        f"Of the pairs with J {band} most are called alike, weighed by precision, by {', '.join(map(line, best[:3]))}."
    )


def _precision(score: PairScores) -> float:
    return score.precise.share or 0.0


def notes(planted: bool, missing: Sequence[str], pairs: int) -> list[str]:
    said = [
        f"There are {pairs:,} pairs with J >= {LEAST}, counted exactly over sets of 3-word shingles, among the first "
        "of each group of equal documents.",
    ]
    if planted:
        said.append(
            "Nothing is known of this corpus, so copies were planted: words replaced, inserted, deleted or moved all "
            "over the text. People edit in places and leave passages whole, so their copies are found more easily."
        )
    if missing:
        said.append(f"Not installed, and so not measured: {', '.join(missing)} (pip install 'checkin-gate[bench]').")
    return said


EXPERIMENT = Experiment(
    name="quality",
    title="Recall, precision and cost of profiles, beside other libraries",
    paper="-",
    repeats="Our own: recall by resemblance, precision, candidates, bytes and time; distances of SimHash; the k curve",
    run=run,
    options=QualityOptions,
)
