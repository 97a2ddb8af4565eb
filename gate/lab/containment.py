"""Parts of larger documents: how many are found by which n and how many keys, and what that costs.

Runs of words are cut out of documents of the corpus and looked up among all of them, verbatim and with some words
replaced. A part finds its whole where they share a key, and keys are stored and looked up alike: so it makes no
difference to what is found which of the two comes first, only to whether it is named `contained` or `contains`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from gate.core.bands import Probes
from gate.core.builtin_profiles import BUILT_IN
from gate.core.judge import verify
from gate.core.method_parameters import ModN
from gate.core.method_registry import Method, method_of
from gate.core.profile import Profile
from gate.errors import ConfigError
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
from gate.lab.planting import LEAST_WORDS, Edit, edit_text, part, pieces, vocabulary
from gate.lab.sampling import distinct
from gate.lab.scores import find_candidates, sign
from gate.lab.truth import Corpus
from gate.lab.truth import words as words_of
from gate.model import Relation

PROFILE = BUILT_IN["containment"]
ENTRY_BYTES = 8  # of a posting, beside its tag
SLACK = 0.15  # a sample may err so far, and words are not windows

Share = Annotated[int, Meta(ge=1, le=99)]
PartKind = tuple[int, int]  # per cent of the whole, per cent of the part's words that were replaced


class ContainmentOptions(ExperimentOptions, frozen=True, kw_only=True):
    """What is cut out, and how it is looked up."""

    hosts: Annotated[int, Meta(ge=1, description="Documents to cut parts out of, drawn from the corpus.")] = 200
    least_words: Annotated[int, Meta(ge=20, description="Words of the shortest of them.")] = 400
    parts: Annotated[tuple[Share, ...], Meta(min_length=1, description="Per cent of the words of a document.")] = (
        10,
        25,
        50,
        80,
    )
    replaced: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=90)], ...],
        Meta(min_length=1, description="Per cent of a part's words that are replaced by others."),
    ] = (0, 2)
    samples: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=8000)], ...], Meta(min_length=1, description="The n of Mod_n.")
    ] = (25, 50, 100)
    keys: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=8000)], ...], Meta(min_length=1, description="Keys of a document, at most.")
    ] = (16, 64, 128, 256)


def check(options: ContainmentOptions) -> None:
    for name in ("parts", "replaced", "samples", "keys"):
        values: tuple[int, ...] = getattr(options, name)
        if len(set(values)) < len(values):
            raise ConfigError(f"{name}: a number is given twice; give each once")


def run(corpus: Corpus, options: ContainmentOptions, progress: ProgressTracker) -> ExperimentReport:
    rng = np.random.default_rng(options.seed)
    known = distinct(corpus, len(corpus), LEAST_WORDS, rng)
    texts = [corpus.texts[i] for i in known]
    fit = [i for i in rng.permutation(len(texts)).tolist() if len(pieces(texts[i])) >= options.least_words]
    if not fit:
        raise ConfigError(
            f"corpus: no document of {corpus.name} has {options.least_words:,} words; lower --least-words"
        )
    hosts = sorted(fit[: options.hosts])
    words = vocabulary(texts, rng)
    planted = {
        (share, replaced): [_cut(texts[i], share, replaced, rng, words) for i in hosts]
        for share in progress(sorted(options.parts), "cutting parts")
        for replaced in sorted(options.replaced)
    }
    tried = [_tried(n, keys) for n in options.samples for keys in options.keys]
    beside = replace(BUILT_IN["standard"], name="standard", containment=PROFILE.containment)
    profiles = [*dict.fromkeys([*tried, _tried(*_sampling(PROFILE))]), beside]
    found = {profile: measure(profile, texts, hosts, planted) for profile in progress(profiles, "looking parts up")}
    return ExperimentReport(
        conclusion=conclusion(found),
        sections=[
            Section(
                "Parts that are found",
                [
                    *(recall_plot(found, sorted(options.parts), replaced) for replaced in sorted(options.replaced)),
                    recall_table(found),
                ],
            ),
            Section("What it costs", [price_table(found)]),
            Section("Where parts are lost, and how the others are named", [name_table(found)]),
        ],
        notes=notes(texts, hosts, found),
    )


def _tried(n: int, keys: int) -> Profile:
    return replace(PROFILE, name="tried", method=ModN(sample=n, max_keys=keys))


def _sampling(profile: Profile) -> tuple[int, int] | tuple[None, None]:
    """The n of Mod_n and the most keys of a document; none under another method."""
    method = profile.method
    return (method.sample, method.max_keys) if isinstance(method, ModN) else (None, None)


def _cut(text: str, share: int, replaced: int, rng: np.random.Generator, words: Sequence[str]) -> str:
    cut = part(text, share / 100, rng)
    return edit_text(cut, Edit.REPLACE, replaced / 100, rng, words) if replaced else cut


class ContainmentScore:
    """One profile: what is stored of a document, and what became of the parts of each kind."""

    def __init__(self, method: Method, bodies: Sequence[bytes]) -> None:
        postings = method.postings(bodies)
        self.postings = len(postings) / len(bodies)
        self.body_bytes = sum(map(len, bodies)) / len(bodies)
        self.posting_bytes = posting_bytes(method, postings) / len(bodies)
        self.candidate_recall: dict[PartKind, Proportion] = {}
        self.recall: dict[PartKind, Proportion] = {}
        self.named_contained: dict[PartKind, Proportion] = {}
        self.too_short: dict[PartKind, Proportion] = {}
        self.candidates: dict[PartKind, float] = {}
        self.other_matches: dict[
            PartKind, Proportion
        ] = {}  # called alike though not cut out of it, and how many hold the part too


def posting_bytes(method: Method, postings: Probes) -> int:
    tags = method.layout.tag_bytes
    return sum(ENTRY_BYTES + tags.get(key >> 32, 8) for key in postings.keys.tolist())


def measure(
    profile: Profile, texts: Sequence[str], hosts: Sequence[int], planted: Mapping[PartKind, Sequence[str]]
) -> ContainmentScore:
    method = method_of(profile)
    wholes = sign(method, texts)
    score = ContainmentScore(method, wholes)
    for kind, parts in planted.items():
        bodies = [*wholes, *sign(method, parts)]
        left, right = find_candidates(method, bodies)
        asked = (left < len(wholes)) & (right >= len(wholes))
        left, right = left[asked], right[asked]
        likeness = verify(method, profile, [bodies[i] for i in right], [bodies[i] for i in left])
        own = np.array(hosts)[right - len(wholes)] == left
        alike = np.array([how is not None for how in likeness], np.bool_)
        named = np.array([how is not None and how.relation is Relation.CONTAINED for how in likeness], np.bool_)
        score.candidate_recall[kind] = Proportion(int(own.sum()), len(parts))
        score.recall[kind] = Proportion(int((own & alike).sum()), len(parts))
        score.named_contained[kind] = Proportion(int((own & named).sum()), int((own & alike).sum()))
        score.too_short[kind] = Proportion(sum(not body for body in bodies[len(wholes) :]), len(parts))
        score.candidates[kind] = len(left) / len(parts)
        others = np.flatnonzero(alike & ~own).tolist()
        least = (PROFILE.containment or 1.0) - SLACK
        true = [contained_share(parts[right[i] - len(wholes)], texts[left[i]]) >= least for i in others]
        score.other_matches[kind] = Proportion(sum(true), len(others))
    return score


def contained_share(part: str, whole: str) -> float:
    """The share of the part's 3-word shingles that the whole has."""
    own, others = (set(zip(found, found[1:], found[2:])) for found in (words_of(part), words_of(whole)))
    return len(own & others) / max(len(own), 1)


