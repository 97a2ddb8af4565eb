"""Transactions, the write-ahead log, errors and rows of an index file, on real files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import ConfigError, Unavailable
from gate.index.sqlite.connection import atomic, enable_wal, record_of, signed, translate_errors, unsigned
from gate.index.store import EntryRecord, Holder


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as opened:
        opened.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
        yield opened


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [n for (n,) in connection.execute("SELECT n FROM numbers ORDER BY n")]


def test_a_transaction_is_committed_whole(connection: sqlite3.Connection, path: Path) -> None:
    with closing(connect(path)) as reader:
        with atomic(connection, "IMMEDIATE"):
            connection.execute("INSERT INTO numbers VALUES (1)")
            assert numbers(reader) == []
            connection.execute("INSERT INTO numbers VALUES (2)")
        assert numbers(reader) == [1, 2]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_an_exception_leaves_is_rolled_back(
    connection: sqlite3.Connection, error: type[BaseException]
) -> None:
    def write() -> None:
        with atomic(connection, "IMMEDIATE"):
            connection.execute("INSERT INTO numbers VALUES (1)")
            raise error

    with pytest.raises(error):
        write()
    assert numbers(connection) == []
    assert not connection.in_transaction


def test_a_transaction_that_sqlite_rolled_back_itself_raises_its_error(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO numbers VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError), atomic(connection, "IMMEDIATE"):
        connection.execute("INSERT OR ROLLBACK INTO numbers VALUES (1)")
    assert numbers(connection) == [1]


def test_a_second_writer_is_refused_at_its_beginning(connection: sqlite3.Connection, path: Path) -> None:
    with closing(connect(path)) as second, atomic(connection, "IMMEDIATE"):
        with pytest.raises(sqlite3.OperationalError, match="locked"), atomic(second, "IMMEDIATE"):
            raise AssertionError("it has begun")
        with atomic(second, "DEFERRED"):
            assert numbers(second) == []


def test_the_write_ahead_log_is_enabled_once_and_stays(connection: sqlite3.Connection, path: Path) -> None:
    for _ in range(2):
        enable_wal(connection, wait_seconds=0)
    with closing(connect(path)) as second:
        assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_database_without_a_write_ahead_log_is_a_config_error() -> None:
    with closing(sqlite3.connect(":memory:")) as opened, pytest.raises(ConfigError, match="journal mode is memory"):
        enable_wal(opened, wait_seconds=0)


def test_a_file_that_another_process_keeps_locked_is_busy_once_the_wait_is_over(
    connection: sqlite3.Connection, path: Path
) -> None:
    with (
        closing(connect(path)) as second,
        atomic(connection, "IMMEDIATE"),
        pytest.raises(Unavailable, match=r"index\.sqlite.*locked"),
        translate_errors(path),
    ):
        enable_wal(second, wait_seconds=0)


def test_a_file_of_something_else_is_a_config_error_with_a_remedy(path: Path) -> None:
    path.write_bytes(b"no database, but a long enough text " * 100)
    with (
        closing(connect(path)) as opened,
        pytest.raises(ConfigError, match=r"damaged or no SQLite file.*put a backup"),
        translate_errors(path),
    ):
        opened.execute("SELECT * FROM numbers")


def test_a_file_that_cannot_be_opened_is_wrong_at_the_start_and_unavailable_later(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be opened for writing"), translate_errors(tmp_path, opening=True):
        connect(tmp_path)
    with pytest.raises(Unavailable), translate_errors(tmp_path):
        connect(tmp_path)


def test_an_error_of_the_code_is_not_translated(connection: sqlite3.Connection, path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"), translate_errors(path, opening=True):
        connection.execute("SELECT * FROM letters")


@given(st.integers(0, 2**64 - 1))
def test_64_bits_are_the_same_after_they_were_stored_with_a_sign(number: int) -> None:
    assert -(2**63) <= signed(number) < 2**63
    assert unsigned(signed(number)) == number


def test_a_row_becomes_a_record() -> None:
    row = (-1, b"c" * 16, '[["a", "2"], ["b", null]]', b"body", 9, -(2**63), 1)
    holders = (Holder("a", "2"), Holder("b", None))
    assert record_of(row) == EntryRecord(2**64 - 1, b"c" * 16, holders, b"body", 9, 2**63, dead=True)
