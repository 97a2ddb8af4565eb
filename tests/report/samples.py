"""Results that the tests of reports share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gate.model import Relation
from gate.report.results import Result, Results, UnreadableFile

MIDDAY = datetime(2026, 5, 6, 12, tzinfo=UTC)
MEANINGS = {relation: f"what {relation.value} means" for relation in Relation}


def result(
    document: str,
    relation: Relation = Relation.NEW,
    *,
    original: str | None = None,
    best: str | None = None,
    size: int = 100,
    days: int = 0,
    place: str | None = None,
    unreadable: str | None = None,
) -> Result:
    similar = original is not None
    return Result(
        document=document,
        relation=relation,
        similar=similar,
        original=original,
        best=best or original,
        resemblance=0.8 if similar else None,
        containment=0.9 if similar else None,
        distance=7 if similar else None,
        size_bytes=size,
        dated=MIDDAY + timedelta(days=days),
        place=place,
        unreadable=unreadable,
    )


def archive() -> Results:
    """Seven documents in three folders, among them families with three copies and one; three files were not read."""
    results = Results()
    results.add(
        [
            result("old/light.txt", size=1000),
            result("old/bread.txt", size=500, days=1),
            result("new/light-2.txt", Relation.NEAR, original="old/light.txt", size=1100, days=2),
            result("new/LIGHT.TXT", Relation.EXACT, original="old/light.txt", size=1000, days=2),
            result("new/part.txt", Relation.CONTAINED, original="old/bread.txt", size=200, days=40),
            result("light-3.txt", Relation.NEAR, original="old/light.txt", best="new/light-2.txt", size=900, days=40),
            result("blank.txt", Relation.EMPTY, size=0, days=41),
        ]
    )
    results.add_unreadable(
        [
            UnreadableFile(name="a.png", reason="binary", message="a.png: is not a text file"),
            UnreadableFile(name="x.pdf", reason="encrypted", message="x.pdf: is encrypted"),
            UnreadableFile(name="b.png", reason="binary", message="b.png: is not a text file"),
        ]
    )
    return results
