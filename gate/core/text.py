"""Normalisation: the one form in which texts are compared, for a whole batch at once.

A text is folded code point by code point with the NFKC_Casefold mapping (compatibility forms unified, case removed),
composed to NFC, and its white space is reduced to single spaces between other characters. What a reader does not see,
and what does not belong to a letter, is dropped, since a copy may hold it in the middle of words:

- control characters but white space, format characters, noncharacters, and what Unicode says to ignore by default
  (soft hyphens, joiners, variation selectors, fillers);
- blanks that are no space between words: U+2800 (braille), U+FFFC (object replacement) and U+200A (hair space);
- enclosing marks, and the combining marks of no script in particular (U+0300 and so on) that are part of no letter in
  NFC. Accents stay, since they compose; a stroke through a word or a line under it does not. Marks of a script stay.

Doing it twice changes nothing.

The mapping is that of the Unicode version of the running Python. What a later version adds are code points that no text
could hold before; only texts that hold such are read differently by an older Python.

The mapping of a code point comes from a table that is filled as code points are first seen, which is several times
faster than `str.casefold` and `unicodedata.normalize` on each text; those are only asked where code points can interact
(marks that compose or are in the wrong order). ASCII needs no table: arithmetic on bytes does it.

The work is linear for every text. `unicodedata.normalize` alone takes the square of the length of a run of marks in the
wrong order, so it is only given a single code point, or marks that are sorted already.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gate.core.native import loader
from gate.errors import BadDocument

if TYPE_CHECKING:
    from gate.core.native.kernel import Kernel

Points = NDArray[np.uint8] | NDArray[np.uint32]

# Code points that one can become. U+FDFA and U+FDFB, whole phrases, would become 18 and 8, and stay as they are: a text
# of them would cost 25 times as much for each byte as one in English.
LONGEST_FOLD = 6

CONTENT_ID_BYTES = 16
_PERSON_OF_BYTES = b"bytes"  # BLAKE2b with another personalisation is another function

_SPACE, _LINE_FEED, _DELETE = 0x20, 0x0A, 0x7F
_PIECE = 1 << 16
_PART = 600_000  # code points that numpy folds at once

# An entry of the fold table: what the code point becomes, and what has to be known about that.
#   31 unseen  30 becomes more or fewer than one code point  29 may compose with what precedes  28..21 combining class
# Where bit 30 is set, 28..21 say how many it becomes, and 20..0 where in the pool of expansions they begin.
_FOLDED = np.uint32(0x1FFFFF)
_CLASS_SHIFT = np.uint32(21)
_COMPOSES = np.uint32(1 << 29)
_EXPANDS = np.uint32(1 << 30)
_UNSEEN = np.uint32(1 << 31)
_table = np.full(0x110000, _UNSEEN, dtype=np.uint32)
_expansions = np.empty(0, dtype=np.uint32)  # replaced by a longer one as code points are learnt
_learning = threading.Lock()

# Default_Ignorable_Code_Point, which Python's unicodedata does not have. Unicode reserves these ranges for good.
_INVISIBLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip

# Marks of no script in particular: blocks of diacritical marks, Cyrillic titla, marks for symbols, half marks.
_MARKS = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F)
)  # fmt: skip
_FIRST_MARK, _MARK_COUNT = np.uint32(0x0300), np.uint32(0x70)  # the block of those that may compose
_BLANKS = (0x200A, 0x2800, 0xFFFC)


@dataclass(frozen=True, slots=True)
class Texts:
    """Normalised texts back to back: text i is `points[starts[i]:starts[i + 1]]`.

    `points` holds bytes if every text is ASCII, otherwise code points. Nothing that is computed from it may depend
    on which of the two it is: that is an accident of the batch.
    """

    points: Points
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size - 1


def normalise(texts: Sequence[str]) -> Texts:
    """Fold, compose and reduce white space, as the module says. A lone surrogate is a BadDocument."""
    kernel = loader.active()
    try:
        return _normalise(texts) if kernel is None else _normalise_compiled(kernel, texts)
    except UnicodeEncodeError as exc:
        raise BadDocument("bad_text", "a text holds a lone surrogate; send well-formed Unicode") from exc


def _normalise_compiled(kernel: Kernel, texts: Sequence[str]) -> Texts:
    """By the kernel; texts that it leaves (they hold what composes, or what was not seen before) by numpy."""
    folded = kernel.fold(texts, _table, _expansions)
    if not folded.left.size:
        return Texts(folded.points, folded.starts)
    columns = [folded.points[begin:end] for begin, end in pairwise(folded.starts.tolist())]
    # A text may fold to six times its length, so not all of them at once.
    parts = np.cumsum(folded_lengths([texts[i] for i in folded.left.tolist()])) // _PART
    for part in np.split(folded.left, np.flatnonzero(np.diff(parts)) + 1):
        normal = _normalise([texts[i] for i in part.tolist()])
        for i, (begin, end) in zip(part.tolist(), pairwise(normal.starts.tolist())):
            columns[i] = normal.points[begin:end]
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([column.size for column in columns], out=starts[1:])
    return Texts(_narrow(np.concatenate(columns).astype(np.uint32, copy=False)), starts)


def _normalise(texts: Sequence[str]) -> Texts:
    stripped = [text.strip() for text in texts]
    starts = np.zeros(len(stripped) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, stripped), dtype=np.int64, count=len(stripped)), out=starts[1:])
    joined = "".join(stripped)
    if joined.isascii():
        return _single_spaced(*_folded_ascii(joined, starts))
    raw = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4")
    normal = _single_spaced(*_folded(raw, starts))
    return Texts(_narrow(normal.points), normal.starts)


def _narrow(points: Points) -> Points:
    """Bytes if all is ASCII, which full-width letters fold to, say."""
    return points.astype(np.uint8) if not points.size or int(points.max()) < 128 else points


def content_ids(texts: Texts, secret: bytes = b"") -> list[bytes]:
    """16 bytes for each text: equal exactly if the normalised texts are.

    BLAKE2b of the UTF-8, keyed with the secret if there is one: a second text for an id cannot be found, and without
    the secret an id can neither be made nor recognised.
    """
    kernel = loader.active()
    if kernel is not None:
        return kernel.content_ids(texts.points, texts.starts, _key(secret))
    keyed = hashlib.blake2b(key=_key(secret), digest_size=CONTENT_ID_BYTES)  # copied: to parse parameters takes 2 us
    ids = []
    for data in encoded(texts):
        digest = keyed.copy()
        digest.update(data)
        ids.append(digest.digest())
    return ids


def content_id_of_bytes(sha256: bytes, secret: bytes = b"") -> bytes:
    """The content id of a file without text, by the SHA-256 of its bytes. No text has it: it is personalised."""
    return hashlib.blake2b(sha256, key=_key(secret), digest_size=CONTENT_ID_BYTES, person=_PERSON_OF_BYTES).digest()


def _key(secret: bytes) -> bytes:
    return secret if len(secret) <= hashlib.blake2b.MAX_KEY_SIZE else hashlib.blake2b(secret).digest()


def encoded(texts: Texts) -> list[bytes]:
    """The UTF-8 of each normalised text."""
    bounds = texts.starts.tolist()
    if texts.points.dtype == np.uint8:
        data = texts.points.tobytes()
        return [data[i:j] for i, j in pairwise(bounds)]
    text = str(texts.points.data, "utf-32-le")
    return [text[i:j].encode() for i, j in pairwise(bounds)]


def folded_lengths(texts: Sequence[str]) -> list[int]:
    """How many code points each text has with every code point replaced by its mapping, before any of them compose.

    If all are ASCII, what would be dropped counts too.

    Counted in the fold table, piece by piece: `unicodedata.normalize` takes the square of the length of a run of marks.
    """
    given = [len(text) for text in texts]
    if all(map(str.isascii, texts)):
        return given
    kernel = loader.active()
    counted = None if kernel is None else kernel.folded_lengths(texts, _table)
    if counted is not None:
        return counted
    joined = "".join(texts)
    lengths = np.array(given, dtype=np.int64)
    ends = np.cumsum(lengths)
    for at in range(0, len(joined), _PIECE):
        # A lone surrogate counts as one code point; `normalise` refuses it.
        raw = joined[at : at + _PIECE].encode("utf-32-le", "surrogatepass")
        entries = _looked_up(np.frombuffer(raw, dtype="<u4"))
        where = np.flatnonzero(entries >= _EXPANDS)
        if where.size:
            owners = np.searchsorted(ends, at + where, side="right")
            np.add.at(lengths, owners, _expanded_lengths(entries[where]).astype(np.int64) - 1)
    folded: list[int] = lengths.tolist()
    return folded


def fold(point: int) -> str:
    """What becomes of one code point before marks compose: the definition that the table caches."""
    before, text = "", "" if _is_dropped(point) else chr(point)
    while text != before:
        before = text
        visible = "".join(c for c in unicodedata.normalize("NFKC", text) if not _is_dropped(ord(c)))
        text = unicodedata.normalize("NFKC", visible.casefold())
    if len(text) > LONGEST_FOLD:
        return chr(point)
    return "".join(" " if c.isspace() else c for c in text)


def _is_dropped(point: int) -> bool:
    category = unicodedata.category(chr(point))
    return (
        category in ("Cf", "Me")
        or (category == "Cc" and not chr(point).isspace())
        or point in _BLANKS
        or point & 0xFFFE == 0xFFFE  # the last two of each plane are noncharacters
        or 0xFDD0 <= point <= 0xFDEF
        or any(low <= point <= high for low, high in _INVISIBLE)
        or (any(low <= point <= high for low, high in _MARKS) and point not in _composing())
    )


@cache
def _composing() -> frozenset[int]:
    """Code points that may compose with the one before (NFC_Quick_Check=Maybe)."""
    composing = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))  # Hangul vowels and final consonants
    for point in range(0xC0, 0x1E000):  # no canonical pair lies outside
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            composing.add(int(parts[1], 16))
    return frozenset(composing)


def _learn(points: NDArray[np.uint32]) -> None:
    """Fill the table for these code points. What it refers to is there before it."""
    global _expansions
    entries, expansions = {}, []
    with _learning:
        size = _expansions.size
        for point in np.unique(points).tolist():
            folded = fold(point)
            if len(folded) == 1:
                target = ord(folded)
                entry = target | unicodedata.combining(folded) << int(_CLASS_SHIFT)
                entries[point] = entry | (int(_COMPOSES) if target in _composing() else 0)
            else:
                entries[point] = int(_EXPANDS) | len(folded) << int(_CLASS_SHIFT) | size
                expansions.append(folded)
                size += len(folded)
        if expansions:
            added = np.frombuffer("".join(expansions).encode("utf-32-le", "surrogatepass"), dtype="<u4")
            _expansions = np.concatenate([_expansions, added])
        for point, entry in entries.items():
            _table[point] = entry


def _expanded_lengths(entries: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """How many code points each becomes, by the entries of those that do not become exactly one."""
    return (entries >> _CLASS_SHIFT).astype(np.uint8)


def _looked_up(points: NDArray[np.uint32]) -> NDArray[np.uint32]:
    entries: NDArray[np.uint32] = np.take(_table, points)
    if entries.size and entries.max() >= _UNSEEN:
        _learn(points[entries == _UNSEEN])
        entries = np.take(_table, points)
    return entries


def _folded_ascii(text: str, starts: NDArray[np.int64]) -> tuple[Points, NDArray[np.int64]]:
    raw = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    # A capital differs from its small letter in one bit. Subtraction wraps, so one comparison tests a range.
    points: NDArray[np.uint8] = raw | (((raw - np.uint8(ord("A"))) < 26).view(np.uint8) * np.uint8(32))
    # str.isspace in ASCII: 9 to 13, 28 to 31, and the space itself.
    control = np.flatnonzero((points - np.uint8(_SPACE)) >= _DELETE - _SPACE)
    if not control.size:
        return points, starts
    values = points[control]
    white = ((values - np.uint8(9)) < 5) | ((values - np.uint8(28)) < 4)
    points[control[white]] = _SPACE
    return _without(points, starts, control[~white])


def _folded(raw: NDArray[np.uint32], starts: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The folded and composed code points of a batch, white space still in runs."""
    entries = _looked_up(raw)
    seen = int(np.bitwise_or.reduce(entries))
    if seen & int(_EXPANDS):
        raw, starts = _expanded(entries, starts)
        entries = _looked_up(raw)
        seen = int(np.bitwise_or.reduce(entries))
    if seen <= int(_FOLDED):
        return entries, starts
    points = entries & _FOLDED
    classes = (entries >> _CLASS_SHIFT).astype(np.uint8)
    composes = entries >= _COMPOSES
    suspect = composes.copy()
    suspect[1:] |= (classes[1:] != 0) & (classes[1:] < classes[:-1])  # out of order
    if not suspect.any():
        return points, starts
    opens = np.zeros(points.size + 1, dtype=np.bool_)
    opens[starts] = True
    heads = np.flatnonzero(opens[:-1] | ~composes & (classes == 0))
    holding = np.searchsorted(heads, np.flatnonzero(suspect), side="right") - 1
    holding = holding[np.append(True, holding[1:] != holding[:-1])]
    # Sequences side by side are composed as one, within a text.
    first = np.append(True, holding[1:] != holding[:-1] + 1) | opens[heads[holding]]
    last = np.append(np.flatnonzero(first)[1:], holding.size) - 1
    begins, ends = heads[holding[first]], np.append(heads, points.size)[holding[last] + 1]
    return _composed(points, classes, starts, begins, ends)


