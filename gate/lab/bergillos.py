"""Shingles, hash families and signature lengths, as in Bergillos et al. 2018: Figures 2, 3 and 4.

2. A passage of 50 words is shuffled 20 times, and the exact resemblance of all pairs is taken for shingles of 2 to 20
   characters: the words are the same and their order is not, so a good size finds little.
3. The signatures of the corpus are made by each family of hash functions, and timed.
4. Pairs of a known resemblance are estimated by signatures of growing length.

Beside them the curve of bands and rows that are chosen for that resemblance: which pairs are compared at all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from gate.core.bands import band_recall
from gate.core.length_filter import all_pairs, resemblances
from gate.core.method_parameters import Family
from gate.core.minhash import resemblance, signatures
from gate.core.plan import bands_for
from gate.core.profile import Profile
from gate.core.shingles import features
from gate.core.simhash import weighted
from gate.core.text import normalise
from gate.errors import ConfigError
from gate.lab.bergillos_multisets import multiset_section
from gate.lab.experiment import (
    Experiment,
    ExperimentOptions,
    ExperimentReport,
    Plot,
    ProgressTracker,
    Row,
    Section,
    Series,
    Table,
    per_cent,
)
from gate.lab.scores import extract_features, normalise_in_batches
from gate.lab.truth import Corpus

Floats = NDArray[np.float64]

FAMILIES: tuple[Family, ...] = ("modular", "multiplicative", "murmur3", "one-permutation")
RECALL = 0.95
SHINGLES = "Resemblance of shuffled texts by size of the shingle (Figure 2)"
TIMES = "Time to fill the signatures by hash family (Figure 3)"
ESTIMATES = "Estimates of the resemblance by length of the signature (Figure 4)"
PAPER_GRAM, PAPER_HIGHEST = 9, 0.1  # its choice, and what all resemblances of shuffles are below there
LEAST_WORDS = 8  # of a document that half of a pair is made of


class BergillosOptions(ExperimentOptions, frozen=True, kw_only=True):
    """Sizes and lengths of the three experiments."""

    words: Annotated[int, Meta(ge=2, le=10_000, description="Words of the passage that is shuffled.")] = 50
    permutations: Annotated[int, Meta(ge=2, le=200, description="How often it is shuffled.")] = 20
    grams: Annotated[tuple[Annotated[int, Meta(ge=1, le=64)], ...], Meta(description="Characters in a shingle.")] = (
        tuple(range(2, 21))
    )
    gram: Annotated[int, Meta(ge=1, le=64, description="Characters in a shingle of the estimates.")] = 9
    functions: Annotated[int, Meta(ge=16, le=1024, description="Values of the signatures that are timed.")] = 128
    documents: Annotated[int, Meta(ge=1, description="At most so many are signed and timed.")] = 200
    rounds: Annotated[int, Meta(ge=1, le=50, description="How often each is timed.")] = 5
    similarity: Annotated[float, Meta(gt=0.0, lt=1.0, description="Resemblance of the pairs that are estimated.")] = 0.6
    lengths: Annotated[
        tuple[Annotated[int, Meta(ge=16, le=1024)], ...], Meta(description="Values of the signatures that estimate.")
    ] = (16, 32, 64, 128, 256, 512, 1024)
    pairs: Annotated[int, Meta(ge=1, le=1000, description="How many pairs are estimated.")] = 50


def check(options: BergillosOptions) -> None:
    for name in ("grams", "lengths"):
        if not getattr(options, name):
            raise ConfigError(f"{name}: is empty; give one or more")
    try:
        bands_for(options.similarity, bins=options.functions, recall=RECALL)
    except ConfigError as exc:
        raise ConfigError(
            f"similarity, functions: no bands of {options.functions} values find {per_cent(RECALL, 0)} of pairs "
            f"of resemblance "
            f"{options.similarity:g}; raise one of the two"
        ) from exc


def run(corpus: Corpus, options: BergillosOptions, progress: ProgressTracker) -> ExperimentReport:
    rng = np.random.default_rng(options.seed)
    shuffled = permuted(passage(corpus, options.words, rng), options.permutations, rng)
    alike = {k: shared(shuffled, k) for k in progress(options.grams, "shingle sizes")}
    some = [corpus.texts[i] for i in np.sort(rng.permutation(len(corpus))[: options.documents]).tolist()]
    times, sizes = timed(some, options, progress)
    texts = paired(corpus, options.similarity, options.pairs, rng)
    exact, estimates = estimated(texts, options, progress)
    estimates_by_length: list[Plot | Table] = [
        single_plot(exact, estimates),
        spread_plot(exact, estimates, options.similarity),
        estimate_table(exact, estimates),
    ]
    return ExperimentReport(
        conclusion=conclusion(alike, times, exact, estimates),
        sections=[
            Section(SHINGLES, [shingle_plot(alike), shingle_table(alike)]),
            Section(TIMES, [time_plot(times), time_table(times, sizes)]),
            Section(ESTIMATES, estimates_by_length),
            multiset_section(texts, _characters(options.gram), options.functions),
            Section("Which pairs are compared at all", [curve_plot(options)]),
        ],
        notes=notes(alike, times, exact, estimates, options),
    )


# Figure 2


def passage(corpus: Corpus, count: int, rng: np.random.Generator) -> list[str]:
    """The first words of a document that has enough of them; of none has, of the longest."""
    order = rng.permutation(len(corpus)).tolist()
    longest: list[str] = []
    for i in order:
        own: list[str] = corpus.texts[i].split()
        if len(own) >= count:
            return own[:count]
        longest = max(longest, own, key=len)
    if len(longest) < 2:
        raise ConfigError(f"corpus: no document of {corpus.name} has two words; there is nothing to shuffle")
    return longest


def permuted(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    return [" ".join(words[i] for i in rng.permutation(len(words)).tolist()) for _ in range(count)]


def shared(texts: Sequence[str], gram: int) -> Floats:
    """The exact resemblance of all pairs by shingles of so many characters."""
    return resemblances(features(normalise(texts), _characters(gram)), all_pairs(len(texts)))


def _characters(gram: int) -> Profile:
    return Profile(name="tried", tokenizer="characters", gram=gram)


# Figure 3


def timed(
    texts: Sequence[str], options: BergillosOptions, progress: ProgressTracker
) -> tuple[dict[int, dict[Family, float]], dict[int, int]]:
    """Seconds of the processor that signatures take by each family, from the distinct shingles on, and how many there
    are. All families take turns, so that other load on the machine affects all alike."""
    batches, times, sizes = list(normalise_in_batches(texts)), {}, {}
    for gram in progress(options.grams, "hash families"):
        distinct = [weighted(features(batch, _characters(gram)), "set") for batch in batches]
        spent: dict[Family, list[float]] = {family: [] for family in FAMILIES}
        for _ in range(options.rounds):
            for family in FAMILIES:
                begun = time.process_time()
                for one in distinct:
                    signatures(one, options.functions, family)
                spent[family].append(time.process_time() - begun)
        times[gram] = {family: median(costs) for family, costs in spent.items()}
        sizes[gram] = sum(one.hashes.size for one in distinct)
    return times, sizes


# Figure 4


def paired(corpus: Corpus, similarity: float, count: int, rng: np.random.Generator) -> list[str]:
    """Pairs of texts, one after the other: a common beginning, and each its own end from elsewhere in the corpus.

    Of s = 2J / (1 + J) of each, the rest being different, two texts have the resemblance s / (2 - s) = J; how much it
    is in truth is counted.
    """
    fit = [text.split() for text in corpus.texts if len(text.split()) >= LEAST_WORDS]
    if len(fit) < 2:
        raise ConfigError(f"corpus: {corpus.name} needs two documents of {LEAST_WORDS} words or more")
    common, texts = 2.0 * similarity / (1.0 + similarity), []
    for _ in range(count):
        first, second = (fit[i] for i in rng.permutation(len(fit))[:2].tolist())
        size = min(len(first), len(second))
        cut = min(max(round(common * size), 1), size)
        texts += [" ".join(first[:size]), " ".join([*first[:cut], *second[-(size - cut) :][: size - cut]])]
    return texts


def estimated(
    texts: Sequence[str], options: BergillosOptions, progress: ProgressTracker
) -> tuple[Floats, dict[Family, dict[int, Floats]]]:
    """The exact resemblance of each pair, and its estimates by family and length."""
    whole = extract_features(texts, _characters(options.gram))
    order = np.arange(0, len(texts), 2)
    exact = resemblances(whole, np.stack([order, order + 1], axis=1))
    longest = max(options.lengths)
    found: dict[Family, dict[int, Floats]] = {}
    for family in progress(FAMILIES, "estimates"):
        # The functions of a family are numbered, so a short signature is the beginning of a long one.
        made = {} if family == "one-permutation" else {longest: signatures(whole, longest, family)[0]}
        found[family] = {}
        for length in options.lengths:
            own = made[longest][:, :length] if made else signatures(whole, length, family)[0]
            found[family][length] = resemblance(own[::2], own[1::2])
    return exact, found


# Tables and plots


def shingle_table(alike: Mapping[int, Floats]) -> Table:
    rows: list[Row] = [
        {
            "characters": k,
            "lowest": float(found.min()),
            "median": float(np.median(found)),
            "highest": float(found.max()),
            "pairs with nothing in common, %": 100.0 * float((found == 0.0).mean()),
        }
        for k, found in alike.items()
    ]
    return Table(name="shingles", title=SHINGLES, rows=rows)


def time_table(times: Mapping[int, Mapping[Family, float]], sizes: Mapping[int, int]) -> Table:
    rows: list[Row] = [
        {"characters": k, "distinct shingles": sizes[k]}
        | {f"{family}, ms": 1e3 * seconds for family, seconds in times[k].items()}
        | {"modular / multiplicative": times[k]["modular"] / max(times[k]["multiplicative"], 1e-9)}
        for k in times
    ]
    return Table(
        name="times",
        title=TIMES,
        rows=rows,
        note="Milliseconds of the processor for all documents, the median of some rounds; they change from run to run.",
    )


def estimate_table(exact: Floats, estimates: Mapping[Family, Mapping[int, Floats]]) -> Table:
    rows: list[Row] = []
    for length in next(iter(estimates.values())):
        for family, by_length in estimates.items():
            errors = by_length[length] - exact
            rows.append(
                {
                    "values": length,
                    "family": family,
                    "first pair": float(by_length[length][0]),
                    "its resemblance": float(exact[0]),
                    "mean error": float(errors.mean()),
                    "standard deviation": float(errors.std()),
                    "expected": float(np.sqrt(np.mean(exact * (1.0 - exact)) / length)),
                }
            )
    return Table(
        name="estimates",
        title="Estimates of all pairs",
        rows=rows,
        note="Expected: the standard deviation of independent functions, sqrt(J (1 - J) / t).",
    )


def shingle_plot(alike: Mapping[int, Floats]) -> Plot:
    found = list(alike.values())
    series = Series(
        label="median, lowest to highest",
        x=[float(k) for k in alike],
        y=[float(np.median(one)) for one in found],
        low=[float(one.min()) for one in found],
        high=[float(one.max()) for one in found],
    )
    return Plot(
        name="shingles",
        title=SHINGLES,
        x_label="characters in a shingle",
        y_label="resemblance",
        series=[
            series,
            Series(label="paper: all are below this", x=[float(PAPER_GRAM)], y=[PAPER_HIGHEST], line=False),
        ],
        marks={"the paper's choice: 9": float(PAPER_GRAM)},
    )


def time_plot(times: Mapping[int, Mapping[Family, float]]) -> Plot:
    series = [
        Series(label=family, x=[float(k) for k in times], y=[1e3 * one[family] for one in times.values()])
        for family in FAMILIES
    ]
    return Plot(
        name="times",
        title=TIMES,
        x_label="characters in a shingle",
        y_label="milliseconds",
        series=series,
        y_scale="log",
    )


def single_plot(exact: Floats, estimates: Mapping[Family, Mapping[int, Floats]]) -> Plot:
    series = [
        Series(label=family, x=[float(t) for t in by_length], y=[float(one[0]) for one in by_length.values()])
        for family, by_length in estimates.items()
    ]
    return Plot(
        name="estimate",
        title="Estimates of one pair, as the paper shows them",
        x_label="values in a signature",
        y_label="estimated resemblance",
        series=series,
        x_scale="log",
        levels={f"exact {exact[0]:.3f}": float(exact[0])},
    )


def spread_plot(exact: Floats, estimates: Mapping[Family, Mapping[int, Floats]], similarity: float) -> Plot:
    series = [
        Series(
            label=family,
            x=[float(t) for t in by_length],
            y=[float((one - exact).std()) for one in by_length.values()],
        )
        for family, by_length in estimates.items()
    ]
    lengths = [float(t) for t in next(iter(estimates.values()))]
    expected = [float(np.sqrt(np.mean(exact * (1.0 - exact)) / t)) for t in lengths]
    return Plot(
        name="spread",
        title=f"How far estimates of pairs of resemblance {similarity:g} err",
        x_label="values in a signature",
        y_label="standard deviation of the error",
        series=[*series, Series(label="sqrt(J (1 - J) / t)", x=lengths, y=expected)],
        x_scale="log",
        y_scale="log",
    )


def curve_plot(options: BergillosOptions) -> Plot:
    """The chance of being compared, by bands and rows chosen for the resemblance."""
    bands, rows = bands_for(options.similarity, bins=options.functions, recall=RECALL)
    places = [i / 50 for i in range(51)]
    curve = [band_recall(at, bands=bands, band_rows=rows) for at in places]
    return Plot(
        name="bands",
        title=f"Pairs that share a band: {bands} bands of {rows}, chosen for {options.similarity:g}",
        x_label="resemblance",
        y_label="chance to be compared",
        series=[Series(label="1 - (1 - J^rows)^bands", x=places, y=curve)],
        marks={f"{options.similarity:g}": options.similarity},
        levels={f"{RECALL:g}": RECALL},
    )


def conclusion(
    alike: Mapping[int, Floats],
    times: Mapping[int, Mapping[Family, float]],
    exact: Floats,
    estimates: Mapping[Family, Mapping[int, Floats]],
) -> str:
    gram = min(alike, key=lambda k: abs(k - PAPER_GRAM))
    order = sorted(FAMILIES, key=lambda family: median(one[family] for one in times.values()))
    longest = max(estimates["modular"])
    worst = max(float((found[longest] - exact).std()) for found in estimates.values())
    return (
        f"Shingles of {gram} characters tell texts with the same words in another order apart: the median resemblance "
        f"is {np.median(alike[gram]):.3f} and the highest {alike[gram].max():.3f} (paper, at {PAPER_GRAM}: all below "
        f"{PAPER_HIGHEST}). All families estimate one number without bias; with {longest:,} values the standard "
        f"deviation of their errors is at most {worst:.3f}. The fastest here is {order[0]}, in the paper modular."
    )


def notes(
    alike: Mapping[int, Floats],
    times: Mapping[int, Mapping[Family, float]],
    exact: Floats,
    estimates: Mapping[Family, Mapping[int, Floats]],
    options: BergillosOptions,
) -> list[str]:
    said = []
    if 9 in alike:
        said.append(
            f"Figure 2: with 9 characters the highest of {len(alike[9])} resemblances is {alike[9].max():.3f}; in the "
            "paper all are below .1."
        )
    far = [found for k, found in alike.items() if k > 12]
    if far:
        none = float(np.mean([(found == 0.0).mean() for found in far]))
        said.append(
            f"Beyond 12 characters {per_cent(none, 0)} of the resemblances are 0; the paper says mostly. The "
            f"passage is another "
            "one, and two words that are neighbours by chance in two shuffles share what a long shingle spans."
        )
    order = sorted(FAMILIES, key=lambda family: median(one[family] for one in times.values()))
    worst = max(abs(float((found[t] - exact).mean())) for found in estimates.values() for t in found)
    return [
        *said,
        f"Figure 3: from the fastest to the slowest, {', '.join(order)}. In the paper modular takes less than half the "
        "time of the two others. It differs because the paper's functions run one value at a time in C++, and these "
        "over whole arrays, where every step is a pass: multiplicative has one, of 32 bits; modular has eight, most of "
        "them of 64; murmur3 has fifteen of 32. The signature by one permutation, which is not in the paper, makes one "
        "pass for all values together.",
        f"Figure 4: the paper shows one pair of 60 %; here are {len(exact)} pairs, of {exact.mean():.3f} on average. "
        f"The largest mean error of any family and length is {worst:.3f}. A byte of each value is kept, and what "
        "agrees by chance is taken off.",
        f"Shingles of {options.gram} characters for the estimates; {options.functions} values where time is taken.",
    ]


EXPERIMENT = Experiment(
    name="bergillos",
    title="Shingles, hash families and signature lengths",
    paper="Bergillos et al. 2018",
    repeats="Figures 2, 3 and 4",
    run=run,
    options=BergillosOptions,
    check=check,
)
