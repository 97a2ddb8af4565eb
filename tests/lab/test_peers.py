"""Other libraries: named where they are not installed, and scored like a profile."""

from __future__ import annotations

import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.lab import peers
from gate.lab.experiment import ExperimentReport, Proportion, Table, no_progress
from gate.lab.peers import PEERS, PeerLibrary
from gate.lab.quality import QualityOptions, run
from gate.lab.scores import score_pairs
from gate.lab.truth import Corpus
from tests.lab.lab_samples import unrelated_documents

STANDARD = (BUILT_IN["standard"],)


def table(report: ExperimentReport, name: str) -> Table:
    return next(one for one in report.tables if one.name == name)


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = PeerLibrary(
        name="absent", package="no_such_package_at_all", how="-", body_bytes=1, find_matches=PEERS[0].find_matches
    )
    monkeypatch.setattr(peers, "PEERS", (absent,))
    report = run(unrelated_documents(5), QualityOptions(profiles=STANDARD, plant="no"), no_progress)
    assert table(report, "methods").rows[-1] == {"method": "absent", "how": "not installed"}
    assert any("Not installed" in note and "absent" in note for note in report.notes)


def test_what_a_peer_finds_is_scored_like_what_a_profile_finds() -> None:
    def equal_ones(texts: object) -> object:
        yield from ([], [0], [], [0, 2])

    peer = PeerLibrary(name="p", package="gate", how="-", body_bytes=1, find_matches=equal_ones)  # type: ignore[arg-type]
    texts = ["a b c d e f g h", "a b c d e f g x", "t u v w x y z", "a b c d e f g y"]
    four = Corpus("four", ["a", "b", "c", "d"], texts)
    score = score_pairs(four, peers.judge_all(four, peer, texts))
    assert score.precise == Proportion(2, 3)
    assert score.match_recall[".7 - .8"] == Proportion(2, 3)
