"""Controlled variants found by SimHash at 80 %, as in Roth 2013, Table 20.

Each control document is copied (`dup`), and N % of its words are inserted (`i_N`) or deleted (`d_N`). Every document is
then asked for what is similar: at most 12 of the 64 bits differ, which the paper calls 80 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Annotated

import numpy as np
from msgspec import Meta
from msgspec.structs import replace
from numpy.typing import NDArray

from gate.core.methods import method_of
from gate.core.profile import Profile
from gate.core.profiles import BUILT_IN
from gate.core.simhash import distance
from gate.core.text import normalise
from gate.lab.frame import Experiment, Found, Options, Plot, Progress, Report, Row, Series, Table
from gate.lab.planting import LEAST_WORDS, pieces, variants, vocabulary
from gate.lab.truth import Documents

BITS = 64
PROFILE = BUILT_IN["roth-2013"]
# Table 20, by control document and variant; `const11` was a second copy under another name.
PAPER = {
    ("sw56gu", "dup"): 1.0,
    ("killfile", "i_25"): 0.96875,
    ("a16", "dup"): 1.0,
    ("gettysburg", "d_1"): 0.96875,
    ("gettysburg", "d_5"): 0.953125,
    ("gettysburg", "d_10"): 0.9375,
    ("gettysburg", "i_1"): 0.96875,
    ("gettysburg", "i_5"): 0.96875,
    ("gettysburg", "i_10"): 0.984375,
    ("us-const", "dup"): 1.0,
    ("us-const", "d_5"): 0.984375,
    ("us-const", "d_10"): 0.953125,
    ("us-const", "i_5"): 1.0,
    ("us-const", "i_10"): 1.0,
}


class Roth2013Options(Options, frozen=True, kw_only=True):
    """What is planted, and how it is asked for."""

    controls: Annotated[int, Meta(ge=1, description="Control documents, drawn from the corpus.")] = 100
    inserted: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=400)], ...], Meta(description="Per cent of words to insert.")
    ] = (1, 5, 10, 25)
    deleted: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=90)], ...], Meta(description="Per cent of words to delete.")
    ] = (1, 5, 10, 25)
    similarity: Annotated[float, Meta(ge=0.5, le=1.0, description="What counts as similar: equal bits of 64.")] = 0.8
    gram: Annotated[int, Meta(ge=1, le=64, description="Characters in a k-gram.")] = PROFILE.gram


def run(corpus: Documents, options: Roth2013Options, progress: Progress) -> Report:
    rng = np.random.default_rng(options.seed)
    profile = replace(PROFILE, name="tried", gram=options.gram)
    radius = floor(BITS * (1.0 - options.similarity) + 1e-9)
    prints = fingerprints(profile, corpus.texts)
    controls = drawn(corpus, options.controls, rng)
    words = vocabulary(corpus.texts, rng)
    made = variants(options.inserted, options.deleted)
    distances = np.zeros((len(controls), len(made)), np.int64)
    for row, control in enumerate(progress(controls, "controlled variants")):
        text = corpus.texts[control]
        copies = fingerprints(profile, [make(text, rng, words) for make in made.values()])
        distances[row] = distance(copies, int(prints[control]))
    return Report(
        tables=[
            variant_table(list(made), distances, radius),
            control_table(corpus, controls, list(made), distances, prints, radius),
            view_table(prints),
        ],
        plots=[variant_plot(list(made), distances, options.similarity)],
        notes=[
            f"Similar is what agrees in {options.similarity:.0%} of {BITS} bits or more: {radius} bits may differ.",
            "The paper's texts are not at hand: other documents and other inserted words give other numbers.",
        ],
    )


def drawn(corpus: Documents, count: int, rng: np.random.Generator) -> list[int]:
    """Control documents, in the order of the corpus; those of a word or two are left out."""
    fit = [i for i in rng.permutation(len(corpus)).tolist() if len(pieces(corpus.texts[i])) >= LEAST_WORDS]
    return sorted(fit[:count])


def fingerprints(profile: Profile, texts: Sequence[str]) -> NDArray[np.uint64]:
    """The fingerprint of each text, however short."""
    method = method_of(replace(profile, min_features=1))
    bodies = [body or bytes(8) for body in method.sign(normalise(texts)).bodies]
    return np.frombuffer(b"".join(bodies), "<u8").astype(np.uint64)


def similarity(distances: NDArray[np.int64]) -> NDArray[np.float64]:
    agreeing: NDArray[np.float64] = 1.0 - distances / BITS
    return agreeing


def variant_table(names: Sequence[str], distances: NDArray[np.int64], radius: int) -> Table:
    rows: list[Row] = []
    for column, name in enumerate(names):
        own = distances[:, column]
        told = [value for (_, variant), value in PAPER.items() if variant == name]
        rows.append(
            {
                "variant": name,
                "found": Found(int((own <= radius).sum()), len(own)),
                "mean similarity": float(similarity(own).mean()),
                "lowest": float(similarity(own).min()),
                "highest": float(similarity(own).max()),
                "paper, from": min(told, default=None),
                "paper, to": max(told, default=None),
            }
        )
    return Table(name="variants", title="Variants of the control documents that are found", rows=rows)


def control_table(
    corpus: Documents,
    controls: Sequence[int],
    names: Sequence[str],
    distances: NDArray[np.int64],
    prints: NDArray[np.uint64],
    radius: int,
) -> Table:
    rows: list[Row] = []
    for row, control in enumerate(controls[:12]):
        others = int((distance(prints, int(prints[control])) <= radius).sum()) - 1
        rows.append(
            {"document": corpus.ids[control]}
            | dict(zip(names, similarity(distances[row]).tolist(), strict=True))
            | {"variants found": int((distances[row] <= radius).sum()), "other documents found": others}
        )
    return Table(name="controls", title="Similarity of each variant, by control document (the first twelve)", rows=rows)


def view_table(prints: NDArray[np.uint64]) -> Table:
    """How many pairs of the corpus itself are similar, by threshold: the rows of the paper's `si_view`."""
    counts = np.zeros(BITS + 1, np.int64)
    for i in range(1, len(prints)):
        counts += np.bincount(distance(prints[:i], int(prints[i])), minlength=BITS + 1)
    rows: list[Row] = []
    for per_cent in (100, 95, 90, 85, 80, 75, 70):
        bits = floor(BITS * (100 - per_cent) / 100 + 1e-9)
        near = int(counts[: bits + 1].sum())
        rows.append({"similarity from": f"{per_cent} %", "bits": bits, "pairs": Found(near, int(counts.sum()))})
    return Table(name="pairs", title="Pairs of the corpus itself, by threshold", rows=rows)


def variant_plot(names: Sequence[str], distances: NDArray[np.int64], least: float) -> Plot:
    places = [float(i) for i in range(len(names))]
    alike = similarity(distances)
    return Plot(
        name="variants",
        title="Similarity of controlled variants with their originals",
        x_label="variant",
        y_label="equal bits / 64",
        ticks=names,
        series=[
            Series(
                label="mean; the band is from lowest to highest",
                x=places,
                y=alike.mean(axis=0).tolist(),
                low=alike.min(axis=0).tolist(),
                high=alike.max(axis=0).tolist(),
            ),
            Series(label="similar from here", x=places, y=[least] * len(names)),
        ],
    )


EXPERIMENT = Experiment(
    name="roth-2013",
    title="SimHash finds controlled variants at 80 %",
    paper="Roth 2013",
    repeats="Table 20",
    run=run,
    options=Roth2013Options,
    least_documents=1,
)
