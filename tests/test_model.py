"""The values that travel through the gate."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from gate.model import CheckIn, Degraded, Match, Relation, Verdict

SECRET_TEXT = "the words of the document"


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    texts, maybe = st.text(max_size=8), st.none() | st.text(max_size=8)
    shares = st.none() | st.floats(0, 1).map(lambda share: round(share, 4))
    match = st.builds(
        Match,
        document_id=texts,
        version=maybe,
        relation=st.sampled_from(Relation),
        distance=st.none() | st.integers(0, 64),
        resemblance=shares,
        containment=shares,
    )
    return draw(
        st.builds(
            Verdict,
            document_id=texts,
            version=maybe,
            similar=st.booleans(),
            relation=st.sampled_from(Relation),
            matches=st.lists(match, max_size=3).map(tuple),
            group=texts,
            fingerprint=st.none() | st.just("0123456789abcdef"),
            content_id=texts,
            profile=texts,
            features=st.none() | st.integers(0),
            candidates=st.integers(0, 256),
            degraded=st.lists(st.sampled_from(Degraded), max_size=2).map(tuple),
            verdict_id=texts,
            source=maybe,
            title=maybe,
        )
    )


@pytest.mark.slow
@given(verdicts())
def test_every_verdict_converts_to_json_and_to_the_same_dict(verdict: Verdict) -> None:
    fields = verdict.to_dict()
    assert json.loads(verdict.to_json()) == fields
    assert list(fields) == list(Verdict.__struct_fields__)
    assert (fields["relation"], fields["title"]) == (verdict.relation.value, verdict.title)
    assert fields["matches"] == [match.to_dict() for match in verdict.matches]
    assert "\n" not in verdict.to_json()


def test_a_check_in_shows_neither_its_text_nor_its_title_when_it_is_printed() -> None:
    shown = repr(CheckIn(document_id="a", text=SECRET_TEXT, title=SECRET_TEXT, version="2", source="mail"))
    assert shown == "CheckIn(document_id='a', version='2', source='mail')"


@pytest.mark.parametrize("struct", [Match, Verdict])
def test_every_field_that_goes_out_is_described(struct: Any) -> None:
    hints = get_type_hints(struct, include_extras=True)
    described = {
        name
        for name, hint in hints.items()
        if any(isinstance(note, Meta) and note.description for note in getattr(hint, "__metadata__", ()))
    }
    assert described == set(struct.__struct_fields__)
