"""Matches found, and the verdict that they make: shared by the tests of judging and of storing."""

from __future__ import annotations

from hypothesis import strategies as st

from gate.core.judge import DECIMALS, EarlierDocument, Likeness, judge
from gate.core.stored_verdict import Answer
from gate.errors import UnreadableReason
from gate.model import Degraded, Relation

ME = "me"


def near(resemblance: float | None = 0.9, distance: int | None = 1, relation: Relation = Relation.NEAR) -> Likeness:
    return Likeness(distance=distance, resemblance=resemblance, containment=0.5, relation=relation)


def earlier(entry: int, likeness: Likeness, *, ticket: int | None = None, owner: str = "other") -> EarlierDocument:
    return EarlierDocument(entry, owner, entry if ticket is None else ticket, likeness)


def judged(
    *documents: EarlierDocument,
    empty: bool = False,
    short: bool = False,
    unreadable: UnreadableReason | None = None,
    earlier_versions: bool = False,
    candidates: int = 7,
    degraded: tuple[Degraded, ...] = (),
    max_matches: int = 10,
) -> Answer:
    return judge(
        ME,
        documents,
        empty=empty,
        short=short,
        unreadable=unreadable,
        earlier_versions=earlier_versions,
        candidates=candidates,
        degraded=degraded,
        max_matches=max_matches,
    )


LIKENESSES = st.builds(
    Likeness,
    distance=st.none() | st.integers(0, 64),
    resemblance=st.none() | st.floats(0, 1).map(lambda value: round(value, DECIMALS)),
    containment=st.none() | st.floats(0, 1).map(lambda value: round(value, DECIMALS)),
    relation=st.sampled_from([Relation.EXACT, Relation.NEAR, Relation.CONTAINED, Relation.CONTAINS]),
)
EARLIER = st.lists(
    st.tuples(st.integers(1, 50), st.sampled_from([ME, "a", "b"]), LIKENESSES),
    max_size=15,
    unique_by=lambda row: row[0],
).map(lambda rows: [EarlierDocument(100 + ticket, owner, ticket, likeness) for ticket, owner, likeness in rows])
