"""Dead letters: what a record of that topic says, and the record that it was before.

Pure, but for `original_at`, which asks the broker for a record whose letter holds no copy of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec import UNSET

from gate.stream.admin import asked
from gate.stream.events import ORIGINAL, Outgoing, Record, is_own
from gate.stream.settings import KafkaSettings
from gate.wire import DeadLetter

UNREADABLE = "unreadable"  # the reason of a letter that is none
FETCH_MS = 2000

_decoder = msgspec.json.Decoder(DeadLetter)


@dataclass(frozen=True, slots=True)
class Letter:
    """A record of the dead-letter topic; `told` is None where it is no dead letter."""

    record: Record
    told: DeadLetter | None

    @property
    def reason(self) -> str:
        return UNREADABLE if self.told is None else self.told.reason

    @property
    def name(self) -> str:
        """How it is picked: its partition and offset among the dead letters."""
        return f"{self.record.partition}:{self.record.offset}"


def read_letter(record: Record) -> Letter:
    try:
        return Letter(record, _decoder.decode(record.value or b""))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Letter(record, None)


def original_of(letter: Letter) -> Outgoing | None:
    """The record that a letter holds, as it can be sent again; None where it holds none."""
    told = letter.told
    if told is None or told.origin is None or told.origin.topic is None:
        return None
    value: bytes | None
    if told.original is not UNSET:
        value = told.original.encode()
    elif told.original_base64 is not UNSET:
        value = told.original_base64
    else:
        return None
    if told.reason == "bad_key":
        value = None  # it was a record without a value, which is not the same as an empty one
    headers = [
        (name.removeprefix(ORIGINAL), header)
        for name, header in letter.record.headers
        if name.startswith(ORIGINAL) or not is_own(name)
    ]
    return Outgoing(told.origin.topic, letter.record.key, value, headers)


async def original_at(kafka: KafkaSettings, consumer: AIOKafkaConsumer, letter: Letter) -> Outgoing | None:
    """The record at the origin that a letter names; None where it is no longer there, or is another one by now, as in a
    topic that was made anew, or was never unpacked."""
    origin = letter.told.origin if letter.told else None
    if origin is None or origin.topic is None or origin.partition is None or origin.offset is None:
        return None
    partition = TopicPartition(origin.topic, origin.partition)
    first = await asked(kafka, lambda: consumer.beginning_offsets([partition]))
    last = await asked(kafka, lambda: consumer.end_offsets([partition]))
    if not first[partition] <= origin.offset < last[partition]:
        return None
    consumer.assign([partition])
    consumer.seek(partition, origin.offset)
    found = await asked(kafka, lambda: consumer.getmany(partition, timeout_ms=FETCH_MS, max_records=1))
    for record in found.get(partition, ()):
        if record.offset == origin.offset and _is_of(letter, record):
            return Outgoing(origin.topic, record.key, record.value, list(record.headers))
    return None


def _is_of(letter: Letter, record: Record) -> bool:
    """By its hash. Neither a letter about what was not unpacked nor such a record has one."""
    return letter.told is not None and hashlib.sha256(record.value or b"").hexdigest() == letter.told.sha256


def chosen(letter: Letter, *, reasons: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a letter is one of those that are asked for; all are, where nothing is."""
    if names:
        return letter.name in names
    return not reasons or letter.reason in reasons
