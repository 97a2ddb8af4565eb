"""Choose a profile for a corpus: plant edits in a sample, measure a grid of profiles, take the cheapest
that finds enough and errs seldom enough, and measure that one again on other edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from textwrap import wrap
from typing import Annotated

import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.cautions import cautions
from gate.lab.changes import Kind
from gate.lab.experiment import (
    Experiment,
    ExperimentOptions,
    ExperimentReport,
    ProgressTracker,
    Proportion,
    Section,
)
from gate.lab.planting import FEW_WORDS, add_copies
from gate.lab.quality import draw_sample
from gate.lab.scores import among_first_documents, judge_all
from gate.lab.truth import LEAST, Corpus, DocumentPairs
from gate.lab.tune_changes import (
    ChangedCopies,
    ChangesFound,
    built_in,
    change_copies,
    changes_table,
    measure_changes,
)
from gate.lab.tune_grid import (
    WIDTH,
    Budget,
    HeldOutScore,
    ProfileTrial,
    TuningGoal,
    feature_profiles,
    measure,
    sure,
)
from gate.lab.tune_report import (
    STANDARD,
    STEPS,
    advise,
    chosen_table,
    curve_plot,
    curve_table,
    explain_change_choice,
    explain_choice,
    format_share,
    price_plot,
    toml_value,
    tried_table,
)

CHOSEN = "chosen"
OFFSETS = (0.0, 0.02, 0.04, 0.06, 0.08, -0.1, -0.2, 0.12)  # of J of the planted copies from what is asked for
PROVED = 20  # profiles that are measured again, the cheapest first, until one holds on other edits
ENOUGH = 30  # pairs in the band that recall is measured in


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
    changes: Annotated[
        tuple[Kind, ...],
        Meta(
            min_length=1,
            description="What was done to your copies; if not only edits, the cheapest of standard, containment and "
            "scans that finds them is chosen.",
        ),
    ] = ("edits",)
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
    changed = change_copies(sample, rng)
    found = {one.name: measure_changes(changed, one) for one in progress(built_in(), "other changes")}
    choice = (
        choose_by_edits(trial, proof, found, changed, goal, options, progress, spaceless=wary.spaceless)
        if set(options.changes) == {"edits"}
        else choose_by_changes(found, goal, options)
    )
    profile = replace(choice.profile, name=options.name)
    measured = {CHOSEN: profile, "standard": STANDARD}
    curves = {name: curve(proof, measured[name]) for name in progress(tuple(measured), "the curve")}
    return TuningResult(
        profile=profile,
        reached=choice.reached,
        reasons=choice.reasons,
        cautions=wary.warnings,
        curve=curves[CHOSEN],
        report=ExperimentReport(
            conclusion=" ".join(choice.reasons),
            sections=[
                Section("The chosen profile", [chosen_table(profile)]),
                Section("Recall by resemblance", [curve_plot(curves, goal), curve_table(curves)]),
                Section("Copies by what was done to them", [changes_table(choice.found)]),
                *choice.sections,
            ],
            notes=[f"Beware: {warning}." for warning in wary.warnings],
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A profile, and what speaks for it."""

    profile: Profile
    reached: bool
    reasons: list[str]
    found: Mapping[str, ChangesFound]
    sections: Sequence[Section] = ()


def choose_by_edits(
    trial: Corpus,
    proof: Corpus,
    found: Mapping[str, ChangesFound],
    changed: ChangedCopies,
    goal: TuningGoal,
    options: TuneOptions,
    progress: ProgressTracker,
    *,
    spaceless: bool,
) -> Choice:
    """The cheapest of a grid of profiles, and what it does not find of other changes."""
    trials: list[ProfileTrial] = []
    for features in progress(feature_profiles(spaceless), "measuring profiles"):
        trials += measure(trial, features, goal)
    fit = rank(trials, goal, options.budget)
    best, again, reached = choose(trials, fit, proof, goal, progress)
    found = {CHOSEN: measure_changes(changed, best.profile), **found}
    reasons = explain_choice(best, again, trials, goal, options.budget, reached=reached)
    return Choice(
        profile=best.profile,
        reached=reached,
        reasons=[*reasons, *advise(CHOSEN, found, goal.recall)],
        found=found,
        sections=[
            Section("What the profiles take that reach it", [price_plot(fit, best, goal), tried_table(fit, goal)])
        ],
    )


def choose_by_changes(found: Mapping[str, ChangesFound], goal: TuningGoal, options: TuneOptions) -> Choice:
    """The cheapest built-in profile that finds all that is asked for, or else the one that finds most."""
    trials = {name: own.trial(options.changes, goal.size) for name, own in found.items()}
    fit = rank(list(trials.values()), goal, options.budget)
    best = fit[0] if fit else max(trials.values(), key=lambda trial: sure(trial.recall))
    reasons = explain_change_choice(best, found, goal, options.changes, reached=bool(fit))
    return Choice(profile=best.profile, reached=bool(fit), reasons=reasons, found=found)


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
