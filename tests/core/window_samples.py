"""Windows of texts, and their fingerprints by the definition, for the tests of the methods that sample them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from gate.core import sketches
from gate.core.shingles import Features
from gate.core.sketches import Windows
from gate.core.text import normalise
from tests.core import reference, reference_sampling
from tests.core.samples import any_texts

WIDTH = 5
# Repetitive ones too: there, few fingerprints are distinct and n divides all of them or none.
texts = st.lists(any_texts | st.text("ab ", max_size=120), max_size=5)


def windows_of(batch: list[str], secret: bytes = b"") -> Windows:
    return sketches.windows(normalise(batch), WIDTH, secret)


def prints_of(text: str, secret: bytes = b"") -> list[int]:
    data = reference.normalise(text).encode()
    return reference_sampling.window_prints(data, WIDTH, secret)


def sets(found: Features) -> list[list[int]]:
    return [found.hashes[a:b].tolist() for a, b in pairwise(found.starts.tolist())]
