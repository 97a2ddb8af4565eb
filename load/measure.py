"""Contenders side by side: interleaved rounds in one run, medians, and ratios of neighbours in time.

A machine's speed drifts: what ran a minute later ran on another machine. So every round runs all contenders one after
the other, in an order that turns by one place a round, and a ratio is the median over rounds of the ratio within a
round.
"""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Step = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Contender:
    """`step(round)` does the round's work and says how many units it was."""

    name: str
    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Microseconds of wall time per unit. `speed` is against the reference: 2.0 is twice as fast."""

    name: str
    microseconds: float
    fastest: float
    slowest: float
    speed: float


@dataclass(slots=True)
class Report:
    """Tables of one run: shown to people, or printed as one JSON object."""

    title: str
    settings: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        self.tables[name] = list(rows)

    def show(self, *, as_json: bool) -> None:
        if as_json:
            print(json.dumps({"title": self.title, "settings": self.settings, "tables": self.tables}, indent=2))
            return
        console = Console(width=None if sys.stdout.isatty() else 160)
        console.print(f"{self.title}  {self.settings}", highlight=False)
        for name, rows in self.tables.items():
            table = Table(title=name, title_justify="left")
            columns = list(dict.fromkeys(column for row in rows for column in row))
            for column in columns:
                numeric = all(isinstance(row.get(column, 0), int | float) for row in rows)
                table.add_column(column, justify="right" if numeric else "left")
            for row in rows:
                table.add_row(*(shown(row.get(column)) for column in columns))
            console.print(table)


def shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def interleave(contenders: Sequence[Contender], *, rounds: int, reference: str, warm_up: int = 1) -> list[Timing]:
    """Time all contenders, `warm_up` rounds unmeasured before. Rounds are numbered on, so that state may grow."""
    spent: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for number in range(warm_up + rounds):
        turn = number % len(contenders)
        for contender in (*contenders[turn:], *contenders[:turn]):
            begun = time.perf_counter()
            units = contender.step(number)
            took = time.perf_counter() - begun
            if number >= warm_up:
                spent[contender.name].append(took / max(units, 1) * 1e6)
    return [
        Timing(
            name=name,
            microseconds=statistics.median(costs),
            fastest=min(costs),
            slowest=max(costs),
            speed=statistics.median(base / cost for base, cost in zip(spent[reference], costs)),
        )
        for name, costs in spent.items()
    ]


def rows(timings: Sequence[Timing], reference: str) -> list[dict[str, Any]]:
    return [
        {
            "contender": timing.name,
            "us each": round(timing.microseconds, 3),
            "fastest": round(timing.fastest, 3),
            "slowest": round(timing.slowest, 3),
            f"speed ({reference} = 1)": round(timing.speed, 3),
        }
        for timing in timings
    ]


def resident() -> int:
    """Bytes of this process in memory now, what the allocator could give back left out."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def grown(build: Callable[..., Any], *arguments: Any) -> int:
    """How much a fresh process grows by what `build` makes.

    `build(mark, *arguments)` is a top-level function: it prepares its inputs, calls `mark()`, and returns what
    is to be weighed. A process of its own, because memory that an earlier contender freed would be used again unseen.
    """
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    child = context.Process(target=_weigh, args=(answers, build, arguments))
    child.start()
    child.join()
    if child.exitcode != 0:
        raise RuntimeError(f"the process that was to be weighed ended with exit code {child.exitcode}")
    return int(answers.get())


def _weigh(answers: Any, build: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    before: list[int] = []
    kept = build(lambda: before.append(resident()), *arguments)
    after = resident()
    answers.put(after - before[0])
    del kept
