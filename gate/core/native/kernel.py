"""The functions of kernel.c, called with arrays of numpy. The interpreter's lock is free while one runs.

Every method does for a whole batch what the function that it is named for in kernel.c says, with texts as the columns
of `gate.core.text.Texts` and features as those of `gate.core.shingles.Features`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.uint8] | NDArray[np.uint32]
Starts = NDArray[np.int64]
U64 = NDArray[np.uint64]

VERSION = 1  # of the calls, as kernel.c has it
CONTENT_ID_BYTES = 16
MAX_POINT = 0x10FFFF
WEIGHTS = {"count": 0, "log": 1, "set": 2}

_NO_MEMORY, _OUT_OF_RANGE, _UNKNOWN_CLASS = -1, -2, -3
_FOLD_ROOM = 512  # kernel.c wants room for a block of 64 code points that become six each

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_CALLS: dict[str, tuple[Any, ...]] = {
    "gate_fold": (*[_POINTER] * 2, _NUMBER, *[_POINTER] * 3, _NUMBER, _POINTER, *[_NUMBER] * 2, *[_POINTER] * 3),
    "gate_folded_lengths": (*[_POINTER] * 4, _NUMBER, _POINTER),
    "gate_content_ids": (_POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER),
    "gate_tokens": (*[_POINTER] * 4, _NUMBER, _POINTER, _NUMBER, *[_POINTER] * 2),
    "gate_token_windows": (*[_POINTER] * 3, *[_NUMBER] * 2, *[_POINTER] * 2),
    "gate_character_windows": (*[_POINTER] * 2, _NUMBER, _POINTER, *[_NUMBER] * 2, *[_POINTER] * 2),
    "gate_fingerprints": (*[_POINTER] * 2, *[_NUMBER] * 2, _POINTER),
    "gate_signatures": (*[_POINTER] * 2, *[_NUMBER] * 2, *[_POINTER] * 3),
}


@dataclass(frozen=True, slots=True)
class FoldedBatch:
    """Normal forms back to back, as in `Texts`, and which texts numpy has to fold: those are empty here."""

    points: Points
    starts: Starts
    left: NDArray[np.int64]


class UnknownClass(Exception):
    """A code point has no class in the table yet."""


class Kernel:
    """A compiled kernel.c. `source_digest` is that of the file it was compiled from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = library = ctypes.CDLL(str(path))
        library.gate_source_digest.restype = ctypes.c_char_p
        self.version = int(library.gate_version())
        if self.version != VERSION:
            return  # its functions are others
        self.source_digest = str(library.gate_source_digest().decode())
        for name, argument_types in _CALLS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = argument_types, _NUMBER

    def fold(self, texts: Sequence[str], table: NDArray[np.uint32], expansions: NDArray[np.uint32]) -> FoldedBatch:
        """Fold texts. UnicodeEncodeError: a lone surrogate."""
        count = len(texts)
        raw, begins, widths = _raw_texts(texts)
        wide = bool(widths.any())
        total = sum(map(len, texts))
        points: Points = np.empty(total + total // 8 + _FOLD_ROOM, np.uint32) if wide else np.empty(total, np.uint8)
        starts, left, most = np.empty(count + 1, np.int64), np.empty(count, np.uint8), np.zeros(1, np.uint32)
        undone = self._call(
            "gate_fold",
            *(_address(table), _address(expansions), expansions.size, raw, _address(begins), _address(widths), count),
            *(_address(points), points.size, wide, _address(starts), _address(left), _address(most)),
        )
        points = points[: starts[-1]]
        if wide and not undone and most[0] < 128:
            points = points.astype(np.uint8)
        return FoldedBatch(points, starts, np.flatnonzero(left) if undone else np.empty(0, np.int64))

    def folded_lengths(self, texts: Sequence[str], table: NDArray[np.uint32]) -> list[int] | None:
        """None: some code point is not in the table yet. A lone surrogate counts as one code point."""
        raw, begins, widths = _raw_texts(texts, errors="surrogatepass")
        lengths = np.empty(len(texts), np.int64)
        unseen = self._call(
            "gate_folded_lengths",
            *(_address(table), raw, _address(begins), _address(widths), len(texts), _address(lengths)),
        )
        listed: list[int] = lengths.tolist()
        return None if unseen else listed

    def content_ids(self, points: Points, starts: Starts, key: bytes) -> list[bytes]:
        points, wide = _columns(points)
        ids = np.empty((starts.size - 1) * CONTENT_ID_BYTES, np.uint8)
        self._call(
            "gate_content_ids",
            *(_address(points), wide, _address(starts), starts.size - 1, key, len(key), _address(ids)),
        )
        flat = ids.tobytes()
        return [flat[i : i + CONTENT_ID_BYTES] for i in range(0, len(flat), CONTENT_ID_BYTES)]

    def tokens(
        self,
        points: Points,
        starts: Starts,
        *,
        classes: NDArray[np.uint8],
        letters: NDArray[np.uint8] | None,
        key: U64 | None,
    ) -> tuple[U64, Starts]:
        """Token hashes and where those of each text begin. UnknownClass: of a code point, or no letter of Soundex."""
        points, wide = _columns(points)
        most = points.size if wide else points.size // 2 + starts.size
        hashes, bounds = np.empty(most, np.uint64), np.empty_like(starts)
        size = self._call(
            "gate_tokens",
            *(_address(classes), _address(letters), _address(key), _address(points), wide, _address(starts)),
            *(starts.size - 1, _address(hashes), _address(bounds)),
        )
        return hashes[:size], bounds

    def token_windows(self, tokens: U64, starts: Starts, gram: int, key: U64 | None) -> tuple[U64, Starts]:
        tokens = np.ascontiguousarray(tokens)
        hashes, bounds = np.empty(tokens.size, np.uint64), np.empty_like(starts)
        size = self._call(
            "gate_token_windows",
            *(_address(key), _address(tokens), _address(starts), starts.size - 1, gram),
            *(_address(hashes), _address(bounds)),
        )
        return hashes[:size], bounds

    def character_windows(self, points: Points, starts: Starts, gram: int, key: U64 | None) -> tuple[U64, Starts]:
        points, wide = _columns(points)
        hashes, bounds = np.empty(points.size, np.uint64), np.empty_like(starts)
        size = self._call(
            "gate_character_windows",
            *(_address(key), _address(points), wide, _address(starts), starts.size - 1, gram),
            *(_address(hashes), _address(bounds)),
        )
        return hashes[:size], bounds

    def fingerprints(self, hashes: U64, starts: Starts, weights: str) -> U64:
        hashes = np.ascontiguousarray(hashes)
        result = np.empty(starts.size - 1, np.uint64)
        self._call(
            "gate_fingerprints",
            *(_address(hashes), _address(starts), starts.size - 1, WEIGHTS[weights], _address(result)),
        )
        return result

    def signatures(
        self, hashes: U64, starts: Starts, bins: int, lenders: NDArray[np.uint16]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        hashes = np.ascontiguousarray(hashes)
        rows, sizes = np.empty((starts.size - 1, bins), np.uint8), np.empty(starts.size - 1, np.uint32)
        self._call(
            "gate_signatures",
            *(_address(hashes), _address(starts), starts.size - 1, bins, _address(lenders)),
            *(_address(rows), _address(sizes)),
        )
        return rows, sizes

    def _call(self, name: str, *arguments: object) -> int:
        result = int(getattr(self._library, name)(*arguments))
        if result >= 0:
            return result
        if result == _NO_MEMORY:
            raise MemoryError(f"{name}: a document has too many features for the memory that there is")
        if result == _UNKNOWN_CLASS:
            raise UnknownClass
        raise ValueError(f"{name}: a code point or a number is out of range")


def _raw_texts(texts: Sequence[str], errors: str = "strict") -> tuple[bytes, Starts, NDArray[np.uint8]]:
    """Texts back to back as bytes of ASCII or as UTF-32, where each begins, and 1 for those in UTF-32."""
    begins = np.zeros(len(texts) + 1, np.int64)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    widths = np.fromiter((not text.isascii() for text in texts), np.uint8, len(texts))
    np.cumsum(np.where(widths, 4 * sizes, sizes), out=begins[1:])
    if not widths.any():
        return "".join(texts).encode("ascii"), begins, widths
    pieces = [text.encode("ascii") if text.isascii() else text.encode("utf-32-le", errors) for text in texts]
    return b"".join(pieces), begins, widths


def _columns(points: Points) -> tuple[Points, bool]:
    """The points as they lie in memory, bytes or numbers of 32 bits, and whether it is the latter."""
    wide = points.dtype != np.uint8
    column: NDArray[Any] = np.ascontiguousarray(points, np.uint32 if wide else np.uint8)
    return column, wide


def _address(array: NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data
