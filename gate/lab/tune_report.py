"""What `gate tune` has to say of its choice: sentences, tables, plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Fingerprinted, MinHash, ModN, WindowParameters
from gate.core.profile import Profile
from gate.lab.changes import KINDS, Kind
from gate.lab.experiment import Plot, Proportion, Row, Series, Table
from gate.lab.tune_changes import PURPOSES, ChangesFound
from gate.lab.tune_grid import WIDTH, Budget, HeldOutScore, ProfileTrial, TuningGoal

STEPS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))  # of the curve
LISTED = 12
STANDARD = BUILT_IN["standard"]


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
    return [*sentences, price_sentence(best, goal)]


def price_sentence(best: ProfileTrial, goal: TuningGoal) -> str:
    return (
        f"It takes {best.size:,} bytes and {best.seconds * 1000:.2f} ms of a processor a document. False candidates "
        f"that a look-up among {goal.size:,} documents has to compare: about {best.candidates:,.0f}."
    )


def format_share(share: Proportion) -> str:
    return "none" if share.share is None else f"{share.share:.1%} ({share.count:,} of {share.total:,})"


def describe_features(profile: Profile) -> str:
    if isinstance(profile.method, WindowParameters):
        return f"all runs of {profile.method.window} bytes"
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
    if isinstance(method, ModN):
        parts.append(f"up to {method.max_keys} of those whose fingerprint {method.sample} divides")
    alike = f", alike from an estimated resemblance of {profile.resemblance:g}" if profile.resemblance else ""
    return " and ".join(parts) + alike


def chosen_table(profile: Profile) -> Table:
    plain = Profile(name=profile.name, method=type(profile.method)()).parameters()
    standard = STANDARD.parameters()
    rows: list[Row] = [
        {
            "parameter": name,
            "value": toml_value(value),
            "standard": toml_value(standard[name]) if name in standard else "-",
        }
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


def explain_change_choice(
    best: ProfileTrial,
    found: Mapping[str, ChangesFound],
    goal: TuningGoal,
    kinds: Sequence[Kind],
    *,
    reached: bool,
) -> list[str]:
    """Why this profile: what is asked for, what each one found of it, what it takes."""
    name = best.profile.name
    sentences = [f"Asked for: {goal.recall:.0%} of copies changed by {', '.join(kinds)}, precision {goal.precision:g}."]
    made = f"`{name}`, made for {PURPOSES[name]},"
    if reached:
        sentences.append(f"{made} is the cheapest built-in profile that finds them.")
    else:
        sentences.append(
            f"No built-in profile finds that many. {made} finds most: ask for less, or check each document in under "
            "one profile for each kind of change."
        )
    sentences.append(f"It looks at {describe_features(best.profile)}, and finds by {describe_method(best.profile)}.")
    for change in dict.fromkeys(found[name].hardest([kind]) for kind in kinds):
        shares = [f"`{other}` {own.found[change.name].share or 0.0:.0%}" for other, own in found.items()]
        sentences.append(f"Of copies with {change.name}, {join_words(shares)} were found.")
    false = best.precision.total - best.precision.count
    sentences.append(f"{false or 'No'} {'pair' if false == 1 else 'pairs'} of unrelated texts called alike.")
    return [*sentences, price_sentence(best, goal)]


def advise(chosen: str, found: Mapping[str, ChangesFound], recall: float) -> list[str]:
    """A sentence for each kind of change that the chosen profile misses, with the built-in one that finds it."""
    sentences = []
    for kind in KINDS:
        if kind == "edits" or (found[chosen].least_found([kind]).share or 0.0) >= recall:
            continue
        change = found[chosen].hardest([kind])
        shares = {name: own.found[change.name].share or 0.0 for name, own in found.items()}
        best = max(shares, key=lambda name: shares[name])
        if shares[best] > shares[chosen]:
            sentences.append(
                f"Of copies with {change.name} it finds {shares[chosen]:.0%}, and `{best}` {shares[best]:.0%}: if "
                f"yours are like that, ask for --changes {kind}."
            )
    return sentences


def join_words(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
