"""What a profile finds as the gate sees the stream: every document checked in, one after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gate.api import Gate
from gate.core.profile import Profile
from gate.lab.experiment import Proportion
from gate.lab.scores import BANDS, EQUAL, Flags
from gate.lab.truth import LEAST, Corpus, Floats
from gate.model import CheckIn, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamScores:
    """One profile on one set, checked in document by document: by the best J with an earlier accepted document."""

    documents: int
    flagged: dict[str, Proportion]
    precise: Proportion  # documents flagged that have an earlier accepted one with J >= .5, or of the very same text
    named: Proportion  # documents named as matches with J >= .5, or as exact


def stream(documents: Corpus, profile: Profile) -> StreamScores:
    """Check the documents in, one after another in file order, and score what the gate said of each."""
    with Gate(profile) as gate:
        verdicts = gate.check_in(
            [CheckIn(document_id=name, text=text) for name, text in zip(documents.ids, documents.texts)]
        )
    similar = np.array([verdict.similar for verdict in verdicts], np.bool_)
    exact = np.array([verdict.relation is Relation.EXACT for verdict in verdicts], np.bool_)
    best = best_before(documents, ~similar)
    bands = {EQUAL: (1.0, np.inf)} | BANDS
    flagged = {}
    for band, (low, high) in bands.items():
        among = similar[(best >= low) & (best < high)]
        flagged[band] = Proportion(int(among.sum()), len(among))

    number = {name: i for i, name in enumerate(documents.ids)}
    matches = [(number[m.document_id], i, m.relation) for i, v in enumerate(verdicts) for m in v.matches]
    sides = [np.array([match[side] for match in matches], np.int64) for side in (0, 1)]
    true = documents.jaccard(sides[0], sides[1]) >= LEAST
    true |= np.array([match[2] is Relation.EXACT for match in matches], np.bool_)
    return StreamScores(
        documents=len(documents),
        flagged=flagged,
        precise=Proportion(int((similar & (exact | (best >= LEAST))).sum()), int(similar.sum())),
        named=Proportion(int(true.sum()), len(matches)),
    )


def best_before(documents: Corpus, accepted: Flags) -> Floats:
    """For each document the highest J with an earlier one that was accepted; 0 where none reaches LEAST."""
    best = np.zeros(len(documents))
    pairs = documents.alike
    counts = accepted[pairs.left]
    np.maximum.at(best, pairs.right[counts], pairs.jaccard[counts])
    return best
