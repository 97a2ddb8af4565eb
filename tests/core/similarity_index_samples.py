"""Profiles and Java hash codes for the tests of the similarity index."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from gate.core.method_parameters import SimilarityIndex
from gate.core.profile import Profile
from gate.core.shingles import Features

METHODS = st.integers(1, 16)
PROFILES = st.builds(
    Profile,
    name=st.just("p"),
    tokenizer=st.sampled_from(["characters", "words", "soundex"]),
    gram=st.integers(2, 9),
    drop_stop_words=st.booleans(),
    drop_vowels=st.booleans(),
    drop_repeats=st.booleans(),
    mask_numbers=st.booleans(),
    fold_confusables=st.booleans(),
    method=st.builds(SimilarityIndex, si_method=METHODS, si_window=st.integers(1, 12)),
    min_features=st.sampled_from([1, 8]),
    resemblance=st.just(0.7),
).filter(lambda profile: profile.tokenizer != "characters" or profile.parameters()["si_method"] != 13)
codes = st.lists(st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-3, 3)), max_size=40)


def packed(batch: list[list[int]]) -> Features:
    starts = np.cumsum([0, *map(len, batch)], dtype=np.int64)
    return Features(np.array([value % 2**32 for one in batch for value in one], np.uint64), starts)
