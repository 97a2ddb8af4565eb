"""The verdicts on the compiled kernel are those on numpy, over a stream of every kind of document."""

from __future__ import annotations

from collections import Counter

import pytest

from gate import CheckIn, Gate
from gate.core.native import loader
from gate.core.native.kernel import Kernel
from load.kernel_verdicts import differences, stream


@pytest.mark.parametrize("profile", ["standard", "roth-2013"])
def test_the_verdicts_are_the_same_in_every_field(kernel: Kernel, profile: str) -> None:
    with loader.using(kernel):
        assert differences(400, seed=3, profile=profile, secret=b"") == (423, 0)


def test_a_kernel_that_signs_otherwise_is_seen(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprints = Kernel.fingerprints
    monkeypatch.setattr(Kernel, "fingerprints", lambda *arguments: fingerprints(*arguments) ^ 1)
    with loader.using(kernel):
        verdicts, differing = differences(100, seed=3, profile="simhash", secret=b"")
    assert 0 < differing <= verdicts


def test_the_stream_holds_every_relation_and_deletes() -> None:
    items = list(stream(800, seed=3))
    documents = [item for item in items if isinstance(item, CheckIn)]
    relations = Counter(verdict.relation.value for verdict in Gate().check_in(documents))
    assert {"new", "exact", "near", "revision", "too_short", "empty"} <= relations.keys()
    assert any(isinstance(item, str) for item in items)
