"""Tables: with colours and rules on a terminal, plain columns in a pipe.

Ids and texts come from outside, so they are never read as markup, and their control characters become escapes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gate.cli.common import printable

PIPE_WIDTH = 10_000  # a pipe has no edge: nothing is folded or cut
NOTHING = "-"
NARROWEST = 8  # cells of a column; a terminal too narrow for that folds the lines itself
_GAP = "  "


class _Console(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does, without the blanks with which it fills the last column of a table in a pipe."""
        if self.is_terminal or not any(isinstance(one, Table) for one in objects):
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        self.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
        self.file.flush()

    def on_broken_pipe(self) -> None:
        """Leave it to the group of commands, which knows the exit code; rich would end the process here."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console on the stream as it is now; as wide as its content in a pipe."""
    made = _Console(file=sys.stderr if stderr else sys.stdout, highlight=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def table(out: Console, *headers: str, right: Iterable[str] = ()) -> Table:
    """An empty table of few rows: ruled on a terminal, bare in a pipe. Columns in `right` are aligned to the right."""
    ruled = out.is_terminal
    made = Table(
        box=box.SIMPLE_HEAD if ruled else None,
        header_style="bold" if ruled else "",
        pad_edge=False,
        padding=(0, 1, 0, 0) if ruled else (0, 2, 0, 0),
    )
    numeric = set(right)
    for header in headers:
        made.add_column(header, justify="right" if header in numeric else "left", overflow="fold")
    return made


def gap(out: Console) -> None:
    """An empty line between two tables; on a terminal their rules have one."""
    if not out.is_terminal:
        out.print()


def cell(value: str | None, style: str = "") -> Text:
    return Text(NOTHING if value is None else printable(value), style="dim" if value is None else style)


def print_indented(out: Console, sentence: str, *, style: str = "") -> None:
    """A sentence, indented; if it is folded, all of it."""
    from rich.padding import Padding

    text = Text(printable(sentence), style=style)
    out.print(Padding(text, (0, 0, 0, 2)) if out.is_terminal else Text("  ") + text)


class StreamedTable:
    """A table of any length: the first rows that are added decide the widths of its columns, and rows appear at once.

    A cell that is longer than its column is folded on a terminal; in a pipe it is written whole.
    """

    def __init__(self, out: Console, *headers: str, right: Iterable[str] = ()) -> None:
        self._out = out
        self._headers = headers
        self._is_right = [header in set(right) for header in headers]
        self._widths: list[int] = []
        self._codes: dict[str, tuple[str, str]] = {}

    def add(self, rows: Iterable[Sequence[Text | str]]) -> None:
        texts = [[one if isinstance(one, Text) else Text(one) for one in row] for row in rows]
        if not texts:
            return
        lines: list[str] = []
        if not self._widths:
            self._widths = self._measure(texts)
            bold = "bold" if self._out.is_terminal else ""
            lines += self._lines([Text(header, style=bold) for header in self._headers])
            if self._out.is_terminal:
                lines.append("─" * (sum(self._widths) + len(_GAP) * (len(self._widths) - 1)))
        for row in texts:
            lines += self._lines(row)
        self._out.file.write("".join(f"{line}\n" for line in lines))
        self._out.file.flush()

    def _measure(self, rows: list[list[Text]]) -> list[int]:
        widths = [
            max(cell_len(header), *(cell_len(row[column].plain) for row in rows))
            for column, header in enumerate(self._headers)
        ]
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - self._out.width
        while excess > 0 and max(widths) > NARROWEST:
            widest = widths.index(max(widths))
            second = max((width for place, width in enumerate(widths) if place != widest), default=0)
            cut = min(excess, max(1, widths[widest] - max(second, NARROWEST)))
            widths[widest] -= cut
            excess -= cut
        return widths

    def _lines(self, row: Sequence[Text]) -> list[str]:
        """The lines of one row: more than one where a cell is folded."""
        folds = self._out.is_terminal
        parts = [
            chop_cells(text.plain, width) if folds and cell_len(text.plain) > width else [text.plain]
            for text, width in zip(row, self._widths)
        ]
        lines = []
        for number in range(max(map(len, parts))):
            line = ""
            for text, width, part, is_right in zip(row, self._widths, parts, self._is_right):
                content = part[number] if number < len(part) else ""
                before, after = self._code(str(text.style))
                blanks = " " * max(0, width - cell_len(content))
                line += (blanks if is_right else "") + before + content + after + ("" if is_right else blanks) + _GAP
            lines.append(line.rstrip())
        return lines

    def _code(self, style: str) -> tuple[str, str]:
        """What to write before and after a text of this style, as rich would."""
        if style not in self._codes:
            with self._out.capture() as captured:
                self._out.print(Text("x", style=style), end="")
            before, _, after = captured.get().partition("x")
            self._codes[style] = (before, after)
        return self._codes[style]
