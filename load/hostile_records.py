"""Malformed and malicious records for a topic of check-ins: the events, and the batches that they come in."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.gate_on_kafka import InputRecord
from tests.support.raw_batches import RawBatch

RARE = 200  # one record of so many is large or slow
HUGE = 5000  # one of so many is as large as records may be
LARGE_BYTES = 400_000  # more than the topics of `load.hostile` take

WORDS = ("the", "of", "and", "to", "in", "is", "you", "that", "it", "was", "for", "on", "are", "as", "with", "they")


@dataclass(frozen=True)
class HostileRecord(InputRecord):
    """A malformed or malicious record. A well-formed delete among them gets no answer."""

    is_delete: bool = False


def hostile_records(count: int, *, seed: int, first: int = 0) -> Iterator[HostileRecord]:
    """Records number `first` and following of a stream."""
    rng = random.Random(seed + first)
    kinds: Sequence[Callable[[random.Random], HostileRecord]] = (
        _cut_off,
        _flipped,
        _noise,
        _not_utf8,
        _wrong_types,
        _missing,
        _huge_field,
        _deep,
        _surrogate,
        _other_json,
        _bad_tombstone,
        _good_delete,
        _pointing,
        _many_fields,
        _odd_numbers,
    )
    rare = (_huge_trace, _large_trace, _filled_key, _filled_headers, _filled_key_and_headers, _slow_text)
    for number in range(first, first + count):
        if number % HUGE == HUGE - 1:
            yield _filled_metadata(rng)
        elif number % RARE == RARE - 1:
            yield rare[number // RARE % len(rare)](rng)
        else:
            yield kinds[number % len(kinds)](rng)


def _event(rng: random.Random) -> dict[str, Any]:
    return {"document_id": f"h{rng.getrandbits(40):x}", "text": " ".join(rng.choices(WORDS, k=rng.randint(1, 60)))}


def _of(rng: random.Random, value: bytes) -> HostileRecord:
    return HostileRecord(value, rng.randbytes(rng.randint(1, 12)), [("h", rng.randbytes(5))])


def _cut_off(rng: random.Random) -> HostileRecord:
    raw = json.dumps(_event(rng)).encode()
    return _of(rng, raw[: rng.randint(1, len(raw) - 1)])


def _flipped(rng: random.Random) -> HostileRecord:
    """One byte of the frame is another: the quotes, the braces, the names."""
    raw = bytearray(json.dumps(_event(rng)).encode())
    raw[rng.choice((0, 1, 5, 14, 15, -1, -2))] = rng.randint(0, 31)
    return _of(rng, bytes(raw))


def _noise(rng: random.Random) -> HostileRecord:
    return _of(rng, b"\x00" + rng.randbytes(rng.randint(0, 300)))


def _not_utf8(rng: random.Random) -> HostileRecord:
    raw = json.dumps(_event(rng)).encode()
    return _of(rng, raw[:-2] + b"\xff\xfe" + raw[-2:])


def _wrong_types(rng: random.Random) -> HostileRecord:
    event = _event(rng)
    field = rng.choice(("document_id", "text", "version", "checked_in_at", "type", "source"))
    event[field] = rng.choice(([], {}, True, -1.5, [event["text"]], {"a": 1}))
    return _of(rng, json.dumps(event).encode())


def _missing(rng: random.Random) -> HostileRecord:
    event = _event(rng)
    del event[rng.choice(("document_id", "text"))]
    return _of(rng, json.dumps(event).encode())


def _huge_field(rng: random.Random) -> HostileRecord:
    return _of(rng, json.dumps(_event(rng) | {"document_id": "x" * rng.randint(1025, 50_000)}).encode())


def _deep(rng: random.Random) -> HostileRecord:
    depth = rng.randint(2000, 20_000)
    raw = json.dumps(_event(rng)).encode()
    return _of(rng, raw[:-1] + b', "metadata": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}")


def _surrogate(rng: random.Random) -> HostileRecord:
    return _of(rng, json.dumps(_event(rng)).encode()[:-2] + b'\\ud800"}')


def _other_json(rng: random.Random) -> HostileRecord:
    return _of(rng, rng.choice((b"[]", b"null", b"1", b'"text"', b"[[[", b"{}", b"", b" ", b'{"type": "nonsense"}')))


def _bad_tombstone(rng: random.Random) -> HostileRecord:
    return HostileRecord(None, rng.choice((b"\xff\xfe", b"x" * 2000)))


def _good_delete(rng: random.Random) -> HostileRecord:
    return HostileRecord(None, f"h{rng.getrandbits(40):x}".encode(), is_delete=True)


def _pointing(rng: random.Random) -> HostileRecord:
    uri = rng.choice(("file:///etc/passwd", "http://localhost/", "file:../../x", "file:" + "a" * 5000, "\x00"))
    return _of(rng, json.dumps({"document_id": "p", "content_uri": uri}).encode())


def _many_fields(rng: random.Random) -> HostileRecord:
    event = _event(rng) | {f"f{n}": n for n in range(2000)}
    event["version"] = 10**400
    return _of(rng, json.dumps(event).encode())


def _odd_numbers(rng: random.Random) -> HostileRecord:
    raw = json.dumps(_event(rng)).encode()
    return _of(rng, raw[:-1] + b', "version": ' + rng.choice((b"NaN", b"1e999", b"-", b"0x10", b"1.5")) + b"}")


# Rare ones: what fills the topics of the answers, and what is slow to normalise.


def _huge_trace(rng: random.Random) -> HostileRecord:
    headers = [(rng.choice(("baggage", "tracestate")), rng.randbytes(1_200_000)), ("traceparent", b"00-1-2-01")]
    return HostileRecord(json.dumps(_event(rng)).encode(), b"k", headers)


def _large_trace(rng: random.Random) -> HostileRecord:
    """The gate carries these on, and the topic of verdicts does not take them."""
    headers = [("baggage", rng.randbytes(12_000)), ("tracestate", rng.randbytes(12_000))]
    return HostileRecord(json.dumps(_event(rng)).encode(), b"k", headers)


def _filled_key(rng: random.Random) -> HostileRecord:
    return HostileRecord(b'{"document_id": "key"', rng.randbytes(LARGE_BYTES))


def _filled_headers(rng: random.Random) -> HostileRecord:
    return HostileRecord(b'{"document_id": "headers"', b"k", [("own", rng.randbytes(LARGE_BYTES))])


def _filled_key_and_headers(rng: random.Random) -> HostileRecord:
    large = rng.randbytes(LARGE_BYTES)
    return HostileRecord(b'{"document_id": "both"', large, [("baggage", large)])


SLOW = (
    "a\u0301\u0323",  # marks that are put in another order
    "\u0334\u0301" * 50,
    "\ufdfa",  # becomes 18 letters
    "\u304b\u3099",
    "\u1fb7",
    "\u0130",
    "\n",
    "a ",
)


def _slow_text(rng: random.Random) -> HostileRecord:
    text = (rng.choice(SLOW) + rng.choice(SLOW)) * 50_000
    return _of(rng, json.dumps({"document_id": f"s{rng.getrandbits(40):x}", "text": text[:200_000]}).encode())


def _filled_metadata(rng: random.Random) -> HostileRecord:
    """One field of the most that a record takes, which unpacks to many small objects."""
    objects = b'{"b":[]},' * 3_000_000
    return _of(rng, json.dumps(_event(rng)).encode()[:-1] + b', "metadata": {"a": [' + objects + b"0]}}")


# Batches that no ordinary client sends.


def hostile_batches(rng: random.Random) -> list[RawBatch]:
    """A batch with a header whose name is not UTF-8, one in two members of gzip, and one that is to be
    damaged on disk, which is the last."""
    named = InputRecord(json.dumps(_event(rng)).encode(), b"named", [("@@", b"1")])

    def good() -> InputRecord:
        return InputRecord(json.dumps(_event(rng)).encode(), b"good")

    return [
        RawBatch([good(), named, good()], lambda records: records.replace(b"@@", b"\xff\xfe")),
        RawBatch([good(), good()], lambda records: gzip.compress(records[:70]) + gzip.compress(records[70:]), 1),
        RawBatch([good(), good()]),
    ]
