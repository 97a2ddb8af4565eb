"""Rows of a run go to disk and come back as they were."""

from __future__ import annotations

from datetime import datetime

from gate import CheckIn, Gate
from gate.demo import LIGHTHOUSE
from gate.model import Relation
from gate.report.results import Result, Results, UnreadableFile
from tests.report.samples import MIDDAY, result


def test_results_come_back_as_they_were_and_in_their_order() -> None:
    added = [result(f"{n}.txt", Relation.NEAR, original="0.txt", place="x.tar", days=n) for n in range(2500)]
    with Results() as results:
        results.add(added[:1000])
        results.add(added[1000:])
        assert len(results) == 2500
        assert list(results) == added


def test_a_time_without_a_zone_is_utc_and_none_stays_none() -> None:
    with Results() as results:
        rows = [
            Result(document="a", relation=Relation.NEW, similar=False, dated=datetime(2026, 5, 6, 12)),
            Result(document="b", relation=Relation.UNREADABLE, similar=False),
        ]
        results.add(rows)
        assert [row.dated for row in results] == [MIDDAY, None]


def test_a_verdict_becomes_a_row_with_its_original_and_its_best_match() -> None:
    with Gate() as gate:
        first, copy = gate.check_in(
            [CheckIn(document_id="a/b", text=LIGHTHOUSE), CheckIn(document_id="c", text=LIGHTHOUSE)]
        )
    row = Result.of(copy, size_bytes=5, dated=MIDDAY, place="c")
    assert (row.document, row.relation, row.similar, row.original, row.best) == (
        "c",
        Relation.EXACT,
        True,
        "a/b",
        "a/b",
    )
    assert (row.resemblance, row.distance, row.size_bytes, row.dated, row.place) == (1.0, 0, 5, MIDDAY, None)
    assert Result.of(first, size_bytes=None, dated=None).original is None


def test_the_folder_of_a_document_is_the_archive_that_holds_it_or_where_its_path_leads() -> None:
    assert result("a/b/c.txt").folder == "a/b"
    assert result("c.txt").folder == "."
    assert result("17", place="crawl.jsonl").folder == "crawl.jsonl"


def test_unreadable_files_are_kept_beside_the_results() -> None:
    file = UnreadableFile(name="x.pdf", reason="encrypted", message="x.pdf: is encrypted")
    with Results() as results:
        results.add_unreadable([file])
        assert list(results.unreadable()) == [file]
        assert len(results) == 0


def test_why_a_file_has_no_text_is_kept_with_its_result() -> None:
    with Results() as results:
        results.add([result("scan.pdf", Relation.UNREADABLE, unreadable="no_text"), result("a.txt")])
        assert [one.unreadable for one in results] == ["no_text", None]
