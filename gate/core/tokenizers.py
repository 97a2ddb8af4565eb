"""Tokenizers: a document as a sequence of words or of their Soundex codes, as 64-bit token hashes.

**Words** are runs of letters, digits, underscores and combining marks (`\\w` and category M). Scripts that write no
spaces (Han, kana, Thai, Lao, Khmer, Myanmar) would make a word of every sentence, so there each letter with its marks
is a word. A word longer than 64 code points is cut every 64: text without spaces (base64, say) still has many tokens.

**The hash of a token**, bit for bit (a kernel in another language must repeat it): its UTF-8 bytes in chunks of eight,
each chunk read as a little-endian 64-bit number, the last one filled up with zeros; then

    h = 0;  for each chunk:  h = fmix64(h ^ chunk)

where fmix64 is the finaliser of MurmurHash3. A chunk is hashed by a bijection, so words of up to eight bytes never
collide, and one load takes the place of eight steps of a polynomial. What is a bijection can be undone: under a secret
a token is its value in `gate.core.keyed_hash` instead, which the hash of a k-gram hides.
"""

from __future__ import annotations

import threading
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import jellyfish
import numpy as np
from numpy.typing import NDArray

from gate.core import keyed_hash
from gate.core.byte_chunks import U64, aligned, load_chunks
from gate.core.keyed_hash import Key
from gate.core.native import loader
from gate.core.native.kernel import UnknownClass
from gate.core.text import Texts

Hashes = NDArray[np.uint64]

LONGEST_WORD = 64
CODE_BYTES = 4  # of a Soundex code

_CACHED = 32 * 1024  # hashes to work on at a time: 256 KB and as much spare stay in a core's cache
_SHIFT = np.uint64(33)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)

# Classes of code points; 0 in the table is one that was not seen yet.
_OTHER, _WORD, _MARK, _ALONE = 1, 2, 3, 4
_classes = np.zeros(0x110000, dtype=np.uint8)

# What a code point is to Soundex in the compiled kernel: a small letter of ASCII once its accents are stripped, or one
# of these; 0 in the table is one that was not seen yet.
_IGNORED, _NO_LETTER = 1, 2
_letters = np.zeros(0x110000, dtype=np.uint8)

