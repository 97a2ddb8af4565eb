"""What all methods share: the size of bodies, and bodies as rows of one array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.method import BodyLayout, bodies_of, stack, whole
from gate.core.method_parameters import BswN, MethodParameters, MinN, ModN, SketchN
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.text import normalise

TEXT = " ".join(f"{i * 7919 % 10_007:x}" for i in range(400))


@pytest.mark.parametrize("parameters", [ModN(), MinN(), BswN(), SketchN()])
def test_a_body_that_is_not_whole_is_recognised(parameters: MethodParameters) -> None:
    method = method_of(Profile(name="p", tokenizer="characters", method=parameters, min_features=1))
    [body] = method.sign(normalise([TEXT])).bodies
    assert method.layout.holds(body)
    assert method.layout.holds(b"")
    for broken in (body[:-1], body[:-8], body[:3], body + bytes(8)):
        assert not method.layout.holds(broken)


def test_a_body_of_one_size_is_whole_or_empty() -> None:
    layout = BodyLayout(12, {})
    assert [layout.holds(bytes(size)) for size in (0, 4, 11, 12, 13)] == [True, False, False, True, False]


@given(st.lists(st.sampled_from([b"", b"abcd", b"efgh"]), max_size=6))
def test_bodies_are_stacked_with_the_numbers_of_their_documents(bodies: list[bytes]) -> None:
    rows, table = stack(bodies)
    assert rows.tolist() == [i for i, body in enumerate(bodies) if body]
    assert [row.tobytes() for row in table] == [body for body in bodies if body]


def test_an_empty_body_among_those_to_compare_is_an_error() -> None:
    assert whole([b"ab", b"cd"]).tolist() == [[97, 98], [99, 100]]
    with pytest.raises(ValueError, match="too few features"):
        whole([b"ab", b""])


def test_a_text_of_too_few_features_has_no_body_and_one_of_too_many_is_capped() -> None:
    table = np.arange(6, dtype=np.uint8).reshape(3, 2)
    signed = bodies_of(table, np.array([1, 2, 9]), least=2, limit=8)
    assert (signed.bodies, signed.features, signed.capped) == (
        [b"", b"\x02\x03", b"\x04\x05"],
        [1, 2, 9],
        [False, False, True],
    )
