"""Contenders side by side: interleaved rounds in one run, medians, and ratios of neighbours in time.

A machine's speed drifts: what ran a minute later ran on another machine. So every round runs all contenders one after
the other, in an order that turns by one place a round, and a ratio is the median over rounds of the ratio within a
round. Where other work shares the cores, the clock of the processor tells more than that on the wall.
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

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True, slots=True)
class Contender:
    """`step(round)` does the round's work and says how many units it was."""

    name: str
    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Microseconds per unit. `speed` is against the reference: 2.0 is twice as fast."""

    name: str
    microseconds: float
    fastest: float
    slowest: float
    speed: float


@dataclass(slots=True)
class BenchmarkReport:
    """Tables of one run: shown to people, or printed as one JSON object."""

    title: str
    settings: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        self.tables[name] = list(rows)

    def as_dict(self) -> dict[str, Any]:
        return {"title": self.title, "settings": self.settings, "tables": self.tables}

    def show(self, *, as_json: bool) -> None:
        """A table for people, Markdown in a pipe, or JSON."""
        if as_json:
            print(json.dumps(self.as_dict(), indent=2))
        elif sys.stdout.isatty():
            self._draw(Console())
        else:
            print(self.markdown())

    def markdown(self) -> str:
        lines = [
            f"{self.title}: " + ", ".join(f"{name} {format_value(value)}" for name, value in self.settings.items())
        ]
        for name, rows in self.tables.items():
            columns = _columns(rows)
            lines += ["", f"**{name}**", "", f"| {' | '.join(columns)} |"]
            lines.append("|" + "".join(" ---: |" if _numeric(rows, column) else " --- |" for column in columns))
            lines += [f"| {' | '.join(format_value(row.get(column)) for column in columns)} |" for row in rows]
        return "\n".join(lines)

    def _draw(self, console: Console) -> None:
        console.print(f"{self.title}  {self.settings}", highlight=False)
        for name, rows in self.tables.items():
            table = Table(title=name, title_justify="left")
            for column in _columns(rows):
                table.add_column(column, justify="right" if _numeric(rows, column) else "left")
            for row in rows:
                table.add_row(*(format_value(row.get(column)) for column in _columns(rows)))
            console.print(table)


def _columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _numeric(rows: Sequence[dict[str, Any]], column: str) -> bool:
    return all(isinstance(row.get(column) or 0, int | float) for row in rows)


def target_row(
    what: str, measured: float, *, at_least: float | None = None, at_most: float | None = None
) -> dict[str, Any]:
    """A row of the table of targets. What has no target is only stated."""
    target, met = "", None
    if at_least is not None:
        target, met = f">= {at_least:g}", measured >= at_least
    elif at_most is not None:
        target, met = f"<= {at_most:g}", measured <= at_most
    return {"what": what, "measured": round(measured, 2), "target": target, "met": met}


def format_value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def interleave(
    contenders: Sequence[Contender], *, rounds: int, reference: str, warm_up: int = 1, clock: str = "wall"
) -> list[Timing]:
    """Time all contenders, `warm_up` rounds unmeasured before. Rounds are numbered on, so that state may grow."""
    now = CLOCKS[clock]
    spent: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for number in range(warm_up + rounds):
        turn = number % len(contenders)
        for contender in (*contenders[turn:], *contenders[:turn]):
            gc.freeze()  # what one contender holds is not walked by the garbage collector in the time of another
            begun = now()
            units = contender.step(number)
            took = now() - begun
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


def timing_rows(timings: Sequence[Timing], reference: str) -> list[dict[str, Any]]:
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


def resident_bytes() -> int:
    """Bytes of this process in memory now, what the allocator could give back left out."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def measure_growth(build: Callable[..., Any], *arguments: Any) -> int:
    """How much a fresh process grows by what `build` makes.

    `build(mark, *arguments)` is a top-level function: it prepares its inputs, calls `mark()`, and returns what
    is to be weighed. A process of its own, because memory that an earlier contender freed would be used again unseen.
    """
    return measure_memory(build, *arguments)[0]


def measure_memory(
    build: Callable[..., Any], *arguments: Any, describe: Callable[[Any], Any] | None = None
) -> tuple[int, Any]:
    """The same, and what a top-level function `describe` has to say about what was made."""
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    child = context.Process(target=_weigh, args=(answers, build, arguments, describe))
    child.start()
    child.join()
    if child.exitcode != 0:
        raise RuntimeError(f"the process that was to be weighed ended with exit code {child.exitcode}")
    size, rows = answers.get()
    return size, rows


def _weigh(
    answers: Any, build: Callable[..., Any], arguments: tuple[Any, ...], describe: Callable[[Any], Any] | None
) -> None:
    before: list[int] = []
    built = build(lambda: before.append(resident_bytes()), *arguments)
    after = resident_bytes()
    answers.put((after - before[0], None if describe is None else describe(built)))
