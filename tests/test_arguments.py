"""What a caller gives is checked; `test_api` has the same for every method of a gate."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.arguments import (
    at_threshold,
    checked_limits,
    checked_threads,
    fingerprint_number,
    list_of,
    positive,
    typed,
    validated_documents,
    validated_ids,
    validated_pairs,
)
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import BadDocument, ConfigError, UsageError
from gate.limits import Limits
from gate.model import CheckIn

LIMITS = Limits(max_document_chars=100)


@given(st.integers(0, 2**64 - 1))
def test_a_fingerprint_is_the_same_by_its_digits_in_either_case_and_as_a_number(number: int) -> None:
    digits = f"{number:016x}"
    assert fingerprint_number(digits) == fingerprint_number(digits.upper()) == fingerprint_number(number) == number


@given(st.text(max_size=20) | st.integers() | st.binary(max_size=20))
def test_whatever_else_is_given_as_a_fingerprint_is_refused(value: Any) -> None:
    if isinstance(value, int) and 0 <= value < 2**64:
        return
    with pytest.raises(UsageError, match="fingerprint: is not one"):
        fingerprint_number(value)


def test_digits_of_other_scripts_are_no_hexadecimal_digits() -> None:
    with pytest.raises(UsageError, match="fingerprint"):
        fingerprint_number("\u0661" * 16)


def test_a_list_is_copied_so_that_its_owner_may_go_on_changing_it() -> None:
    ids = ["a", "b"]
    checked = validated_ids(ids)
    ids.clear()
    assert checked == ["a", "b"]


@pytest.mark.parametrize(
    "items", [["a"], ("a",), {"a"}, iter(["a"]), repeat("a", 1)], ids=lambda items: type(items).__name__
)
def test_every_iterable_of_items_is_a_list_of_them(items: Any) -> None:
    assert list_of("ids", items, "ids") == ["a"]


def test_a_dict_of_documents_is_no_list_of_its_keys() -> None:
    with pytest.raises(UsageError, match="documents: is of type dict; give a list of CheckIn"):
        validated_documents({"a": "text"}, LIMITS)  # type: ignore[dict-item]


def test_a_document_is_named_by_its_position_and_its_id() -> None:
    documents = [CheckIn(document_id="a", text="text"), CheckIn(document_id="b", text="x" * 101)]
    with pytest.raises(BadDocument, match=r"^documents\[1\] \('b'\): text: has 101 characters") as caught:
        validated_documents(documents, LIMITS)
    assert caught.value.code == "too_large"


def test_pairs_may_be_lists_and_become_tuples() -> None:
    pairs: Any = [["a", "b"], ("c", "d")]
    assert validated_pairs(pairs, LIMITS) == [("a", "b"), ("c", "d")]


def test_a_value_of_the_right_type_is_given_back() -> None:
    assert typed("secret", b"hush", (bytes,), "bytes") == b"hush"
    assert positive("limit", 3) == 3
    assert checked_limits(None) == Limits()
    assert checked_limits(LIMITS) == LIMITS
    assert at_threshold(BUILT_IN["standard"], 1).resemblance == 1


def test_limits_out_of_their_bounds_are_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match=r"limits: .*max_matches"):
        checked_limits(Limits(max_matches=0))


def test_a_number_of_threads_is_a_whole_number_of_at_least_one() -> None:
    assert checked_threads(2) == 2
    for wrong in (0, -1, True, 1.5, "2", None):
        with pytest.raises(ConfigError, match="give a whole number of at least 1"):
            checked_threads(wrong)
