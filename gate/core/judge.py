"""From what was found to an answer: similar or not, how, and which document was first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gate.core.stored_verdict import Answer, Hit
from gate.core.verify import Likeness
from gate.model import Degraded, Relation

EXACT = Likeness(distance=0, resemblance=1.0, containment=1.0, relation=Relation.EXACT)


@dataclass(frozen=True, slots=True)
class Known:
    """A document that is alike and was first."""

    entry: int
    document_id: str
    ticket: int
    likeness: Likeness


def judge(
    document_id: str,
    known: Sequence[Known],
    *,
    empty: bool,
    short: bool,
    earlier_versions: bool,
    candidates: int,
    degraded: Collection[Degraded],
    max_matches: int,
) -> Answer:
    """Decide. A document's own other versions never count against it, and nothing counts against an empty text."""
    if empty:
        return Answer(Relation.EMPTY, similar=False, candidates=0)
    against = sorted((one for one in known if one.document_id != document_id), key=_best_first) if known else []
    if not against:
        alone = Relation.REVISION if earlier_versions else Relation.TOO_SHORT if short else Relation.NEW
        return Answer(alone, similar=False, candidates=candidates, degraded=tuple(sorted(degraded)))
    if len(against) > max_matches:
        degraded = {*degraded, Degraded.MATCHES_CAPPED}
    return Answer(
        against[0].likeness.relation,
        similar=True,
        candidates=candidates,
        group=min(against, key=lambda one: one.ticket).entry,
        hits=tuple(map(_hit, against[:max_matches])),
        degraded=tuple(sorted(degraded)),
    )


def _best_first(one: Known) -> tuple[bool, float, int, int]:
    likeness = one.likeness
    return (
        likeness.relation is not Relation.EXACT,
        -(likeness.resemblance or 0.0),
        likeness.distance or 0,
        one.ticket,
    )


def _hit(one: Known) -> Hit:
    likeness = one.likeness
    return Hit(one.entry, likeness.relation, likeness.distance, likeness.resemblance, likeness.containment)
