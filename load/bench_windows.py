"""What Mod_n, BSW_n, Min_n and Sketch_n cost to sign by: a part of `python -m load.bench_methods`.

They are held against one bare pass of the rolling fingerprint over the same bytes: a speed of 0.5 says that signing
takes twice the time of fingerprinting every window and doing nothing with it. Texts are normalised beforehand, since
the bare pass has nothing to normalise; what that costs is stated beside it, and so is the cheapest rolling hash that
numpy has, a polynomial mod 2^64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gate.core import rabin
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import SketchN
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.sketches import windows
from gate.core.text import normalise
from gate.core.tokenizers import Hashes
from gate.model import CheckIn
from gate.pipeline import split_for_signing
from load.bench_fingerprint import mixed, texts
from load.measure import BenchmarkReport, Contender, Timing, interleave, target_row

BARE = "bare pass"
SETTLING = "settling"  # before the bare pass, so that it finds the memory as the methods do and not freshly given back
FILE = 500_000  # bytes, as in Figure 11 of Cherkasova et al.
SIZES = {"2 KB": 2048, "8 KB": 8192, "500 KB": FILE}
WINDOWS = (20, 100)
_FACTOR = 0x9E3779B97F4A7C13

# What is signed by, and how fast that is to be against the bare pass; None: that is only stated.
METHODS: dict[str, tuple[Profile, float | None]] = {
    "Mod_100": (BUILT_IN["mod-n"], 0.5),
    "Mod_25, containment": (BUILT_IN["containment"], 0.5),
    "BSW_100": (BUILT_IN["bsw-n"], 0.5),
    "BSW_100 plain": (BUILT_IN["bsw-n-plain"], 0.5),
    "Min_100": (BUILT_IN["min-n"], None),
    "Sketch_10": (replace(BUILT_IN["sketch-n"], name="tried", method=SketchN(sample=10, bands=2)), None),
    "Sketch_50": (replace(BUILT_IN["sketch-n"], name="tried", method=SketchN(sample=50, bands=12)), None),
    "Sketch_100": (BUILT_IN["sketch-n"], None),
}


def in_pieces(documents: Sequence[str]) -> list[list[str]]:
    """As the pipeline cuts documents for signing."""
    check_ins = [CheckIn(document_id="", text=text) for text in documents]
    return [[document.text for document in piece] for piece in split_for_signing(check_ins)]


def polynomials(data: NDArray[np.uint8], window: int) -> Hashes:
    """The polynomial mod 2^64 of each window, by doubling."""
    width, single = 1, data.astype(np.uint64)
    sums = single
    for bit in bin(window)[3:]:
        sums = sums[:-width] + sums[width:] * np.uint64(pow(_FACTOR, width, 1 << 64))
        width *= 2
        if bit == "1":
            count = single.size - width
            sums = sums[:count] + single[width : width + count] * np.uint64(pow(_FACTOR, width, 1 << 64))
            width += 1
    return sums


def contenders(documents: Sequence[str], window: int) -> list[Contender]:
    raw = in_pieces(documents)
    normal = [normalise(batch) for batch in raw]
    polynomial = rabin.polynomial_of(b"")
    data = [windows(batch, window).data for batch in normal]
    size = sum(one.size for one in data)

    def step(work: Callable[[], object]) -> Callable[[int], int]:
        def once(_: int) -> int:
            work()
            return size

        return once

    def signing(profile: Profile) -> Callable[[], object]:
        method = method_of(replace(profile, name="tried", method=replace(profile.method, window=window)))
        return lambda: [method.sign(batch) for batch in normal]

    return [
        Contender(SETTLING, step(lambda: [rabin.fingerprints(one, window, polynomial) for one in data])),
        Contender(BARE, step(lambda: [rabin.fingerprints(one, window, polynomial) for one in data])),
        *(Contender(name, step(signing(profile))) for name, (profile, _) in METHODS.items()),
        Contender("polynomial mod 2^64", step(lambda: [polynomials(one, window) for one in data])),
        Contender("normalising", step(lambda: [normalise(batch) for batch in raw])),
    ]


def rows(corpus: str, window: int, timings: Sequence[Timing]) -> list[dict[str, Any]]:
    return [
        target_row(f"{corpus}, window {window}: {one.name}", one.speed, at_least=METHODS.get(one.name, (None, None))[1])
        | {"ns a byte": one.microseconds * 1e3}
        for one in timings
        if one.name != SETTLING
    ]


def file_rows(timings: dict[int, Sequence[Timing]]) -> list[dict[str, Any]]:
    """Figure 11: milliseconds for a file of 500 KB, by window."""
    names = [one.name for one in timings[WINDOWS[0]]]
    return [
        {"what": name}
        | {f"ms, window {w}": round(found[place].microseconds * FILE / 1e3, 2) for w, found in timings.items()}
        for place, name in enumerate(names)
        if name != SETTLING
    ]


def add(report: BenchmarkReport, *, characters: int, rounds: int, clock: str) -> None:
    """Measure, and add what was found to a report."""
    found: list[dict[str, Any]] = []
    files: dict[int, Sequence[Timing]] = {}
    for name, size in SIZES.items():
        documents = texts(max(characters, size), size)
        for corpus, some in (
            {name: documents, f"{name}, mixed": mixed(documents)} if size < FILE else {name: documents}
        ).items():
            for window in WINDOWS if size == FILE else WINDOWS[:1]:
                timed = interleave(contenders(some, window), rounds=rounds, reference=BARE, clock=clock)
                found += rows(corpus, window, timed)
                if size == FILE:
                    files[window] = timed
    report.add(f"windows: speed of signing ({BARE} = 1)", found)
    report.add("windows: a file of 500 KB", file_rows(files))
