"""Malformed and malicious events: fuzzed JSON, wrong types, huge fields, bytes that are no text, keys that are no id.

`python -m load.hostile [--events 100000] [--json]` sends them through a gate on a real broker and compares what
comes out with what went in: nothing is lost, nothing crashes, everything that cannot be judged is dead-lettered with
a reason.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load.measure import BenchmarkReport
from tests.support.brokers import TopicFactory, kafka_server
from tests.support.gate_on_kafka import GateOnKafka, InputRecord

WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "you",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "they",
    "be",
]


@dataclass(frozen=True)
class HostileRecord(InputRecord):
    """A malformed or malicious record. A well-formed delete among them gets no answer."""

    is_delete: bool = False


def hostile_records(count: int, *, seed: int) -> Iterator[HostileRecord]:
    rng = random.Random(seed)
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
    for number in range(count):
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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with kafka_server() as broker, tempfile.TemporaryDirectory(prefix="gate-hostile-") as folder:
        gate = GateOnKafka.create(TopicFactory(broker.brokers, "hostile"), Path(folder), "memory")
        started = time.monotonic()
        sent = Counter[bool]()
        for first in range(0, options.events, 5000):
            part = list(hostile_records(min(5000, options.events - first), seed=options.seed + first))
            sent.update(record.is_delete for record in part)
            gate.send(part)
        gate.send([InputRecord.of("last", " ".join(WORDS))])
        worker = gate.start()
        gate.wait_committed(options.events + 1, seconds=600)
        crashed = worker.process.poll() is not None
        worker.stop()
        letters = gate.all_records(gate.topics.dead_letters)
        verdicts = gate.all_records(gate.topics.verdicts)
        gate.close()
        seconds = time.monotonic() - started
    lost = options.events + 1 - sent[True] - len(letters) - len(verdicts)
    reasons = Counter(json.loads(letter.value)["reason"] for letter in letters)
    report = BenchmarkReport(
        "Hostile events", {"events": options.events, "seed": options.seed, "seconds": round(seconds)}
    )
    outcomes = {"dead-lettered": len(letters), "judged": len(verdicts), "deletes": sent[True], "lost": lost}
    report.add("outcomes", [outcomes | {"crashes": int(crashed)}])
    report.add("dead letters", [{"reason": reason, "events": count} for reason, count in reasons.most_common()])
    report.show(as_json=options.json)
    return 1 if lost or crashed else 0


if __name__ == "__main__":
    sys.exit(main())
