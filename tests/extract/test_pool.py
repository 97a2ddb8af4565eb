"""The pool of child processes: in order, bounded in time, and whole again after each failure."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ExtractedText, ReadOptions
from tests.extract.office_samples import docx, docx_of

GOOD = docx_of("The lamp of the east gate burns all night.")


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractorPool]:
    with ExtractorPool(processes=1) as pool:
        yield pool


def test_results_come_in_the_order_of_the_files() -> None:
    with ExtractorPool(processes=2) as pool:
        futures = [pool.submit(docx_of(f"number {number}")) for number in range(20)]
        results = [future.result() for future in futures]
    texts = [result.text.strip() for result in results if isinstance(result, ExtractedText)]
    assert texts == [f"number {number}" for number in range(20)]


def test_a_child_that_is_killed_is_replaced(pool: ExtractorPool) -> None:
    pool.extract(GOOD)
    [child] = pool._children
    assert child._process is not None
    os.kill(child._process.pid, signal.SIGKILL)
    result = pool.extract(GOOD)
    assert isinstance(result, BadDocument)
    assert isinstance(pool.extract(GOOD), ExtractedText)


def test_a_child_that_hangs_is_ended_when_its_time_is_over() -> None:
    with ExtractorPool(options=ReadOptions(limits=ExtractLimits(wall_seconds=1)), processes=1) as pool:
        pool.extract(GOOD)
        [child] = pool._children
        assert child._process is not None
        os.kill(child._process.pid, signal.SIGSTOP)
        result = pool.extract(bytes(10 * 2**20))  # more than a pipe holds: writing hangs, too
        assert isinstance(result, BadDocument)
        assert result.code == "too_costly"
        assert "extract.wall_seconds" in str(result)
        assert isinstance(pool.extract(GOOD), ExtractedText)


def test_closing_ends_the_children_and_does_not_wait_for_their_work(tmp_path: Path) -> None:
    page = tmp_path / "slow.html"
    page.write_text("<html><body>" + "<div>" * 100_000 + "text")
    pool = ExtractorPool(processes=1)
    future = pool.submit(page)
    deadline = time.monotonic() + 30
    while pool._children[0]._process is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process = pool._children[0]._process
    assert process is not None
    pool.close()
    assert process.poll() is not None
    assert future.done()
    assert not any(thread.is_alive() for thread in pool._threads._threads)


@pytest.mark.parametrize("name", ["gone.docx", "."])
def test_a_file_that_cannot_be_read_says_so(name: str, pool: ExtractorPool, tmp_path: Path) -> None:
    result = pool.extract(tmp_path / name)
    assert isinstance(result, BadDocument)
    assert result.code == "unreadable"


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.docx"
    path.write_bytes(GOOD)
    with ExtractorPool(options=ReadOptions(limits=ExtractLimits(max_file_bytes=100)), processes=1) as pool:
        result = pool.extract(path)
    assert isinstance(result, BadDocument)
    assert result.code == "too_large"
    assert "extract.max_file_bytes" in str(result)


def test_nothing_of_a_file_is_quoted(pool: ExtractorPool) -> None:
    for data in (b"%PDF-1.4 secretword", docx("<w:p>secretword"), b"{\\rtf1 \\u99999999999? secretword"):
        assert "secretword" not in str(pool.extract(data)) or isinstance(pool.extract(data), ExtractedText)
