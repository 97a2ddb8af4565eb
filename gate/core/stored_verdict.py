"""Answers as they are stored: in few bytes, because every document has one.

    [relation, similar, candidates, group, [[entry, relation, distance, resemblance, containment], ...], [reason, ...]]

in MessagePack, with numbers for words and ten-thousandths for measures. The group is 0 for the document itself, -n for
the n-th hit, and else an entry. A file without text has one number more: why it has none. Where lengths ruled documents
out there are two more: that number or 0, and how many. Every later version has to read what is stored: words and fields
are only ever added, at the end.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from gate.errors import UNREADABLE_REASONS, UnreadableReason
from gate.model import Degraded, Relation

RELATIONS = (
    Relation.NEW,
    Relation.EXACT,
    Relation.NEAR,
    Relation.CONTAINED,
    Relation.CONTAINS,
    Relation.REVISION,
    Relation.TOO_SHORT,
    Relation.EMPTY,
    Relation.UNREADABLE,
    Relation.UNDECIDED,
)
REASONS = (
    Degraded.BUCKET_CAPPED,
    Degraded.CANDIDATES_CAPPED,
    Degraded.MATCHES_CAPPED,
    Degraded.FEATURES_CAPPED,
    Degraded.UNCHECKED,
    Degraded.DETAILS_CUT,
)
UNITS = 10_000  # measures are stored to four decimal places

_relation_numbers = {relation: number for number, relation in enumerate(RELATIONS)}
_reason_numbers = {reason: number for number, reason in enumerate(REASONS)}


class Hit(msgspec.Struct, frozen=True):
    """A match, by entry: the name of a deleted document lives nowhere else."""

    entry: int
    relation: Relation
    distance: int | None
    resemblance: float | None
    containment: float | None


class Answer(msgspec.Struct, frozen=True):
    """The answer to a check-in, now and whenever the document is checked in again."""

    relation: Relation
    similar: bool
    candidates: int
    group: int = 0  # the entry of the first of the family; 0: the document itself
    hits: tuple[Hit, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    unreadable: UnreadableReason | None = None  # why it has no text, and was compared by its bytes
    ruled_out: int = 0  # documents that a bucket names, and whose lengths rule them out: not candidates

    @property
    def passed(self) -> bool:
        """Whether the document was let in."""
        return not self.similar and self.relation is not Relation.UNDECIDED


class _Hit(msgspec.Struct, frozen=True, array_like=True):
    entry: int
    relation: int
    distance: int | None
    resemblance: int | None
    containment: int | None


class _Answer(msgspec.Struct, frozen=True, array_like=True):
    relation: int
    similar: bool
    candidates: int
    group: int = 0
    hits: tuple[_Hit, ...] = ()
    degraded: tuple[int, ...] = ()


class _UnreadableAnswer(_Answer, frozen=True, array_like=True):
    unreadable: int = 0  # from 1


class _LengthFilteredAnswer(_UnreadableAnswer, frozen=True, array_like=True):
    ruled_out: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_LengthFilteredAnswer)  # reads the others too


def encode_answer(answer: Answer) -> bytes:
    if not (answer.hits or answer.degraded or answer.unreadable or answer.ruled_out):
        return _encode_without_hits(answer.relation, answer.similar, answer.candidates, answer.group)
    hits = tuple(
        _Hit(hit.entry, _relation_numbers[hit.relation], hit.distance, _units(hit.resemblance), _units(hit.containment))
        for hit in answer.hits
    )
    group = answer.group
    for place, hit in enumerate(answer.hits, 1):
        if hit.entry == group:
            group = -place
    reasons = tuple(_reason_numbers[reason] for reason in answer.degraded)
    number = _relation_numbers[answer.relation]
    common = (number, answer.similar, answer.candidates, group, hits, reasons)
    unreadable = UNREADABLE_REASONS.index(answer.unreadable) + 1 if answer.unreadable else 0
    if answer.ruled_out:
        return _encoder.encode(_LengthFilteredAnswer(*common, unreadable, answer.ruled_out))
    return _encoder.encode(_UnreadableAnswer(*common, unreadable) if unreadable else _Answer(*common))


@lru_cache(maxsize=256)
def _encode_without_hits(relation: Relation, similar: bool, candidates: int, group: int) -> bytes:
    """Of a document without a match. Most have none, and one of a few answers: many then share one object."""
    return _encoder.encode(_Answer(_relation_numbers[relation], similar, candidates, group))


def decode_answer(data: bytes) -> Answer:
    stored = _decoder.decode(data)
    hits = tuple(
        Hit(hit.entry, RELATIONS[hit.relation], hit.distance, _measure(hit.resemblance), _measure(hit.containment))
        for hit in stored.hits
    )
    return Answer(
        RELATIONS[stored.relation],
        similar=stored.similar,
        candidates=stored.candidates,
        group=hits[-stored.group - 1].entry if stored.group < 0 else stored.group,
        hits=hits,
        degraded=tuple(REASONS[number] for number in stored.degraded),
        unreadable=UNREADABLE_REASONS[stored.unreadable - 1] if stored.unreadable else None,
        ruled_out=stored.ruled_out,
    )


def _units(measure: float | None) -> int | None:
    return None if measure is None else round(measure * UNITS)


def _measure(units: int | None) -> float | None:
    return None if units is None else units / UNITS
