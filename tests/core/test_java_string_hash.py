"""k-grams hashed as Java hashes a String."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core import java_string_hash
from gate.core.profile import Profile
from gate.core.text import normalise
from tests.core import reference
from tests.core import reference_similarity_index as plain
from tests.core.samples import batches
from tests.core.similarity_index_samples import PROFILES


@pytest.mark.parametrize(
    ("text", "code"),
    [("hello", 99162322), ("a", 97), ("Aa", 2112), ("BB", 2112), ("the quick brown fox", 1302335171),
     ("polygenelubricants", -(2**31)), ("\U0001f44d", 1772464), ("F600 S600 A530 S150", -829053509)],
)  # fmt: skip
def test_hash_codes_are_those_of_java(text: str, code: int) -> None:
    units = np.frombuffer(text.encode("utf-16-le"), "<u2")
    [found] = java_string_hash.hash_codes(units, np.array([0]), np.array([units.size])).view(np.int32).tolist()
    assert found == plain.hash_code(text) == code


@given(st.text(max_size=50), st.data())
def test_the_hash_code_of_any_stretch_is_that_of_its_string(text: str, data: st.DataObject) -> None:
    units = plain.units_of(text)
    if not units:
        return
    begin = data.draw(st.integers(0, len(units) - 1))
    end = data.draw(st.integers(begin + 1, len(units)))
    raw = np.frombuffer(text.encode("utf-16-le"), "<u2")
    found = java_string_hash.hash_codes(raw, np.array([begin]), np.array([end])).view(np.int32)
    assert found.tolist() == [plain.hash_code("".join(units[begin:end]))]


def test_powers_go_on_where_they_are_products_of_two() -> None:
    found = java_string_hash.powers(31, 9000)
    assert [int(found[i]) for i in (0, 1, 4095, 4096, 8999)] == [pow(31, i, 2**32) for i in (0, 1, 4095, 4096, 8999)]


@pytest.mark.slow
@given(batches, PROFILES, st.sampled_from([b"", b"secret"]))
def test_the_hashes_of_a_batch_are_those_of_each_text(batch: list[str], profile: Profile, secret: bytes) -> None:
    gram = 1 if profile.parameters()["si_method"] == 13 else None
    found = java_string_hash.features(normalise(batch), profile, secret, gram=gram)
    expected = [plain.prints(reference.normalise(text), profile, secret) for text in batch]
    assert found.starts.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert found.hashes.astype(np.uint32).view(np.int32).tolist() == [code for one in expected for code in one]


def test_words_with_one_hash_code_have_two_hashes_under_a_secret() -> None:
    profile = Profile(name="p", gram=1)
    for secret, alike in ((b"", True), (b"secret", False)):
        left, right = java_string_hash.features(normalise(["aÿ bà"]), profile, secret).hashes
        assert (left == right) == alike
