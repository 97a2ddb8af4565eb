"""The demonstration corpus: the same for the same seed, and judged as it says."""

from __future__ import annotations

from gate import Gate
from gate.demo import corpus


def test_a_seed_draws_the_same_documents_and_another_one_other_unrelated_ones() -> None:
    assert corpus(7, 10) == corpus(7, 10)
    first, other = corpus(7, 10), corpus(8, 10)
    assert [plant.document.document_id for plant in first] == [plant.document.document_id for plant in other]
    same = {one.story for one, another in zip(first, other) if one.document.text == another.document.text}
    assert "unrelated" not in same
    assert "original" in same


def test_there_are_as_many_unrelated_documents_as_asked_for() -> None:
    for count in (0, 1, 25):
        assert sum(plant.story == "unrelated" for plant in corpus(7, count)) == count


def test_the_gate_finds_what_was_planted() -> None:
    plants = corpus()
    with Gate() as gate:
        verdicts = gate.check_in([plant.document for plant in plants])
    assert [verdict.relation for verdict in verdicts] == [plant.expected for plant in plants]
    originals = {plant.of for plant, verdict in zip(plants, verdicts) if verdict.similar}
    assert {verdict.matches[0].document_id for verdict in verdicts if verdict.similar} == originals
