"""The digest of a profile covers what shapes a signature, and nothing else."""

from __future__ import annotations

import msgspec
import pytest

from gate.core.profile import JUDGING, LATER, Profile

OTHERS: dict[str, object] = {
    "family": "murmur3",
    "chunks": "whole",
    "tokenizer": "soundex",
    "weights": "set",
    "method": "minhash",
    "stop_words": ("a",),
    "resemblance": 0.5,
    "containment": 0.5,
    "index": "all",
    "revisions": "replace",
    "name": "q",
}


def other(profile: Profile, field: str) -> Profile:
    """The profile with another value of the field."""
    value = getattr(profile, field)
    if isinstance(value, bool | int):
        value = not value if isinstance(value, bool) else value + 1
    return msgspec.structs.replace(profile, **{field: OTHERS.get(field, value)})


@pytest.mark.parametrize("field", [f for f in Profile.__struct_fields__ if f not in LATER])
def test_what_shapes_a_signature_is_in_the_digest_and_what_judges_it_is_not(field: str) -> None:
    plain = Profile(name="p")
    same = other(plain, field).digest() == plain.digest()
    assert same == (field in ("name", "version", *JUDGING))


@pytest.mark.parametrize("field", sorted(LATER))
def test_a_later_field_is_in_the_digest_where_its_method_uses_it(field: str) -> None:
    for method in ("simhash", *LATER[field]):
        plain = Profile(name="p", method=method)
        assert (other(plain, field).digest() == plain.digest()) == (method not in LATER[field])
