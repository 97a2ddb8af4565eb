"""What an experiment is: a frozen spec of the one table in `experiments.py`, and a function that makes a report.

    run(corpus, options, progress) -> ExperimentReport(conclusion, sections, notes)

    corpus     documents in a fixed order, with labels where there are any
    options    a frozen struct of the experiment's own: fields with a default, their domain and a word of help, of which
               the command line makes its flags; `seed` is always among them and is the only source of randomness
    progress   `for row in progress(rows, "what is done"):` reports how far the work is
    report     data alone: `report.py` writes tables and text, `draw.py` draws the plots

An experiment neither reads nor writes files, and draws nothing itself. It checks what only it can know of its options
in `check`, which runs before any work, and raises ConfigError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from gate.errors import ConfigError
from gate.lab.truth import Corpus

T = TypeVar("T")

Row = Mapping[str, object]


class ExperimentOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of an experiment are a subclass of this. A field's `Meta(description=...)` is its help; tuples are
    given as lists with commas."""

    seed: Annotated[int, Meta(ge=0, description="Another seed draws other edits and samples.")] = 1


class ProgressTracker(Protocol):
    """Yields the items, and reports how many of them are done."""

    def __call__(self, items: Sequence[T], what: str) -> Iterator[T]: ...


def no_progress(items: Sequence[T], what: str) -> Iterator[T]:
    """Progress that is not shown."""
    return iter(items)


def per_cent(share: float, places: int = 1) -> str:
    """A share for people, to the nearest; but what is not all is not 100 %, and what is not nothing is not 0 %."""
    shown = round(100 * share, places)
    least = 10**-places
    if shown >= 100 > 100 * share:
        shown = 100 - least
    elif shown <= 0 < share:
        shown = least
    return f"{shown:.{places}f} %"


@dataclass(frozen=True, slots=True)
class Proportion:
    """Some of a number of cases; its share is None where there was no case."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of one shape, written to `name`.csv. A value is a number, a text, a bool, None or a `Proportion`. Where
    `shown` is given, people see so many of the first rows, and are referred to the file for the others."""

    name: str
    title: str
    rows: Sequence[Row]
    note: str = ""
    shown: int | None = None

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for row in self.rows for column in row))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a plot. `low` and `high`, where given, are drawn as a band about it; `line=False` leaves points,
    and the band becomes a bar through each."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    line: bool = True

    @property
    def is_paper(self) -> bool:
        """Whether these are values of the paper, which are drawn alike on every plot."""
        return self.label.startswith("paper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Series in one frame, drawn to `name`.png. Of bars, x is the place in `ticks`. Lines connect what lies on one
    scale; what does not is drawn as points or bars. A series without a point is left out."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    kind: Literal["lines", "steps", "points", "bars"] = "lines"
    ticks: Sequence[str] = ()  # words along the x axis, for 0, 1, 2, ...
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    y_range: tuple[float, float] | None = None
    marks: Mapping[str, float] | None = None  # vertical lines: a word and its x
    levels: Mapping[str, float] | None = None  # level lines: a word and its y
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(isfinite(y) for series in self.series for y in series.y)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heatmap:
    """A matrix of shaded cells, drawn to `name`.png; None is an empty cell."""

    name: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(value is not None for row in self.values for value in row)


@dataclass(frozen=True, slots=True)
class Section:
    """The plots and tables that show one thing, under one title."""

    title: str
    contents: Sequence[Table | Plot | Heatmap]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentReport:
    """The outcome of an experiment. The conclusion is one paragraph; `notes` say what was done, where the numbers
    differ from the paper's, and why."""

    conclusion: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    files: Mapping[str, str] = field(
        default_factory=dict
    )  # texts by file name, for an experiment that leaves some behind

    @property
    def tables(self) -> list[Table]:
        return [part for section in self.sections for part in section.contents if isinstance(part, Table)]

    @property
    def plots(self) -> list[Plot | Heatmap]:
        return [part for section in self.sections for part in section.contents if not isinstance(part, Table)]


def accept_any_options(options: Any) -> None:
    """The check of an experiment whose options are all right if each of them is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    name: str
    title: str
    paper: str  # author and year, or "-" where the experiment is our own
    repeats: str  # the figures and tables of the paper
    run: Callable[[Corpus, Any, ProgressTracker], ExperimentReport]
    options: type[ExperimentOptions] = ExperimentOptions
    check: Callable[[Any], None] = accept_any_options
    min_documents: int = 2
    needs_labels: bool = False
    writes: str = ""  # what --write does with the files of the report; without it there is no such option

    def check_corpus(self, corpus: Corpus) -> None:
        """Refuse a corpus that the experiment can say nothing about."""
        count, least = len(corpus), self.min_documents
        if count < least:
            contents = "is empty" if not count else f"has {count:,} document{'s' if count > 1 else ''}"
            raise ConfigError(f"corpus: {corpus.name} {contents}; {self.name} needs {least:,} or more")
        if self.needs_labels and not corpus.labels:
            raise ConfigError(
                f"labels: {self.name} compares with known truth, and {corpus.name} has none; give a file by --labels "
                "with the columns a, b and jaccard_w3, separated by tabs"
            )
