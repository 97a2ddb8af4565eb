"""A verdict says which limits were hit."""

from __future__ import annotations

import pytest

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.limits import Limits
from gate.model import CheckIn, Degraded

LONG = " ".join(f"word{n}" for n in range(400))


@pytest.mark.parametrize("profile", sorted(BUILT_IN))
def test_a_document_with_too_many_features_is_signed_by_the_first_and_its_verdict_says_so(profile: str) -> None:
    with Gate(profile, limits=Limits(max_features=100)) as gate:
        [beginning, whole] = gate.check_in(
            [
                CheckIn(document_id="beginning", text=" ".join(LONG.split()[:90])),
                CheckIn(document_id="whole", text=LONG),
            ]
        )
    counts_characters = BUILT_IN[profile].tokenizer == "characters"
    assert (Degraded.FEATURES_CAPPED in beginning.degraded) == counts_characters
    assert whole.degraded == (Degraded.FEATURES_CAPPED,)
    assert whole.features is not None
    is_sampled = BUILT_IN[profile].method.name in ("mod-n", "bsw-n")  # they count what they keep of the windows
    assert is_sampled or whole.features > 100


def test_documents_that_begin_alike_are_alike_where_the_rest_is_left_out() -> None:
    other = " ".join(LONG.split()[:102] + [f"other{n}" for n in range(400)])
    with Gate(limits=Limits(max_features=100)) as gate:
        first, second = gate.check_in([CheckIn(document_id="a", text=LONG), CheckIn(document_id="b", text=other)])
        assert not first.similar
        assert second.similar
        assert second.matches[0].resemblance == 1.0
        [again] = gate.check_in([CheckIn(document_id="b", text=other)])
        assert again.degraded == second.degraded == (Degraded.FEATURES_CAPPED,)
        [looked] = gate.preview([CheckIn(document_id="c", text=other)])
        assert looked.degraded == (Degraded.FEATURES_CAPPED,)


def test_a_document_with_as_many_features_as_allowed_is_signed_in_full() -> None:
    with Gate(limits=Limits(max_features=398)) as gate:
        [verdict] = gate.check_in([CheckIn(document_id="a", text=LONG)])
    assert verdict.features == 398
    assert verdict.degraded == ()
