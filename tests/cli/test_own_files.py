"""The files that a command writes are no documents of it."""

from __future__ import annotations

from pathlib import Path

from gate.cli.common import Options
from gate.cli.own_files import own_files
from gate.cli.session import load
from gate.config.settings import Settings


def settings(**flags: object) -> Settings:
    return load(Options(flags=flags, config=None, json=False))


def test_an_index_in_a_file_is_the_commands_own_with_what_sqlite_makes_beside_it(empty_folder: Path) -> None:
    own = own_files(settings(index="notes/gate.sqlite"))
    assert {path.name for path in own} == {"gate.sqlite", "gate.sqlite-wal", "gate.sqlite-shm", "gate.sqlite-journal"}
    assert {path.parent for path in own} == {empty_folder / "notes"}


def test_an_index_in_memory_or_on_a_server_is_no_file(empty_folder: Path) -> None:
    assert own_files(settings()) == frozenset()
    assert own_files(settings(index="redis://localhost:6379/0")) == frozenset()


def test_what_is_written_is_the_commands_own_also_while_it_is_not_complete(empty_folder: Path) -> None:
    own = own_files(settings(), (Path("report.html"), None))
    assert own == {empty_folder / "report.html", empty_folder / "report.html.part"}
