"""Short documents of one template, generated."""

from __future__ import annotations

from collections import Counter

import numpy as np

from gate.lab.short_documents import LARGEST, SMALLEST, short_documents


def test_documents_are_as_short_as_those_of_the_paper() -> None:
    sizes = [len(text.encode()) for text in short_documents(300, np.random.default_rng(1)).texts]
    assert SMALLEST - 20 <= min(sizes) < 700
    assert 1400 < max(sizes) <= LARGEST + 20


def test_a_few_are_versions_of_another_and_all_have_a_template_in_common() -> None:
    documents = short_documents(300, np.random.default_rng(1))
    sizes = Counter(documents.clusters.values())
    assert 2 <= sum(size - 1 for size in sizes.values()) <= 30
    assert all("document identifier" in text.lower() for text in documents.texts)
    a, b = next(
        [i for i, name in enumerate(documents.ids) if documents.clusters[name] == work][:2]
        for work, size in sizes.items()
        if size > 1
    )
    assert documents.texts[a] != documents.texts[b]
    assert documents.jaccard(np.array([a]), np.array([b]))[0] > 0.5


def test_the_same_seed_makes_the_same_documents() -> None:
    made = [list(short_documents(20, np.random.default_rng(seed)).texts) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
