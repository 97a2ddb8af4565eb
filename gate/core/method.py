"""What a method is: it signs texts, says where a signature is stored and looked up, and compares two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import Probes
from gate.core.text import Texts

Floats = NDArray[np.float64]

NO_LIMIT = 2**63 - 1
COUNT_BYTES = 4  # in front of a body of any length
_COUNT = (1 << 31) - 1  # the uppermost bit is the method's own


@dataclass(frozen=True, slots=True)
class Signatures:
    """Bodies of a batch. Below the profile's minimum of features a body is empty: such a text is compared exactly.

    Of a text with more than `max_features` features, only so many from its beginning are in its body.
    """

    bodies: list[bytes]
    features: list[int]
    capped: list[bool]


@dataclass(frozen=True, slots=True)
class Measures:
    """How alike the pairs of two lists of bodies are; None where the method does not measure it."""

    distance: NDArray[np.int64] | None = None
    resemblance: Floats | None = None
    left_in_right: Floats | None = None
    right_in_left: Floats | None = None
    length_ratio: Floats | None = None  # the smaller length of the larger, where a length filter is on


@dataclass(frozen=True, slots=True)
class BodyLayout:
    """How many bytes a body takes, and its tag in each table; a tag of a table that is not named takes 8.

    A body that grows with its text has its values behind the first `body_bytes`, each of `value_bytes`; the lower 31
    bits of the first four bytes are their number.
    """

    body_bytes: int
    tag_bytes: dict[int, int]
    value_bytes: int = 0

    def holds(self, body: bytes) -> bool:
        """Whether that is a whole body, or none."""
        if not self.value_bytes or len(body) < COUNT_BYTES:
            return len(body) in (0, self.body_bytes)
        return len(body) == self.body_bytes + self.value_bytes * (int.from_bytes(body[:COUNT_BYTES], "little") & _COUNT)


class Method(Protocol):
    @property
    def layout(self) -> BodyLayout: ...

    def sign(self, texts: Texts) -> Signatures: ...

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        """Where the bodies are stored; a pure function of the body, so that any process can finish or undo an entry."""

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        """Where bodies that are alike may be stored."""

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        """Measures of lefts[i] and rights[i]; resemblance and distance are the same from both sides."""

    def fingerprint(self, body: bytes) -> int | None: ...


def stack(bodies: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The bodies that are not empty as rows of one array, and which documents they are."""
    rows = np.flatnonzero(np.fromiter(map(len, bodies), np.int64, len(bodies)))
    if not rows.size:
        return rows, np.empty((0, 1024 + 12), np.uint8)
    flat = np.frombuffer(b"".join(bodies), np.uint8)
    return rows, flat.reshape(rows.size, -1)


def bodies_of(table: NDArray[np.uint8], counts: NDArray[np.int64], *, least: int, limit: int) -> Signatures:
    """A body of each row of the table, of texts with so many features each: none of fewer than `least`."""
    width, flat = table.shape[1], np.ascontiguousarray(table).tobytes()
    enough = (counts >= least).tolist()
    bodies = [flat[i * width : (i + 1) * width] if has else b"" for i, has in enumerate(enough)]
    return Signatures(bodies, counts.tolist(), (counts > limit).tolist())


class Repeated(Sequence[bytes]):
    """Some bodies, each any number of times: `bodies[places[i]]` is the i-th. Most candidates of a batch are those of
    several of its documents, and are put into an array once."""

    def __init__(self, bodies: Sequence[bytes], places: NDArray[np.int64]) -> None:
        self.bodies, self.places = bodies, places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, i: int) -> bytes: ...
    @overload
    def __getitem__(self, i: slice) -> Repeated: ...
    def __getitem__(self, i: int | slice) -> bytes | Repeated:
        return Repeated(self.bodies, self.places[i]) if isinstance(i, slice) else self.bodies[self.places[i]]


def whole(bodies: Sequence[bytes]) -> NDArray[np.uint8]:
    """The bodies as rows of one array. An empty one is an error: left out, it would shift every pair after it."""
    if isinstance(bodies, Repeated):
        used = np.zeros(len(bodies.bodies), np.bool_)
        used[bodies.places] = True
        rows: NDArray[np.int64] = (np.cumsum(used) - 1)[bodies.places]
        return whole(list(compress(bodies.bodies, used.tolist()))).take(rows, axis=0)
    rows, table = stack(bodies)
    if len(rows) < len(bodies):
        raise ValueError("a text with too few features has no body to compare")
    return table
