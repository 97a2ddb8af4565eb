"""Progress on stderr while that is a terminal, and problems of single documents that do not disturb it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from gate.cli.common import complain
from gate.cli.tables import console
from gate.numbers import number

EXAMPLES = 3  # problems of each reason that a summary quotes


class _CountColumn(ProgressColumn):
    """The task's field `documents`, with its unit; nothing where it is None."""

    def __init__(self, unit: str) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._unit = unit

    def render(self, task: Task) -> Text:
        count = task.fields["documents"]
        return Text("" if count is None else f"{number(count)} {self._unit}")


class _TimeColumn(TimeRemainingColumn):
    """The time that is left; the time that has passed where the total is unknown."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(f"{int(task.elapsed or 0)} s", style="progress.elapsed")
        return super().render(task)


def progress(*, quiet: bool, unit: str = "documents") -> Progress:
    """A bar on a terminal, gone when the work is done; nothing in a pipe. A task's field `documents` is its count."""
    err = console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        _CountColumn(unit),
        _TimeColumn(table_column=Column(no_wrap=True)),
        console=err,
        transient=True,
        redirect_stdout=False,  # it would go to stderr: this bar's console
        redirect_stderr=False,  # what is written meanwhile is written while the bar is `hidden`
        disable=quiet or not err.is_terminal,
    )


@contextmanager
def hidden(bar: Progress) -> Iterator[None]:
    """Take a bar off the terminal while something else is written there."""
    if not bar.live.is_started:
        yield
        return
    bar.stop()
    try:
        yield
    finally:
        bar.start()


class ProblemLog:
    """Problems of single documents, lines or records: summarised by reason at the end, or one by one as they occur.

    The summary has up to three examples of each reason and the number of all. It is written however the work ends.
    Where the input may never end, the examples are written as they occur (`examples_at_once`).
    """

    def __init__(
        self,
        kind: str,
        *,
        bar: Progress,
        verbose: bool = False,
        quiet: bool = False,
        examples_at_once: bool = False,
        hint: str = "; -v reports each",
    ) -> None:
        self._kind = kind
        self._bar = bar
        self._verbose = verbose
        self._quiet = quiet  # only count
        self._examples_at_once = examples_at_once
        self._hint = hint
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def add(self, reason: str, message: str) -> None:
        self._counts[reason] += 1
        if self._quiet:
            return
        is_example = self._counts[reason] <= EXAMPLES
        if self._verbose or (is_example and self._examples_at_once):
            with hidden(self._bar):
                complain(message, kind=self._kind)
        elif is_example:
            self._examples.setdefault(reason, []).append(message)

    def total(self) -> int:
        return self._counts.total()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._verbose or self._quiet:
            return
        for reason, count in self._counts.most_common():
            for message in self._examples.get(reason, ()):
                complain(message, kind=self._kind)
            if count > EXAMPLES:
                complain(f"{number(count)} in all for the reason {reason}{self._hint}", kind=self._kind)