def _expanded(entries: NDArray[np.uint32], starts: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Put in place what one code point becomes if that is not exactly one."""
    where = np.flatnonzero(entries >= _EXPANDS)
    places, lengths = entries[where] & _FOLDED, _expanded_lengths(entries[where])
    repeats = np.ones(entries.size, dtype=np.uint8)
    repeats[where] = lengths
    points = np.repeat(entries & _FOLDED, repeats)
    growth = np.zeros(where.size + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=growth[1:])
    growth -= np.arange(growth.size)
    first = where + growth[:-1]
    for step in range(LONGEST_FOLD):
        longer = lengths > step
        if not longer.all():
            first, places, lengths = first[longer], places[longer], lengths[longer]
        points[first + step] = _expansions[places + np.uint32(step)]
    return points, starts + growth[np.searchsorted(where, starts)]


def _composed(
    points: NDArray[np.uint32],
    classes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Compose some stretches, each of which begins with what composes with nothing before it, or opens a text.

    Marks that belong to no script and have not composed are dropped.
    """
    lengths = ends - begins
    # All are composed in one call, each with a line feed behind it: white space is folded to spaces, so no text has it.
    taken = _covered(begins, ends, points.size)
    room = np.ones(int(lengths.sum()) + lengths.size, dtype=np.bool_)
    room[np.cumsum(lengths + 1) - 1] = False
    stretches, their_classes = np.full(room.size, _LINE_FEED, dtype=np.uint32), np.zeros(room.size, dtype=np.uint8)
    stretches[room], their_classes[room] = points[taken], classes[taken]
    composed = _nfc(_in_order(stretches, their_classes))
    stray = (composed - _FIRST_MARK) < _MARK_COUNT
    if stray.any():
        composed = _nfc(composed[~stray])  # again, since they may have been between a letter and its own marks
    their_ends = np.flatnonzero(composed == _LINE_FEED)
    growth = np.zeros(begins.size + 1, dtype=np.int64)
    np.cumsum(np.diff(their_ends, prepend=-1) - 1 - lengths, out=growth[1:])
    whole = np.empty(points.size + int(growth[-1]), dtype=np.uint32)
    replaced = _covered(begins + growth[:-1], ends + growth[1:], whole.size)
    whole[replaced] = composed[composed != _LINE_FEED]
    whole[~replaced] = points[~taken]
    return whole, starts + growth[np.searchsorted(begins, starts)]


def _covered(begins: NDArray[np.int64], ends: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which of `size` places lie in one of these stretches, none of which overlap; some may have become empty."""
    some = begins < ends
    turns = np.zeros(size + 1, dtype=np.int8)
    turns[begins[some]] = 1
    turns[ends[some]] -= 1
    return np.cumsum(turns[:-1], dtype=np.int8).view(np.bool_)


def _nfc(points: NDArray[np.uint32]) -> NDArray[np.uint32]:
    text = unicodedata.normalize("NFC", points.tobytes().decode("utf-32-le"))
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def _in_order(points: NDArray[np.uint32], classes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Sort each run of marks by class, as NFC would: but unicodedata needs the square of a run's length for it."""
    if not ((classes[1:] < classes[:-1]) & (classes[1:] != 0)).any():
        return points
    marks = np.flatnonzero(classes)
    run = marks - np.arange(marks.size)  # the same for marks side by side
    points[marks] = points[marks[np.lexsort((classes[marks], run))]]
    return points


def _single_spaced(points: Points, starts: NDArray[np.int64]) -> Texts:
    """Reduce runs of spaces to one and drop those at the ends of texts."""
    spaces = points == _SPACE
    points, starts = _without(points, starts, np.flatnonzero(spaces[1:] & spaces[:-1]) + 1)
    # At either end of a text one space may be left. (A run across two texts has lost what the second had of it.)
    begins, ends = starts[:-1], starts[1:]
    edges = np.concatenate([begins[begins < ends], ends[begins < ends] - 1])
    points, starts = _without(points, starts, np.unique(edges[points[edges] == _SPACE]))
    return Texts(points, starts)


def _without(points: Points, starts: NDArray[np.int64], places: NDArray[np.int64]) -> tuple[Points, NDArray[np.int64]]:
    """Delete some places, given in rising order."""
    if not places.size:
        return points, starts
    starts = starts - np.searchsorted(places, starts)
    if points.dtype == np.uint8:
        # Marked by a byte that ASCII has not, they go by `replace`, which moves what lies between in whole pieces.
        points = points.copy()
        points[places] = 0xFF
        return np.frombuffer(points.tobytes().replace(b"\xff", b""), dtype=np.uint8), starts
    keep = np.ones(points.size, dtype=np.bool_)
    keep[places] = False
    return points[keep], starts
