"""Edited copies and the pairs of a corpus, by what the methods of Cherkasova et al. 2009 sample."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gate.core.method_registry import method_of
from gate.errors import ConfigError
from gate.lab.experiment import no_progress
from gate.lab.planting import pieces
from gate.lab.sampling import (
    Change,
    EditedVersions,
    SimilarPairs,
    clusters,
    curves,
    distinct,
    file_of,
    find_similar_pairs,
    insert_evenly,
    label,
    mean,
    profile_of,
    resemblances,
    sharing,
    sign_batches,
    versions,
)
from tests.lab.cherkasova_samples import CORPUS, TEXTS


@pytest.fixture(scope="module")
def edited() -> EditedVersions:
    return versions(sorted(TEXTS, key=len), [5, 40], np.random.default_rng(1), no_progress)


def test_copies_have_so_many_words_more_or_fewer() -> None:
    made = versions(TEXTS[:2], [3], np.random.default_rng(1), no_progress)
    for change, sign in ((Change.INSERTED, 3), (Change.SPREAD, 3), (Change.REMOVED, -3)):
        texts = [
            batch.points[a:b].tobytes().decode()
            for batch in made.copies[change, 3]
            for a, b in zip(batch.starts, batch.starts[1:])
        ]
        assert [len(pieces(text)) for text in texts] == [len(pieces(text)) + sign for text in TEXTS[:2]]


@pytest.mark.parametrize("method", ["mod-n", "min-n", "sketch-n", "bsw-n"])
def test_more_edits_and_wider_windows_leave_less_similarity(edited: EditedVersions, method: str) -> None:
    narrow, wide = (curves(profile_of(method, 30, window=w), edited, Change.INSERTED)["estimate"] for w in (8, 60))
    assert mean(narrow[5]) > mean(narrow[40])
    assert mean(wide[5]) > mean(wide[40])
    assert mean(narrow[40]) > mean(wide[40])


def test_entries_as_sets_show_less_than_the_estimates_of_min_and_sketch(edited: EditedVersions) -> None:
    made = {m: curves(profile_of(m, 30), edited, Change.INSERTED) for m in ("mod-n", "min-n", "sketch-n", "bsw-n")}
    entries = {name: mean(found["entries"][40]) for name, found in made.items()}
    for name in ("min-n", "sketch-n"):
        assert mean(made[name]["estimate"][40]) > entries[name]
    for name in ("mod-n", "bsw-n"):
        assert mean(made[name]["estimate"][40]) == entries[name]


def test_entries_of_a_sketch_are_values_at_their_positions() -> None:
    profile = profile_of("sketch-n", 4)
    left, right = (np.array(values, "<u4").tobytes() for values in ([1, 2, 3, 4], [1, 9, 2, 4]))
    assert resemblances(profile, [left], [right], "estimate").tolist() == [0.5]  # 2 of 4 positions
    assert resemblances(profile, [left], [right], "entries").tolist() == [2 / 6]  # 2 of 6 entries


def test_entries_of_the_smallest_are_what_both_kept_of_all_that_is_kept() -> None:
    profile = profile_of("min-n", 4)
    bodies = [len(v).to_bytes(4, "little") + np.array(v, "<u8").tobytes() for v in ([1, 2, 3, 4], [1, 2, 5, 6])]
    assert resemblances(profile, bodies[:1], bodies[1:], "entries").tolist() == [2 / 6]


def test_words_inserted_at_even_distances_are_nowhere_near_each_other() -> None:
    text = insert_evenly("w " * 100, 10)
    places = [i for i, word in enumerate(text.split()) if word == "a"]
    assert len(places) == 10
    assert {b - a for a, b in pairwise(places)} == {11}


def test_the_smallest_fingerprint_of_a_chunk_outlives_more_edits_than_its_hash(edited: EditedVersions) -> None:
    smallest, whole = (
        curves(profile_of("bsw-n", 100, plain=plain), edited, Change.INSERTED)["estimate"] for plain in (False, True)
    )
    assert mean(smallest[40]) > mean(whole[40])


def test_small_windows_find_something_in_common_where_there_is_nothing(edited: EditedVersions) -> None:
    narrow, wide = (find_similar_pairs(profile_of("mod-n", 20, window=w), edited.originals) for w in (4, 40))
    assert narrow.total == wide.total == 15
    assert len(narrow.left) == 15
    assert len(wide.left) == 0


def test_pairs_are_those_that_comparing_all_would_find() -> None:
    batches = [file_of([text], len(text)) for text in CORPUS.texts]
    for method in ("mod-n", "min-n", "sketch-n", "bsw-n"):
        profile = profile_of(method, 40)
        found = find_similar_pairs(profile, batches, 0.4)
        bodies = sign_batches(method_of(profile), batches)
        every = {}
        for b in range(len(bodies)):
            for a in range(b):
                [value] = method_of(profile).compare([bodies[a]], [bodies[b]]).resemblance  # type: ignore[misc]
                if value >= 0.4:
                    every[a, b] = value
        assert dict(zip(zip(found.left.tolist(), found.right.tolist()), found.similarity.tolist())) == every
        assert (3, 7) in every


def test_documents_that_share_too_little_to_be_similar_are_not_compared() -> None:
    bodies = [len(v).to_bytes(4, "little") + np.array(v, "<u8").tobytes() for v in ([1, 2, 3, 4], [1, 9], [3, 4, 5, 6])]
    assert [side.tolist() for side in sharing(bodies, 0.0)] == [[0, 0], [1, 2]]
    assert [side.tolist() for side in sharing(bodies, 0.5)] == [[0], [2]]


def test_clusters_are_all_documents_that_pairs_connect() -> None:
    pairs = SimilarPairs(np.array([0, 1, 5]), np.array([1, 2, 6]), np.array([0.9, 0.8, 0.5]), 28)
    assert clusters(pairs) == [[0, 1, 2], [5, 6]]
    assert clusters(pairs.from_(0.85)) == [[0, 1]]
    assert clusters(pairs.from_(0.95)) == []


def test_versions_of_one_work_are_one_document_and_short_ones_none() -> None:
    chosen = distinct(CORPUS, 100, 450, np.random.default_rng(1))
    lengths = [len(CORPUS.texts[i]) for i in chosen]
    assert lengths == sorted(lengths)
    assert len({3, 7} & set(chosen)) == 1
    assert not {0, 2} & set(chosen)
    with pytest.raises(ConfigError, match="words or more"):
        distinct(CORPUS, 100, 100_000, np.random.default_rng(1))


def test_a_file_of_any_size_is_made_of_what_there_is() -> None:
    assert file_of(["some words"], 100).points.size == 100


def test_algorithms_are_called_as_in_the_paper() -> None:
    assert label(profile_of("mod-n", 500)) == "Mod_500"
    assert label(profile_of("bsw-n", 100, plain=True)) == "BSW_100 plain"
