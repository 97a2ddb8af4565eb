"""The built-in profiles that differ in what they are for, measured on copies of every kind of change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from gate.core.builtin_profiles import BUILT_IN
from gate.core.judge import alike
from gate.core.method_registry import Method, method_of
from gate.core.plan import plan
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.changes import CHANGES, ChangeContext, CopyChange, Kind
from gate.lab.experiment import Proportion, Row, Table
from gate.lab.planting import FEW_WORDS, pieces, vocabulary
from gate.lab.scores import Flags, compare_pairs, find_candidates, sign
from gate.lab.truth import Corpus, Ints
from gate.lab.tune_grid import ProfileTrial

PURPOSES: Mapping[str, str] = {
    "standard": "edited copies",
    "containment": "parts of each other, and the same text in another order or frame",
    "scans": "recognised text with its errors",
}
WORKS = 400  # looked up among
COPIED = 200  # of them
LEAST_COPIED = 30
RELATED = 0.1  # J of two originals from which on a match of the one with a copy of the other is not false


@dataclass(frozen=True, slots=True)
class ChangedCopies:
    """Originals, one of each work, and copies of some of them by every change."""

    originals: Corpus
    copied: Ints
    copies: Mapping[str, Sequence[str]]  # by the name of the change


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesFound:
    """What a profile found of each change, what it called alike wrongly, and what it takes."""

    profile: Profile
    found: Mapping[str, Proportion]
    false: int  # pairs of texts that have next to nothing in common
    false_candidates: int
    pairs: int  # of originals
    seconds: float  # of the processor, a document

    def hardest(self, kinds: Collection[Kind]) -> CopyChange:
        """The typical change of these kinds that is found least."""
        typical = [change for change in CHANGES if change.typical and change.kind in kinds]
        return min(typical, key=lambda change: self.found[change.name].share or 0.0)

    def least_found(self, kinds: Collection[Kind]) -> Proportion:
        return self.found[self.hardest(kinds).name]

    def trial(self, kinds: Collection[Kind], size: int) -> ProfileTrial:
        called = sum(share.count for share in self.found.values())
        expected = plan(self.profile, size)
        rate = (self.false_candidates + 1) / max(self.pairs, 1)
        return ProfileTrial(
            profile=self.profile,
            recall=self.least_found(kinds),
            precision=Proportion(called, called + self.false),
            compared=self.false_candidates,
            candidates=max(rate * size, expected.expected_candidates),
            size=sum(expected.bytes_per_document.values()),
            seconds=self.seconds,
        )


def change_copies(
    corpus: Corpus, rng: np.random.Generator, *, works: int = WORKS, copied: int = COPIED
) -> ChangedCopies:
    names: dict[str, int] = {}
    for i in rng.permutation(len(corpus)).tolist():
        if len(pieces(corpus.texts[i])) >= FEW_WORDS:
            names.setdefault(corpus.clusters.get(corpus.ids[i], f"\0{corpus.first_equal[i]}"), i)
    chosen = sorted(list(names.values())[:works])
    if len(chosen) < LEAST_COPIED:
        raise ConfigError(
            f"corpus: {corpus.name} has {len(chosen)} different documents of {FEW_WORDS} words or more, and "
            f"{LEAST_COPIED} are needed to measure anything; give more"
        )
    originals = Corpus(corpus.name, [corpus.ids[i] for i in chosen], [corpus.texts[i] for i in chosen])
    picked = np.sort(rng.permutation(len(chosen))[:copied])
    words = vocabulary(originals.texts, rng)
    context = ChangeContext(rng=rng, words=words, boilerplate=[words[i] for i in rng.permutation(len(words)).tolist()])
    texts = [originals.texts[i] for i in picked.tolist()]
    return ChangedCopies(
        originals, picked, {change.name: [change.copy(text, context) for text in texts] for change in CHANGES}
    )


def measure_changes(changed: ChangedCopies, profile: Profile) -> ChangesFound:
    """Look every copy up among the originals, as the gate would."""
    method = method_of(profile)
    begun = process_time()
    bodies = sign(method, changed.originals.texts)
    left, right, verdicts = _pairs_called(method, profile, bodies)
    seconds = (process_time() - begun) / len(bodies)
    unrelated = changed.originals.jaccard(left, right) < RELATED
    false = int((unrelated & verdicts).sum())
    found = {}
    for change in CHANGES:
        copies = sign(method, changed.copies[change.name])
        left, right, verdicts = _pairs_called(method, profile, [*bodies, *copies])
        looked_up = verdicts & (left < len(bodies)) & (right >= len(bodies))
        matches, originals = left[looked_up], changed.copied[right[looked_up] - len(bodies)]
        own = matches == originals
        found[change.name] = Proportion(int(own.sum()), len(copies))
        false += int((changed.originals.jaccard(matches[~own], originals[~own]) < RELATED).sum())
    return ChangesFound(
        profile=profile,
        found=found,
        false=false,
        false_candidates=int(unrelated.sum()),
        pairs=len(bodies) * (len(bodies) - 1) // 2,
        seconds=seconds,
    )


def _pairs_called(method: Method, profile: Profile, bodies: Sequence[bytes]) -> tuple[Ints, Ints, Flags]:
    left, right = find_candidates(method, bodies)
    verdicts = [alike(measures, profile) for measures in compare_pairs(method, bodies, left, right)]
    return left, right, np.concatenate([*verdicts, np.empty(0, np.bool_)])


def built_in() -> list[Profile]:
    return [BUILT_IN[name] for name in PURPOSES]


def changes_table(found: Mapping[str, ChangesFound]) -> Table:
    rows: list[Row] = [
        {"change": change.name, "kind": change.kind} | {name: own.found[change.name] for name, own in found.items()}
        for change in CHANGES
    ]
    rows.append({"change": "false pairs", "kind": ""} | {name: own.false for name, own in found.items()})
    return Table(name="changes", title="Copies found, by what was done to them", rows=rows)
