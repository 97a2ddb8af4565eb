"""The compiled kernel gives what numpy gives, in every bit, and touches no memory but its own."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.keyed_hash import Key, key_of
from gate.core.native.kernel import Kernel, UnknownClass
from gate.core.native.loader import using
from gate.core.shingles import Features, keyed_grams
from gate.core.text import Texts, normalise
from gate.core.token_filters import ENGLISH
from tests.core import samples
from tests.core.native import equality
from tests.core.native.sanitized import run_sanitized

ENOUGH_TICKS = 100  # in a fraction of the time that the call takes


def texts_of(points: list[int], kind: type[np.unsignedinteger[Any]] = np.uint32) -> Texts:
    return Texts(np.array(points, kind), np.array([0, len(points)], np.int64))


@given(samples.batches, st.randoms(use_true_random=False))
def test_texts_of_every_script_are_signed_as_by_numpy(kernel: Kernel, batch: list[str], random: Random) -> None:
    equality.compare_batch(kernel, batch, random)


@given(samples.feature_batches, st.randoms(use_true_random=False))
def test_any_features_give_the_prints_and_signatures_of_numpy(
    kernel: Kernel, batch: list[list[int]], random: Random
) -> None:
    equality.compare_features(kernel, samples.packed(batch), random)


@given(
    st.lists(st.integers(0, 0x10FFFF).filter(lambda point: not 0xD800 <= point < 0xE000), max_size=200), st.randoms()
)
def test_points_that_no_text_folds_to_give_the_tokens_of_numpy(
    kernel: Kernel, points: list[int], random: Random
) -> None:
    equality.compare_tokens(kernel, texts_of(points), random)


def test_long_batches_are_equal(kernel: Kernel) -> None:
    equality.compare_many(kernel, rounds=30, seed=5)


def test_every_word_of_english_has_the_soundex_code_of_jellyfish(kernel: Kernel) -> None:
    words = normalise([" ".join([*ENGLISH, "ashcraft tymczak pfister honeyman jackson hwh aha bwb bab"])])
    equality.compare_tokens(kernel, words, Random(0))


def test_hashes_that_were_made_to_collide_are_counted_right(kernel: Kernel) -> None:
    """Equal upper bits in every round: what is left is sorted."""
    mix = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    crafted = [(i * pow(mix, r, 1 << 64)) % (1 << 64) for i in range(1, 60) for r in range(6)]
    low = [*range(5000), *range(300)]
    for hashes in (crafted * 2, low, [0] * 100, [2**64 - 1] * 3 + [1]):
        equality.compare_features(kernel, samples.packed([hashes, [], hashes[:50]]), Random(len(hashes)))


def test_a_window_point_of_zero_leaves_the_first_value_alone(kernel: Kernel) -> None:
    key = Key(token_point=7, window_point=0, sip=(1, 2))
    values, starts = np.arange(20, dtype=np.uint64), np.array([0, 20])
    expected = keyed_grams(values, starts, 3, key)
    hashes, bounds = kernel.token_windows(values, starts, 3, key.column())
    assert hashes.tolist() == expected.hashes.tolist()
    assert bounds.tolist() == expected.starts.tolist()


def test_a_text_that_outgrows_its_room_is_left_to_numpy(kernel: Kernel) -> None:
    long = "㍻½ﷺ㋿" * 2000  # most become several code points
    with using(None):
        expected = normalise([long, "a b", long])
    with using(kernel):
        normalise([long])  # each code point was met
        folded = kernel.fold([long, "a b", long], *_tables())
        equality.same_texts(normalise([long, "a b", long]), expected)
    assert folded.left.tolist() in ([2], [0, 2])  # the first may have the room of the last


@pytest.mark.parametrize("point", [0x110000, 0x1FFFFF, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_code_point_out_of_range_is_refused_by_every_function(kernel: Kernel, point: int) -> None:
    texts, key = texts_of([65, point, 66, 67]), key_of(b"secret")
    assert key is not None
    classes, letters = np.full(0x110000, 2, np.uint8), np.full(0x110000, 2, np.uint8)
    for column in (None, key.column()):
        for spelt in (None, letters):
            with pytest.raises(ValueError, match="out of range"):
                kernel.tokens(texts.points, texts.starts, classes=classes, letters=spelt, key=column)
        with pytest.raises(ValueError, match="out of range"):
            kernel.character_windows(texts.points, texts.starts, 3, column)
    with pytest.raises(ValueError, match="out of range"):
        kernel.content_ids(texts.points, texts.starts, b"")


def test_a_code_point_without_a_class_is_asked_for(kernel: Kernel) -> None:
    with pytest.raises(UnknownClass):
        kernel.tokens(*_columns("ж"), classes=np.zeros(0x110000, np.uint8), letters=None, key=None)


def test_a_lone_surrogate_cannot_be_folded(kernel: Kernel) -> None:
    with pytest.raises(UnicodeEncodeError):
        kernel.fold(["a\ud800"], *_tables())


def test_other_threads_run_during_a_call(kernel: Kernel) -> None:
    """The lock of the interpreter is free: a thread that counts makes progress while another one is in the kernel."""
    features = Features(np.arange(3_000_000, dtype=np.uint64), np.array([0, 3_000_000]))
    ticks, running = 0, threading.Event()

    def sign() -> None:
        running.set()
        kernel.fingerprints(features.hashes, features.starts, "log")
        running.clear()

    thread = threading.Thread(target=sign)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # a thread that holds the lock keeps it
    try:
        thread.start()
        running.wait()
        while running.is_set() and ticks < ENOUGH_TICKS:
            ticks += 1
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert ticks == ENOUGH_TICKS


@pytest.mark.slow
def test_no_function_leaves_its_memory_under_sanitizers(tmp_path: Path) -> None:
    """Address and undefined-behaviour sanitizers see every function on some batches of many scripts."""
    done = run_sanitized(tmp_path, 25)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "25 batches are equal\n"


def _tables() -> tuple[Any, Any]:
    from gate.core import text

    return text._table, text._expansions


def _columns(text: str) -> tuple[Any, Any]:
    texts = normalise([text])
    return texts.points, texts.starts
