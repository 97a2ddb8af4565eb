"""What the results of a run add up to: by relation, by folder, by family, over time, and what could not be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from gate.core.stored_verdict import RELATIONS
from gate.model import Relation
from gate.report.results import Result, Results

MAX_PERIODS = 62  # bars that fit beside each other: two months of days
EXAMPLES = 1000  # files that are named for each reason why they could not be read


@dataclass(frozen=True, slots=True)
class Count:
    """How many documents, how many of them are copies, and the bytes of each."""

    documents: int = 0
    copies: int = 0
    size_bytes: int = 0
    copied_bytes: int = 0

    @property
    def share(self) -> float:
        """Of copies among the documents."""
        return self.copies / self.documents if self.documents else 0.0


class FolderCount(NamedTuple):
    folder: str
    counted: Count


class Period(NamedTuple):
    """A stretch of time, such as "2026-05", and the documents of that time."""

    name: str
    counted: Count


@dataclass(frozen=True, slots=True)
class Family:
    """Documents that are like one and the same original. `members` may be fewer than `copies`."""

    original: str
    copies: int
    copied_bytes: int
    first: Result | None  # the original itself; None: it was judged before this run
    members: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class UnreadableCount:
    reason: str
    files: int
    examples: tuple[tuple[str, str], ...]  # name, message


_COUNTED = "COUNT(*), TOTAL(similar), TOTAL(size_bytes), TOTAL(size_bytes * similar)"


def _count(row: tuple[float, ...]) -> Count:
    return Count(*map(int, row))


def total(results: Results) -> Count:
    [row] = results.query(f"SELECT {_COUNTED} FROM results")  # noqa: S608
    return _count(row)


def by_relation(results: Results) -> dict[Relation, Count]:
    """In the order of the relations; those that do not occur are left out."""
    rows = results.query(f"SELECT relation, {_COUNTED} FROM results GROUP BY relation ORDER BY relation")  # noqa: S608
    counts = {RELATIONS[relation]: _count(row) for relation, *row in rows}
    return {relation: counts[relation] for relation in Relation if relation in counts}


def by_folder(results: Results, *, most: int) -> list[FolderCount]:
    """The folders with most copies first; of these, the ones with most documents."""
    rows = results.query(
        f"SELECT folder(document, place), {_COUNTED} FROM results GROUP BY 1 ORDER BY 3 DESC, 2 DESC, 1 LIMIT ?",  # noqa: S608
        most,
    )
    return [FolderCount(folder, _count(row)) for folder, *row in rows]


def largest_families(results: Results, *, most: int, members: int) -> list[Family]:
    """The families with most copies, each with its first `members` copies."""
    results.query("CREATE INDEX IF NOT EXISTS copies ON results (original) WHERE similar")
    rows = results.query(
        "SELECT original, COUNT(*), TOTAL(size_bytes) FROM results WHERE similar AND original IS NOT NULL "
        "GROUP BY original ORDER BY 2 DESC, 3 DESC, 1 LIMIT ?",
        most,
    )
    names = json.dumps([original for original, _, _ in rows])
    firsts = results.select("WHERE original IS NULL AND document IN (SELECT value FROM json_each(?))", names)
    by_name = {first.document: first for first in firsts}
    return [
        Family(
            original=original,
            copies=copies,
            copied_bytes=int(copied_bytes),
            first=by_name.get(original),
            members=tuple(results.select("WHERE original = ? AND similar ORDER BY number LIMIT ?", original, members)),
        )
        for original, copies, copied_bytes in rows
    ]


def copies_by_original(results: Results) -> Iterator[tuple[str, Iterator[Result]]]:
    """Each original with its copies, in the order in which their first copies came."""
    rows = results.select(
        "JOIN (SELECT original AS family, MIN(number) AS first FROM results WHERE similar GROUP BY original) "
        "ON original = family WHERE similar ORDER BY first, number"
    )
    for original, copies in groupby(rows, key=lambda copy: copy.original):
        yield original or "", copies


def over_time(results: Results) -> list[Period]:
    """Documents by the time that they are of: by hours, days, months or years, whatever gives few enough periods.
    Periods without a document are there too. Empty where fewer than two periods have any."""
    [(first, last)] = results.query("SELECT MIN(dated), MAX(dated) FROM results")
    if first is None:
        return []
    begin, end = (datetime.fromtimestamp(seconds, UTC) for seconds in (first, last))
    unit = next(unit for unit in _UNITS if unit is _UNITS[-1] or _steps(begin, end, unit) <= MAX_PERIODS)
    rows = results.query(
        f"SELECT strftime(?, dated, 'unixepoch'), {_COUNTED} FROM results WHERE dated IS NOT NULL GROUP BY 1",  # noqa: S608
        unit.pattern,
    )
    counts = {name: _count(row) for name, *row in rows}
    if len(counts) < 2:
        return []
    names = _names(begin, end, unit)
    if len(names) > MAX_PERIODS:  # centuries: a file system invents dates
        names = sorted(counts)[-MAX_PERIODS:]
    return [Period(name, counts.get(name, Count())) for name in names]


class _Unit(NamedTuple):
    pattern: str
    step: timedelta  # no longer than any such period


_UNITS = (
    _Unit("%Y-%m-%d %H:00", timedelta(hours=1)),
    _Unit("%Y-%m-%d", timedelta(days=1)),
    _Unit("%Y-%m", timedelta(days=28)),
    _Unit("%Y", timedelta(days=365)),
)


def _steps(begin: datetime, end: datetime, unit: _Unit) -> int:
    return (end - begin) // unit.step + 1


def _names(begin: datetime, end: datetime, unit: _Unit) -> list[str]:
    moments = (begin + n * unit.step for n in range(_steps(begin, end, unit)))
    return list(dict.fromkeys([*(moment.strftime(unit.pattern) for moment in moments), end.strftime(unit.pattern)]))


_NOT_READ = """
SELECT name, reason, message FROM unreadable
UNION ALL SELECT document, unreadable, document || ': ' || ? FROM results WHERE unreadable IS NOT NULL
"""
COMPARED_BY_BYTES = "gave no text, and was compared by its bytes"


def unreadable(results: Results) -> list[UnreadableCount]:
    """What could not be read, by its reason, the most frequent first; files that were compared by their bytes too."""
    rows = results.query(
        f"SELECT reason, COUNT(*) FROM ({_NOT_READ}) GROUP BY reason ORDER BY 2 DESC, 1",  # noqa: S608
        COMPARED_BY_BYTES,
    )
    return [
        UnreadableCount(
            reason,
            files,
            tuple(
                results.query(
                    f"SELECT name, message FROM ({_NOT_READ}) WHERE reason = ? LIMIT ?",  # noqa: S608
                    COMPARED_BY_BYTES,
                    reason,
                    EXAMPLES,
                )
            ),
        )
        for reason, files in rows
    ]
