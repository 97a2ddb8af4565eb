"""Scores as tables: Markdown for people, rows for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.core.profile import Profile
from gate.lab.experiment import Proportion
from gate.lab.scores import BANDS, EQUAL, SLACK, PairScores
from load.quality_stream import StreamScores

Row = dict[str, Any]

# What `standard` is chosen for: recall by band, and precision.
TARGETS = {">= .9": 0.999, ".8 - .9": 0.99}
PRECISION = 0.999


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Rows of one shape. A value is a number, a text, or `Found`, which is shown as per cent and count."""

    title: str
    rows: Sequence[Row]

    def markdown(self) -> str:
        columns = list(dict.fromkeys(column for row in self.rows for column in row))
        lines = [f"### {self.title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line([shown(row.get(column)) for column in columns]) for row in self.rows]
        return "\n".join(lines) + "\n"

    def plain(self) -> list[Row]:
        return [{column: _plain(value) for column, value in row.items()} for row in self.rows]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def shown(value: object) -> str:
    if isinstance(value, Proportion):
        return f"{per_cent(value.share)} ({value.total:,})" if value.total else "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def per_cent(share: float | None) -> str:
    """Two places, rounded down: 99.996 is not 100."""
    return "-" if share is None else f"{int(share * 10_000 + 1e-9) / 100:.2f}"


def _plain(value: object) -> object:
    return {"found": value.count, "of": value.total} if isinstance(value, Proportion) else value


def recall_table(profile: Profile, scores: Mapping[str, PairScores]) -> ScoreTable:
    rows: list[Row] = []
    for name, score in scores.items():
        for stage, found in (("candidates", score.candidate_recall), ("alike", score.match_recall)):
            rows.append({"set": name, "stage": stage} | {band: found[band] for band in (EQUAL, *BANDS)})
    return ScoreTable(f"{profile.ref}, pairwise: recall in per cent, by band of J (pairs)", rows)


def precision_table(profile: Profile, scores: Mapping[str, PairScores]) -> ScoreTable:
    rows: list[Row] = [
        {
            "set": name,
            "documents": score.documents,
            "candidates a document": score.candidates / score.documents if score.documents else None,
            "of them J < .5": score.false_candidates / score.documents if score.documents else None,
            "called alike": score.precise.total,
            "false (J < .5)": score.precise.total - score.precise.count,
            "precision J >= .5": score.precise,
        }
        | ({f"precision J >= {profile.resemblance - SLACK:.2f}": score.strict} if profile.resemblance else {})
        for name, score in scores.items()
    ]
    return ScoreTable(f"{profile.ref}, pairwise: precision in per cent (pairs called alike)", rows)


def stream_table(profile: Profile, scores: Mapping[str, StreamScores]) -> ScoreTable:
    rows: list[Row] = [
        {"set": name, "documents": score.documents}
        | {band: score.flagged[band] for band in (EQUAL, *BANDS)}
        | {
            "flagged": score.precise.total,
            "false": score.precise.total - score.precise.count,
            "precision": score.precise,
            "matches named": score.named,
        }
        for name, score in scores.items()
    ]
    return ScoreTable(
        f"{profile.ref}, in the stream: documents flagged, per cent by their best J with an earlier accepted one", rows
    )


def plan_table(profile: Profile, scores: Mapping[str, PairScores]) -> ScoreTable:
    rows: list[Row] = []
    for name, score in scores.items():
        if any(score.candidate_recall[band].total for band in BANDS):
            rows.append({"set": name, "recall": "measured"} | {band: score.candidate_recall[band] for band in BANDS})
            rows.append({"set": name, "recall": "planned"} | {b: per_cent(score.planned[b]) for b in BANDS})
    return ScoreTable(f"{profile.ref}: recall of the candidates beside what `gate plan` says of the same pairs", rows)


def target_table(
    profile: Profile, pairs: Mapping[str, PairScores], streams: Mapping[str, StreamScores] | None = None
) -> ScoreTable:
    """Where the targets are met and where not, and by how much."""
    rows: list[Row] = []
    for name, score in pairs.items():
        rows += _held(name, "pairwise", score.match_recall, score.precise)
        if streams and name in streams:
            rows += _held(name, "stream", streams[name].flagged, streams[name].precise)
    return ScoreTable(f"{profile.ref}: the targets", rows)


def _held(name: str, how: str, recall: Mapping[str, Proportion], precise: Proportion) -> list[Row]:
    about: Row = {"set": name, "measured": how}
    if not any(found.total for found in recall.values()):
        outcome = f"missed by {precise.total}" if precise.total else "reached"
        return [about | {"target": "no match at all", "reached": f"{precise.total} matches", "outcome": outcome}]
    rows: list[Row] = []
    wanted = [(f"recall at {band}", recall[band], least) for band, least in TARGETS.items()]
    for what, found, least in (*wanted, ("precision J >= .5", precise, PRECISION)):
        if found.share is not None:
            outcome = "reached" if found.share >= least else f"missed by {per_cent(least - found.share)}"
            rows.append(about | {"target": f"{what}: {per_cent(least)}", "reached": found, "outcome": outcome})
    return rows
