"""Tables in a pipe and on a terminal; rows that appear before the last one is known."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.text import Text

from gate.cli import tables
from gate.cli.tables import StreamedTable, cell


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=width, _environ={})


def pipe() -> Console:
    return Console(file=io.StringIO(), width=tables.PIPE_WIDTH)


def written(out: Console) -> list[str]:
    assert isinstance(out.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.file.getvalue()).splitlines()


def test_rows_are_written_as_soon_as_they_are_added() -> None:
    out = pipe()
    table = StreamedTable(out, "name", "count", right=("count",))
    table.add([("a", "1"), ("bb", "22")])
    assert written(out) == ["name  count", "a         1", "bb       22"]
    table.add([("c", "333")])
    assert written(out)[3:] == ["c       333"]


def test_a_later_cell_that_is_longer_than_its_column_is_whole_in_a_pipe() -> None:
    out = pipe()
    table = StreamedTable(out, "name", "count")
    table.add([("a", "1")])
    table.add([("a name that is longer", "2")])
    assert written(out)[-1] == "a name that is longer  2"


def test_a_later_cell_that_is_longer_than_its_column_is_folded_on_a_terminal() -> None:
    out = terminal(80)
    table = StreamedTable(out, "name", "count")
    table.add([("abcdef", "1")])
    table.add([("abcdefghij", "2")])
    assert written(out) == ["name    count", "─────────────", "abcdef  1", "abcdef  2", "ghij"]


def test_columns_are_cut_to_the_width_of_the_terminal_the_widest_first() -> None:
    out = terminal(40)
    table = StreamedTable(out, "document", "verdict", "like")
    table.add([("d" * 60, "near", "l" * 30)])
    lines = written(out)
    assert max(map(len, lines)) == 40
    assert "".join(re.findall("d+", "".join(lines[2:]))) == "d" * 60
    assert "".join(re.findall("l+", "".join(lines[2:]))) == "l" * 30


def test_wide_characters_take_two_columns() -> None:
    out = pipe()
    StreamedTable(out, "n", "x").add([("漢字", "1"), ("abcd", "2")])
    assert written(out)[1:] == ["漢字  1", "abcd  2"]


def test_a_style_colours_the_text_and_not_its_blanks() -> None:
    out = terminal(80)
    table = StreamedTable(out, "name", "n")
    table.add([(Text("a", style="bold red"), "1"), ("bbbb", "2")])
    assert isinstance(out.file, io.StringIO)
    assert "\x1b[1;31ma\x1b[0m     1\n" in out.file.getvalue()


def test_without_rows_nothing_is_written() -> None:
    out = pipe()
    StreamedTable(out, "name").add([])
    assert written(out) == []


def test_control_characters_of_a_cell_become_escapes() -> None:
    assert cell("a\x1b[31mb").plain == "a\\x1b[31mb"
    assert cell(None).plain == "-"