def _sum(counted: Iterable[Proportion]) -> Proportion:
    some = list(counted)
    return Proportion(sum(one.count for one in some), sum(one.total for one in some))


def part_name(kind: PartKind) -> str:
    share, replaced = kind
    return f"{share} %" + (f", {replaced} % replaced" if replaced else "")


def row_of(profile: Profile) -> dict[str, object]:
    n, keys = _sampling(profile)
    name = profile.name if n is None else "containment" if (n, keys) == _sampling(PROFILE) else ""
    return {"profile": name, "n": n, "keys": keys}


def recall_table(found: Mapping[Profile, ContainmentScore]) -> Table:
    rows: list[Row] = [
        row_of(profile) | {part_name(kind): share for kind, share in score.recall.items()}
        for profile, score in found.items()
    ]
    note = "By the size of the part. Missed are parts too short for a signature, those that share no key with their "
    note += "whole, and those that an estimate puts below the threshold."
    return Table(name="recall", title="Parts that are found", rows=rows, note=note)


def price_table(found: Mapping[Profile, ContainmentScore]) -> Table:
    rows: list[Row] = []
    for profile, score in found.items():
        verbatim = {kind: value for kind, value in score.candidates.items() if not kind[1]} or score.candidates
        rows.append(
            row_of(profile)
            | {
                "postings": score.postings,
                "bytes: postings": round(score.posting_bytes),
                "bytes: signature": round(score.body_bytes),
            }
            | {f"candidates, {part_name(kind)}": value for kind, value in verbatim.items()}
            | {
                "others called alike": _sum(score.other_matches.values()).total,
                "of these, right": _sum(score.other_matches.values()),
            }
        )
    note = "Per document of the corpus, and candidates per look-up. A store's own overhead comes on top. Others are "
    note += "documents that a part was not cut out of; right are those that hold it too, by its 3-word shingles."
    return Table(name="price", title="What it costs", rows=rows, note=note)


