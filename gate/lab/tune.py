"""Choose a profile for a corpus: plant edits in a sample, measure a grid of profiles, take the cheapest
that finds enough and errs seldom enough, and measure that one again on other edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from textwrap import wrap
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Fingerprinted, MinHash
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.cautions import cautions
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
)
from gate.lab.planting import FEW_WORDS, add_copies
from gate.lab.quality import draw_sample
from gate.lab.scores import among_first_documents, judge_all
from gate.lab.truth import LEAST, Corpus, DocumentPairs
from gate.lab.tune_grid import WIDTH, ProfileTrial, TuningGoal, feature_profiles, measure, sure

Budget = Literal["balanced", "candidates", "bytes", "docs/s"]
OFFSETS = (0.0, 0.02, 0.04, 0.06, 0.08, -0.1, -0.2, 0.12)  # of J of the planted copies from what is asked for
PROVED = 20  # profiles that are measured again, the cheapest first, until one holds on other edits
ENOUGH = 30  # pairs in the band that recall is measured in
STEPS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))  # of the curve
LISTED = 12
STANDARD = BUILT_IN["standard"]


class TuneOptions(ExperimentOptions, frozen=True, kw_only=True):
    recall: Annotated[float, Meta(gt=0.0, lt=1.0, description="Share of copies to be found.")] = 0.95
    at: Annotated[float, Meta(ge=0.5, le=0.95, description="Resemblance of the copies: J of 3-word shingles.")] = 0.8
    budget: Annotated[
        Budget, Meta(description="What to spend least of; balanced: the product of all three is least.")
    ] = "balanced"
    precision: Annotated[
        float, Meta(gt=0.0, le=1.0, description="Share of pairs called alike that must have J >= .5.")
    ] = 0.99
    documents: Annotated[int, Meta(ge=30, description="Documents of the sample, copies not counted.")] = 1_000
    copies: Annotated[
        int, Meta(ge=50, description="Edited copies, at least; half of them are about as much alike as is asked for.")
    ] = 800
    size: Annotated[int, Meta(ge=1, description="Documents that the index will hold.")] = 1_000_000
    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", description="What the profile is called.")] = (
        "tuned"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """The chosen profile, whether it reaches what was asked for, and why it was chosen."""

    profile: Profile
    reached: bool
    reasons: Sequence[str]
    cautions: Sequence[str]
    curve: Sequence[tuple[float, Proportion]]
    report: ExperimentReport


def tune(corpus: Corpus, options: TuneOptions, progress: ProgressTracker) -> TuningResult:
    check(options)
    rng = np.random.default_rng(options.seed)
    goal = TuningGoal(recall=options.recall, at=options.at, precision=options.precision, size=options.size)
    sample = draw_sample(corpus, options.documents, rng)
    wary = cautions(sample)
    levels = tuple(min(max(options.at + offset, 0.3), 0.99) for offset in OFFSETS)
    copies = max(len(sample), options.copies)
    trial, proof = [add_copies(sample, copies, rng, levels) for _ in progress(("trial", "proof"), "planting edits")]
    if problem := too_few(trial, goal):
        raise ConfigError(problem, *wary.warnings)
    trials: list[ProfileTrial] = []
    for features in progress(feature_profiles(wary.spaceless), "measuring profiles"):
        trials += measure(trial, features, goal)
    fit = rank(trials, goal, options.budget)
    best, again, reached = choose(trials, fit, proof, goal, progress)
    profile = replace(best.profile, name=options.name)
    measured = {"chosen": profile, "standard": STANDARD}
    curves = {name: curve(proof, measured[name]) for name in progress(tuple(measured), "the curve")}
    reasons = explain_choice(best, again, trials, goal, options.budget, reached=reached)
    return TuningResult(
        profile=profile,
        reached=reached,
        reasons=reasons,
        cautions=wary.warnings,
        curve=curves["chosen"],
        report=ExperimentReport(
            conclusion=" ".join(reasons),
            sections=[
                Section("The chosen profile", [chosen_table(profile)]),
                Section("Recall by resemblance", [curve_plot(curves, goal), curve_table(curves)]),
                Section("What the profiles take that reach it", [price_plot(fit, best, goal), tried_table(fit, goal)]),
            ],
            notes=[f"Beware: {warning}." for warning in wary.warnings],
        ),
    )


def check(options: TuneOptions) -> None:
    if options.precision < 0.5:
        raise ConfigError("--precision: below .5 most matches would be false; ask for more")


def too_few(trial: Corpus, goal: TuningGoal) -> str:
    """Whether too few copies are as much alike as is asked for to measure anything."""
    jaccard = trial.pairs.jaccard
    enough = int(((jaccard >= goal.at) & (jaccard < goal.at + WIDTH)).sum())
    if enough >= ENOUGH:
        return ""
    return (
        f"corpus: only {enough} copies with J from {goal.at:g} to {goal.at + WIDTH:g} could be made of "
        f"{trial.name}, and {ENOUGH} are needed to measure anything; give more documents of {FEW_WORDS} words or more"
    )


def choose(
    trials: Sequence[ProfileTrial],
    fit: Sequence[ProfileTrial],
    proof: Corpus,
    goal: TuningGoal,
    progress: ProgressTracker,
) -> tuple[ProfileTrial, HeldOutScore, bool]:
    """The cheapest that reaches everything, on other edits too: the first of many is often the one that was lucky.
    Or else the one that finds most, of those precise enough."""
    for trial in progress(fit[:PROVED], "measuring on other edits"):
        again = prove(proof, trial.profile, goal)
        if (again.recall.share or 0.0) >= goal.recall and (again.precision.share or 0.0) >= goal.precision:
            return trial, again, True
    precise = [trial for trial in trials if (trial.precision.share or 0.0) >= goal.precision] or list(trials)
    most = max(precise, key=lambda trial: (sure(trial.recall), -trial.candidates))
    return most, prove(proof, most.profile, goal), False


def rank(trials: Sequence[ProfileTrial], goal: TuningGoal, budget: Budget) -> list[ProfileTrial]:
    """All that reach what is wanted, the cheapest first."""
    fit = [trial for trial in trials if trial.reaches(goal)]

    def prices(trial: ProfileTrial) -> dict[str, float]:
        # One candidate more or less is nothing beside the look-up itself; time is measured, so only its size counts.
        return {"candidates": 1.0 + trial.candidates, "bytes": float(trial.size), "docs/s": trial.seconds}

    def key(trial: ProfileTrial) -> tuple[float, float]:
        own = prices(trial)
        return own.get(budget, prod(own.values())), own["candidates"] * own["bytes"]  # what does not change by itself

    return sorted(fit, key=key)


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """What a profile found on edits that it was not chosen by: in the band that is asked for, and of all it called."""

    recall: Proportion
    precision: Proportion


def prove(documents: Corpus, profile: Profile, goal: TuningGoal) -> HeldOutScore:
    """Measure a profile as the gate would run it."""
    called, truth = matches_of(documents, profile).jaccard, documents.pairs.jaccard
    inside = [int(((side >= goal.at) & (side < goal.at + WIDTH)).sum()) for side in (called, truth)]
    return HeldOutScore(Proportion(*inside), Proportion(int((called >= LEAST).sum()), len(called)))


def matches_of(documents: Corpus, profile: Profile) -> DocumentPairs:
    pairs = judge_all(documents, profile)
    among = among_first_documents(documents, pairs.left, pairs.right) & pairs.is_match
    left, right = pairs.left[among], pairs.right[among]
    return DocumentPairs(left, right, documents.known(left, right))


def curve(documents: Corpus, profile: Profile) -> list[tuple[float, Proportion]]:
    """Recall by resemblance, in steps of .05."""
    called, truth = matches_of(documents, profile).jaccard, documents.pairs.jaccard
    return [
        (low, Proportion(*(int(((side >= low) & (side < low + 0.05)).sum()) for side in (called, truth))))
        for low in STEPS
    ]


def explain_choice(
    best: ProfileTrial,
    again: HeldOutScore,
    trials: Sequence[ProfileTrial],
    goal: TuningGoal,
    budget: Budget,
    *,
    reached: bool,
) -> list[str]:
    fit = sum(trial.reaches(goal) for trial in trials)
    upper = min(goal.at + WIDTH, 1.0)
    sentences = [
        f"Asked for: recall {goal.recall:g} of pairs with J from {goal.at:g} to {upper:g}, precision "
        f"{goal.precision:g}."
    ]
    if reached:
        least = {"balanced": "bytes x candidates x time", "docs/s": "time"}.get(budget, budget)
        sentences.append(
            f"{len(trials)} profiles were measured and {fit} reached that, with nine chances in ten that chance did "
            f"not help; of those that reach it on other edits too, this one takes the least {least}."
        )
    else:
        sentences.append(
            f"None of the {len(trials)} profiles reached that. This one finds most of those that are precise enough: "
            "ask for less recall, for a higher J, or for less precision."
        )
    sentences.append(f"It looks at {describe_features(best.profile)}, and finds by {describe_method(best.profile)}.")
    sentences.append(
        f"On other edits of the same documents it found {format_share(again.recall)} of those pairs, and "
        f"{format_share(again.precision)} of all pairs that it called alike have J >= .5."
    )
    sentences.append(
        f"It takes {best.size:,} bytes and {best.seconds * 1000:.2f} ms of a processor a document. False candidates "
        f"that a look-up among {goal.size:,} documents has to compare: about {best.candidates:,.0f}."
    )
    return sentences


def format_share(share: Proportion) -> str:
    return "none" if share.share is None else f"{share.share:.1%} ({share.count:,} of {share.total:,})"


def describe_features(profile: Profile) -> str:
    unit = {"words": "words", "soundex": "Soundex codes of words", "characters": "characters"}[profile.tokenizer]
    less = " without stop words" if profile.drop_stop_words else ""
    return f"single {unit}{less}" if profile.gram == 1 else f"{unit}{less} in runs of {profile.gram}"


def describe_method(profile: Profile) -> str:
    parts = []
    method = profile.method
    if isinstance(method, Fingerprinted):
        parts.append(f"SimHash within {method.radius} bits (weights {method.weights})")
    if isinstance(method, MinHash):
        parts.append(f"{method.bands} bands of {method.rows} of {method.bins} MinHash bins")
    alike = f", alike from an estimated resemblance of {profile.resemblance:g}" if profile.resemblance else ""
    return " and ".join(parts) + alike


def chosen_table(profile: Profile) -> Table:
    plain = Profile(name=profile.name, method=type(profile.method)()).parameters()
    standard = STANDARD.parameters()  # a hybrid: it has the parameters of every method that is tried
    rows: list[Row] = [
        {"parameter": name, "value": toml_value(value), "standard": toml_value(standard[name])}
        for name, value in profile.parameters().items()
        if name in ("tokenizer", "gram", "method", "resemblance") or value != plain[name]
    ]
    return Table(name="profile", title="The chosen profile, where it differs from the defaults", rows=rows)


def curve_table(curves: dict[str, list[tuple[float, Proportion]]]) -> Table:
    rows: list[Row] = [
        {"J from": low, "J to": round(low + 0.05, 2), **{name: own[step][1] for name, own in curves.items()}}
        for step, low in enumerate(STEPS)
    ]
    return Table(name="curve", title="Recall by resemblance, on edits that were not used to choose", rows=rows)


def tried_table(fit: Sequence[ProfileTrial], goal: TuningGoal) -> Table:
    rows: list[Row] = [
        {
            "looks at": describe_features(trial.profile),
            "finds by": describe_method(trial.profile),
            "recall": trial.recall,
            "precision": trial.precision,
            "pairs compared": trial.compared,
            "bytes": trial.size,
            f"candidates at {goal.size:,}": trial.candidates,
            "ms": trial.seconds * 1000,
        }
        for trial in fit[:LISTED]
    ]
    return Table(name="tried", title=f"The profiles that reach it, cheapest first (at most {LISTED})", rows=rows)


def curve_plot(curves: dict[str, list[tuple[float, Proportion]]], goal: TuningGoal) -> Plot:
    series = []
    for name, own in curves.items():
        points = [(low + 0.025, share.share) for low, share in own if share.share is not None]
        series.append(Series(label=name, x=[x for x, _ in points], y=[y for _, y in points]))
    return Plot(
        name="curve",
        title="Recall by resemblance: the chosen profile beside `standard`",
        x_label="J of the pair",
        y_label="recall",
        series=series,
        y_range=(-0.02, 1.02),
        marks={"asked for from here": goal.at},
        levels={f"recall {goal.recall:g}": goal.recall},
    )


def price_plot(fit: Sequence[ProfileTrial], best: ProfileTrial, goal: TuningGoal) -> Plot:
    groups = {
        method: [trial for trial in fit if trial.profile.method.name == method]
        for method in ("simhash", "minhash", "hybrid")
    }
    series = [
        Series(label=name, x=[float(trial.size) for trial in own], y=[trial.candidates for trial in own])
        for name, own in (groups | {"chosen": [best]}).items()
        if own
    ]
    return Plot(
        name="price",
        title=f"What the profiles take that reach recall {goal.recall:g} and precision {goal.precision:g}",
        x_label="bytes a document",
        y_label=f"false candidates at a look-up among {goal.size:,}",
        kind="points",
        y_scale="log",
        series=series,
    )


def toml_value(value: object) -> str:
    """A value in TOML; `false` turns a threshold off."""
    return "false" if value is None else msgspec.json.encode(value).decode()


def render_toml(tuned: TuningResult) -> str:
    """The profile as a file that --profile takes, with the reasons and the curve as comments."""
    sentences = ("Chosen by `gate tune`.", *tuned.reasons, *(f"Beware: {caution}." for caution in tuned.cautions))
    lines = [f"# {line}" for sentence in sentences for line in wrap(sentence, 100)]
    lines += ["#", "# J of a pair    recall on other edits"]
    lines += [f"# {low:.2f} - {low + 0.05:.2f}    {format_share(share)}" for low, share in tuned.curve if share.total]
    lines.append("")
    lines += [f"{name} = {toml_value(value)}" for name, value in tuned.profile.parameters().items()]
    return "\n".join(lines) + "\n"


def _run(corpus: Corpus, options: TuneOptions, progress: ProgressTracker) -> ExperimentReport:
    return tune(corpus, options, progress).report


EXPERIMENT = Experiment(
    name="tune",
    title="A profile for these documents",
    paper="-",
    repeats="Edits planted in a sample, a grid of profiles measured, the cheapest that reaches what was asked for",
    run=_run,
    options=TuneOptions,
    check=check,
)
