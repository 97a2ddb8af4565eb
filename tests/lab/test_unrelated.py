"""The distance of unrelated documents, measured on a sample, predicts the candidates of all."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import SimHash
from gate.core.method_registry import method_of
from gate.core.plan import plan
from gate.errors import ConfigError
from gate.lab.scores import find_candidates, sign
from gate.lab.truth import Corpus
from gate.lab.unrelated import measure_unrelated
from tests.lab.lab_samples import unrelated_documents

# Words of one small vocabulary, so that texts share as much as those of one kind do.
DOCUMENTS = unrelated_documents(400, words=150)
WIDE = replace(BUILT_IN["roth-2013"], name="wide", method=SimHash(radius=16, weights="set"))


@pytest.mark.slow
def test_the_candidates_of_all_documents_are_predicted_within_a_factor_of_two() -> None:
    method = method_of(WIDE)
    left, _ = find_candidates(method, sign(method, DOCUMENTS.texts))
    sample = Corpus("sample", DOCUMENTS.ids[:100], DOCUMENTS.texts[:100])
    unrelated = measure_unrelated(sample, WIDE)
    expected = plan(WIDE, len(DOCUMENTS), unrelated).expected_candidates
    found = 2 * len(left) / len(DOCUMENTS)
    assert found > 0.1
    assert found / 2 < expected < found * 2


def test_copies_are_not_unrelated() -> None:
    texts = [*DOCUMENTS.texts[:40], *(f"{text} and more" for text in DOCUMENTS.texts[:40])]
    with_copies = Corpus("copies", [str(i) for i in range(80)], texts)
    alone = Corpus("alone", [str(i) for i in range(40)], texts[:40])
    measured = [measure_unrelated(one, WIDE) for one in (with_copies, alone)]
    assert measured[0].mean == pytest.approx(measured[1].mean, abs=0.5)
    assert measured[0].variance == pytest.approx(measured[1].variance, rel=0.15)


def test_a_profile_without_fingerprints_and_a_corpus_without_documents_are_refused() -> None:
    with pytest.raises(ConfigError, match="minhash has no fingerprint"):
        measure_unrelated(DOCUMENTS, BUILT_IN["minhash"])
    few = Corpus("few", ["a", "b"], DOCUMENTS.texts[:2])
    with pytest.raises(ConfigError, match="few has 2 different documents"):
        measure_unrelated(few, WIDE)


def test_equal_documents_count_once() -> None:
    doubled = Corpus("doubled", [str(i) for i in range(60)], [*DOCUMENTS.texts[:30]] * 2)
    assert np.isclose(
        measure_unrelated(doubled, WIDE).mean,
        measure_unrelated(Corpus("once", [str(i) for i in range(30)], DOCUMENTS.texts[:30]), WIDE).mean,
    )