def name_table(found: Mapping[Profile, ContainmentScore]) -> Table:
    rows: list[Row] = [
        row_of(profile)
        | {
            "part": part_name(kind),
            "too short": score.too_short[kind],
            "met": score.candidate_recall[kind],
            "found": score.recall[kind],
            "of these, named contained": score.named_contained[kind],
        }
        for profile, score in found.items()
        if row_of(profile)["profile"]
        for kind in score.recall
    ]
    return Table(name="parts", title="Where parts are lost, and how the others are named", rows=rows)


def recall_plot(found: Mapping[Profile, ContainmentScore], parts: Sequence[int], replaced: int) -> Plot:
    series: list[Series] = []
    for profile, score in found.items():
        n, keys = _sampling(profile)
        label = profile.name if n is None else f"n {n}, {keys} keys"
        shares = [score.recall[share, replaced].share or 0.0 for share in parts]
        series.append(Series(label=label, x=list(map(float, parts)), y=shares))
    how = f", {replaced} % of their words replaced" if replaced else ", verbatim"
    return Plot(
        name=f"recall-{replaced}",
        title=f"Parts that are found{how}",
        x_label="per cent of the whole",
        y_label="found",
        series=series,
    )


def conclusion(found: Mapping[Profile, ContainmentScore]) -> str:
    def recall(score: ContainmentScore) -> str:
        smallest, largest = min(score.recall), max(score.recall)
        return ", ".join(
            f"{per_cent(score.recall[kind].share or 0.0)} of the parts of {part_name(kind)}"
            for kind in (smallest, largest)
        )

    own = {str(row_of(profile)["profile"]): score for profile, score in found.items() if row_of(profile)["profile"]}
    said = "; ".join(f"{name} finds {recall(score)}" for name, score in own.items())
    return f"Under one threshold of containment, {said}. What it takes is in the tables of costs."


def notes(texts: Sequence[str], hosts: Sequence[int], found: Mapping[Profile, ContainmentScore]) -> list[str]:
    sizes = np.array([len(texts[i].encode()) for i in hosts])
    low, middle, high = (f"{int(size):,}" for size in np.quantile(sizes, (0.05, 0.5, 0.95)))
    kinds = len(next(iter(found.values())).recall)
    return [
        f"Parts were cut out of {len(hosts)} documents ({low}, {middle} and {high} bytes: 5 % are smaller, the median, "
        f"5 % are larger) and looked up among {len(texts):,}; {kinds} parts of each.",
        f"Called alike is what is contained by {per_cent(PROFILE.containment or 0.0, 0)}, or resembles by "
        f"{per_cent(PROFILE.resemblance or 0.0, 0)}; a "
        f"signature has {PROFILE.min_features} fingerprints or more.",
        "The expected number of keys that a part shares with its whole is its share of the whole times the keys of the "
        "whole: with 64 keys a part of 10 % shares 6 and is missed once in 600, a part of 1 % every second time.",
        "`standard` with the same threshold is there for comparison: it finds by resemblance, and reports containment "
        "only of what it has found.",
    ]


EXPERIMENT = Experiment(
    name="containment",
    title="Parts of larger documents, found by the fingerprints that they share",
    paper="-",
    repeats="Recall of planted parts, and its price in candidates and bytes.",
    run=run,
    options=ContainmentOptions,
    check=check,
)
