"""The yardsticks that methods of windows are held against."""

from __future__ import annotations

import numpy as np

from load.bench_windows import METHODS, SETTLING, contenders, file_rows, in_pieces, polynomials, rows
from load.measure import Timing


def test_the_polynomial_of_a_window_is_the_sum_of_its_bytes_times_powers() -> None:
    data = np.arange(40, dtype=np.uint8)
    for window in (1, 5, 20, 33):
        expected = [
            sum(int(data[i + j]) * pow(0x9E3779B97F4A7C13, j, 2**64) for j in range(window)) % 2**64
            for i in range(40 - window + 1)
        ]
        assert polynomials(data, window).tolist() == expected


def test_every_contender_works_on_the_same_bytes() -> None:
    documents = ["some words here and there " * 40, "andere Wörter überall " * 40]
    sizes = {contender.step(0) for contender in contenders(documents, 20)}
    assert sizes == {sum(len(text.strip().encode()) for text in documents)}
    assert [text for piece in in_pieces(documents) for text in piece] == documents


def test_what_has_a_target_is_held_against_it_and_what_settles_the_memory_is_not_shown() -> None:
    timed = [
        Timing(name=name, microseconds=0.01, fastest=0.01, slowest=0.01, speed=0.4) for name in (SETTLING, *METHODS)
    ]
    table_rows = rows("2 KB", 20, timed)
    assert [row["met"] for row in table_rows] == [False, False, False, False, None, None, None, None]
    shown = file_rows({20: timed, 100: timed})
    assert [row["what"] for row in shown] == list(METHODS)
    assert shown[0]["ms, window 20"] == 5.0