# Letters of scripts without spaces, by block.
SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x20000, 0x3FFFD),  # Han
    (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x1AFF0, 0x1B16F),  # kana
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """The positions of words in the UTF-8 of a batch: word j is `data[begins[j]:begins[j] + lengths[j]]`.

    Those of text i are `starts[i]` to `starts[i + 1]`. Eight zero bytes follow the last text, so that eight bytes
    can be loaded anywhere.
    """

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token hashes of all texts back to back: those of text i are `hashes[starts[i]:starts[i + 1]]`."""

    hashes: Hashes
    starts: NDArray[np.int64]

    def only(self, keep: NDArray[np.bool_]) -> Tokens:
        """Leave out some tokens, and close the gaps."""
        dropped = np.flatnonzero(~keep)
        return Tokens(self.hashes[keep], self.starts - np.searchsorted(dropped, self.starts))


def fmix64(values: Hashes) -> Hashes:
    """The finaliser of MurmurHash3, in place, for a contiguous array."""
    flat = values.reshape(-1)
    spare = np.empty(min(flat.size, _CACHED), dtype=np.uint64)
    for begin in range(0, flat.size, _CACHED):
        block = flat[begin : begin + _CACHED]
        shifted = spare[: block.size]
        np.right_shift(block, _SHIFT, out=shifted)
        np.bitwise_xor(block, shifted, out=block)
        np.multiply(block, _FIRST, out=block)
        np.right_shift(block, _SHIFT, out=shifted)
        np.bitwise_xor(block, shifted, out=block)
        np.multiply(block, _SECOND, out=block)
        np.right_shift(block, _SHIFT, out=shifted)
        np.bitwise_xor(block, shifted, out=block)
    return values


def utf8(texts: Texts) -> tuple[NDArray[np.uint8], NDArray[np.int64] | None]:
    """The UTF-8 of a batch with eight zero bytes behind it, and where each code point begins (None: ASCII)."""
    if texts.points.dtype == np.uint8:
        return np.concatenate([texts.points, np.zeros(8, dtype=np.uint8)]), None
    data = np.frombuffer(texts.points.tobytes().decode("utf-32-le").encode() + bytes(8), dtype=np.uint8)
    # Each byte that does not continue a code point begins one; the first of the eight zeros marks the end.
    return data, np.flatnonzero((data & 0xC0) != 0x80)[: texts.points.size + 1]


def lanes_of(data: NDArray[np.uint8]) -> Hashes:
    """A view of the eight bytes that begin at each place."""
    return np.ndarray((data.size - 7,), dtype="<u8", buffer=data, strides=(1,))


def chained(data: NDArray[np.uint8], begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> Hashes:
    """The hash without a secret, as defined above, of some stretches of bytes."""
    lanes = aligned(data)
    hashes = np.empty(begins.size, dtype=np.uint64)
    for first in range(0, begins.size, _CACHED):
        some = slice(first, first + _CACHED)
        hashes[some] = _chained(lanes, begins[some], lengths[some])
    return hashes


def _chained(lanes: U64, begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> Hashes:
    hashes = fmix64(load_chunks(lanes, begins, lengths))
    longer = np.flatnonzero(lengths > 8)
    begins, left = begins[longer], lengths[longer]
    while longer.size:
        begins += 8
        left -= 8
        chunk = load_chunks(lanes, begins, left)
        chunk ^= hashes[longer]
        hashes[longer] = fmix64(chunk)
        more = left > 8
        longer, begins, left = longer[more], begins[more], left[more]
    return hashes


def find_words(texts: Texts) -> Words:
    """Find the words of each text."""
    begins, ends = _ascii_words(texts) if texts.points.dtype == np.uint8 else _unicode_words(texts)
    begins, lengths = _cut(begins, ends - begins)
    starts = np.searchsorted(begins, texts.starts)
    data, offsets = utf8(texts)
    if offsets is None:
        return Words(data, begins, lengths, starts)
    ends = offsets[begins + lengths]
    begins = offsets[begins]
    return Words(data, begins, ends - begins, starts)


def token_hashes(texts: Texts, *, soundex: bool = False, key: Key | None = None) -> Tokens:
    """A token for each word of each text, or for its Soundex code."""
    kernel = loader.active()
    if kernel is None:
        words = find_words(texts)
        return soundex_tokens(words, key) if soundex else word_tokens(words, key)
    column = None if key is None else key.column()
    letters = _letters if soundex else None
    try:
        columns = kernel.tokens(texts.points, texts.starts, classes=_classes, letters=letters, key=column)
    except UnknownClass:
        points = texts.points.astype(np.uint32, copy=False)
        classify(points)
        _learn_letters(points)
        columns = kernel.tokens(texts.points, texts.starts, classes=_classes, letters=letters, key=column)
    return Tokens(*columns)


def word_tokens(words: Words, key: Key | None = None) -> Tokens:
    """A token for each word."""
    return Tokens(_hashed(words.data, words.begins, words.lengths, key), words.starts)


def _hashed(data: NDArray[np.uint8], begins: NDArray[np.int64], lengths: NDArray[np.int64], key: Key | None) -> Hashes:
    return chained(data, begins, lengths) if key is None else keyed_hash.token_values(data, begins, lengths, key)


def _ascii_words(texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    points = texts.points
    inside = np.zeros(points.size + 1, dtype=np.bool_)
    np.less(points - np.uint8(ord("a")), 26, out=inside[:-1])
    inside[:-1] |= (points - np.uint8(ord("0"))) < 10
    inside[:-1] |= points == ord("_")
    return _runs(inside, texts.starts)


def _runs(inside: NDArray[np.bool_], starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begins and ends of the runs of True, none across two texts. `inside` has one False more than there are points."""
    turns = np.empty_like(inside)
    turns[0] = inside[0]
    np.not_equal(inside[1:], inside[:-1], out=turns[1:])
    edges = np.flatnonzero(turns)
    # Where a text ends inside a run and the next one goes on with it, there is no turn, but an end and a begin.
    joints = starts[1:-1]
    joints = joints[inside[joints]]
    joints = np.unique(joints[(joints > 0) & inside[joints - 1]])
    if joints.size:
        # Few places among many: copying what lies between them is several times faster than np.insert.
        twice, cuts = np.repeat(joints, 2), [0, *np.searchsorted(edges, joints).tolist(), edges.size]
        pieces = [
            piece for i in range(joints.size) for piece in (edges[cuts[i] : cuts[i + 1]], twice[2 * i : 2 * i + 2])
        ]
        edges = np.concatenate([*pieces, edges[cuts[-2] :]])
    return edges[::2].copy(), edges[1::2]


