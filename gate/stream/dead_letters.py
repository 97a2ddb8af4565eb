"""Dead letters: decode a record of the dead-letter topic, and restore the record that it is about.

Pure, except `fetch_original`, which reads the original from its topic where the dead letter holds no copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec import UNSET

from gate.stream.client_calls import retry_call
from gate.stream.records import ORIGINAL_PREFIX, OutgoingRecord, Record, is_gate_header
from gate.stream.settings import KafkaSettings
from gate.wire import DeadLetter

UNREADABLE = "unreadable"  # the reason of a record that is no dead letter
FETCH_MS = 2000

_decoder = msgspec.json.Decoder(DeadLetter)


@dataclass(frozen=True, slots=True)
class DeadLetterRecord:
    """A record of the dead-letter topic; `letter` is None where it cannot be decoded."""

    record: Record
    letter: DeadLetter | None

    @property
    def reason(self) -> str:
        return UNREADABLE if self.letter is None else self.letter.reason

    @property
    def position(self) -> str:
        """Partition and offset in the dead-letter topic, as a command line selects it: `0:17`."""
        return f"{self.record.partition}:{self.record.offset}"


def decode_dead_letter(record: Record) -> DeadLetterRecord:
    """Decode a record; what another program wrote to the topic is no error."""
    try:
        return DeadLetterRecord(record, _decoder.decode(record.value or b""))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return DeadLetterRecord(record, None)


def restore_original(dead: DeadLetterRecord) -> OutgoingRecord | None:
    """The original record from the copy in its dead letter; None where that holds none."""
    letter = dead.letter
    if letter is None or letter.origin is None or letter.origin.topic is None:
        return None
    value: bytes | None
    if letter.original is not UNSET:
        value = letter.original.encode()
    elif letter.original_base64 is not UNSET:
        value = letter.original_base64
    else:
        return None
    if letter.reason == "bad_key":
        value = None  # it was a tombstone, which is not the same as a record with an empty value
    headers = [
        (name.removeprefix(ORIGINAL_PREFIX), header)
        for name, header in dead.record.headers
        if name.startswith(ORIGINAL_PREFIX) or not is_gate_header(name)
    ]
    return OutgoingRecord(letter.origin.topic, dead.record.key, value, headers)


async def fetch_original(
    kafka: KafkaSettings, consumer: AIOKafkaConsumer, dead: DeadLetterRecord
) -> OutgoingRecord | None:
    """The original record from its topic. None where retention dropped it, where the topic was created again and the
    offset holds another record, and where the record was never decompressed."""
    origin = dead.letter.origin if dead.letter else None
    if origin is None or origin.topic is None or origin.partition is None or origin.offset is None:
        return None
    partition = TopicPartition(origin.topic, origin.partition)
    starts = await retry_call(kafka, lambda: consumer.beginning_offsets([partition]))
    ends = await retry_call(kafka, lambda: consumer.end_offsets([partition]))
    if not starts[partition] <= origin.offset < ends[partition]:
        return None
    consumer.assign([partition])
    consumer.seek(partition, origin.offset)
    polled = await retry_call(kafka, lambda: consumer.getmany(partition, timeout_ms=FETCH_MS, max_records=1))
    for record in polled.get(partition, ()):
        if record.offset == origin.offset and _has_same_hash(dead, record):
            return OutgoingRecord(origin.topic, record.key, record.value, list(record.headers))
    return None


def _has_same_hash(dead: DeadLetterRecord, record: Record) -> bool:
    """False for a record that was not decompressed: its dead letter has no hash."""
    return dead.letter is not None and hashlib.sha256(record.value or b"").hexdigest() == dead.letter.sha256


def is_selected(dead: DeadLetterRecord, *, reasons: Iterable[str], positions: Iterable[str]) -> bool:
    """Whether a dead letter is at one of the positions, or else has one of the reasons; without either, all are."""
    if positions:
        return dead.position in positions
    return not reasons or dead.reason in reasons