def classify(points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The class of each code point, learnt when it is first seen."""
    classes: NDArray[np.uint8] = np.take(_classes, points)
    if classes.size and not classes.all():
        for point in np.unique(points[classes == 0]).tolist():
            _classes[point] = _class_of(point)
        classes = np.take(_classes, points)
    return classes


def _class_of(point: int) -> int:
    letter = chr(point)
    category = unicodedata.category(letter)
    if category.startswith("M"):
        return _MARK
    if not (letter.isalnum() or letter == "_"):
        return _OTHER
    if category != "Nd" and any(low <= point <= high for low, high in SPACELESS):
        return _ALONE
    return _WORD


def _unicode_words(texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    classes = classify(texts.points.astype(np.uint32, copy=False))
    inside = np.zeros(classes.size + 1, dtype=np.bool_)
    np.greater(classes, _OTHER, out=inside[:-1])
    begins, ends = _runs(inside, texts.starts)
    if not (classes == _ALONE).any():
        return begins, ends
    # A letter that is a word by itself begins one, and so does what follows it and its marks. Marks that open a text
    # belong to no letter of the text before.
    solid = np.flatnonzero(classes != _MARK)
    alone = classes[solid] == _ALONE
    follows = np.append(False, alone[:-1])
    opened = texts.starts[texts.starts < classes.size]
    place = np.searchsorted(solid, opened[classes[opened] == _MARK])
    follows[place[place < solid.size]] = False
    follows &= inside[solid]
    first = np.zeros(classes.size + 1, dtype=np.bool_)
    first[begins] = True
    first[solid[alone | follows]] = True
    begins = np.flatnonzero(first)
    # A word ends with its run or where the next word begins, whichever comes first.
    run_ends = ends[np.searchsorted(ends, begins, side="right")]
    return begins, np.minimum(run_ends, np.append(begins[1:], classes.size))


def _cut(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not lengths.size or lengths.max() <= LONGEST_WORD:
        return begins, lengths
    pieces = -(-lengths // LONGEST_WORD)
    which = np.repeat(np.arange(begins.size), pieces)
    done = (np.arange(which.size) - (np.cumsum(pieces) - pieces)[which]) * LONGEST_WORD
    return begins[which] + done, np.minimum(lengths[which] - done, LONGEST_WORD)


class _Memo:
    """Soundex codes by word hash, in a table of fixed size where a newer word may displace an older one.

    There is one for each secret: with it, two words that take each other's slot cannot be crafted.
    """

    SLOT_BITS = 18  # 4 MB; several times the distinct words of most batches, so that few displace each other
    ROW = np.dtype([("hash", np.uint64), ("value", np.uint64)])

    def __init__(self) -> None:
        self.rows = np.zeros(1 << self.SLOT_BITS, dtype=self.ROW)
        self.rows["hash"][0] = ~np.uint64(0)  # no hash of the slot 0, which 0 would be
        self.lock = threading.Lock()

    def look_up(self, hashes: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
        """The values, and the places of the hashes that are not in the table."""
        with self.lock:
            rows = self.rows.take((hashes >> np.uint64(64 - self.SLOT_BITS)).view(np.int64))
        return rows["value"].copy(), np.flatnonzero(rows["hash"] != hashes)

    def learn(self, hashes: Hashes, values: Hashes) -> None:
        rows = np.empty(hashes.size, dtype=self.ROW)
        rows["hash"], rows["value"] = hashes, values
        with self.lock:
            self.rows[hashes >> np.uint64(64 - self.SLOT_BITS)] = rows


@lru_cache(maxsize=4)
def _memo_of(key: Key | None) -> _Memo:
    return _Memo()


def soundex_tokens(words: Words, key: Key | None = None) -> Tokens:
    """A token for the Soundex code of each word; a word that has none keeps its own hash.

    The code is known for words made of ASCII letters once their accents are stripped. Any other word would
    lose most of what it says (Soundex of a Russian word is nothing), so its own hash is kept.
    """
    hashes = word_tokens(words, key).hashes
    codes = soundex_codes(words, hashes, key)
    spelt = codes.astype("<u8", copy=False).view(np.uint8)
    places = np.arange(0, spelt.size, 8)
    tokens = _hashed(spelt, places, np.full(codes.size, CODE_BYTES), key)
    verbatim = np.flatnonzero(codes == 0)
    tokens[verbatim] = hashes[verbatim]
    return Tokens(tokens, words.starts)


def soundex_codes(words: Words, hashes: Hashes, key: Key | None = None) -> Hashes:
    """The code of each word, its four ASCII characters as one chunk; 0: it has none. `hashes` are those of words."""
    memo = _memo_of(key)
    if key is not None:  # the values of short words are no random numbers, as the memo's slots want them
        hashes = fmix64(hashes ^ np.uint64(key.token_point))
    codes, missing = memo.look_up(hashes)
    if missing.size:
        distinct, first, inverse = np.unique(hashes[missing], return_index=True, return_inverse=True)
        learnt = _soundex_codes(words, missing[first])
        memo.learn(distinct, learnt)
        codes[missing] = learnt[inverse]
    return codes


def _soundex_codes(words: Words, places: NDArray[np.int64]) -> Hashes:
    data = words.data.tobytes()
    codes = np.zeros(places.size, dtype=np.uint64)
    for i, (begin, length) in enumerate(zip(words.begins[places].tolist(), words.lengths[places].tolist())):
        codes[i] = soundex_chunk(data[begin : begin + length].decode())
    return codes


def _learn_letters(points: NDArray[np.uint32]) -> None:
    """Fill the table of letters for these code points."""
    for point in np.unique(points[np.take(_letters, points) == 0]).tolist():
        _letters[point] = _letter_of(point)


def _letter_of(point: int) -> int:
    letter = "".join(c for c in unicodedata.normalize("NFD", chr(point)) if not unicodedata.combining(c))
    if not letter:
        return _IGNORED
    return ord(letter.lower()) if len(letter) == 1 and letter.isascii() and letter.isalpha() else _NO_LETTER


_letters[:128] = [_letter_of(point) for point in range(128)]


def soundex_chunk(word: str) -> int:
    """The Soundex code of a word as one chunk, or 0."""
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if not (word.isascii() and word.isalpha()):
        return 0
    return int.from_bytes(jellyfish.soundex(word).encode(), "little")
