"""Totals of a small archive, counted by hand."""

from __future__ import annotations

from datetime import UTC, datetime

from gate.model import Relation
from gate.report import totals
from gate.report.results import Result, Results
from gate.report.totals import Count
from tests.report.samples import archive, result


def test_the_total_counts_copies_and_their_bytes() -> None:
    total = totals.total(archive())
    assert total == Count(documents=7, copies=4, size_bytes=4700, copied_bytes=3200)
    assert total.share == 4 / 7


def test_a_run_without_documents_adds_up_to_nothing() -> None:
    empty = Results()
    assert totals.total(empty) == Count()
    assert Count().share == 0.0
    assert totals.by_relation(empty) == {}
    assert totals.over_time(empty) == []
    assert totals.largest_families(empty, most=5, members=5) == []


def test_relations_come_in_their_order_and_those_that_do_not_occur_are_left_out() -> None:
    counts = totals.by_relation(archive())
    assert list(counts) == [Relation.NEW, Relation.EXACT, Relation.NEAR, Relation.CONTAINED, Relation.EMPTY]
    assert counts[Relation.NEAR] == Count(documents=2, copies=2, size_bytes=2000, copied_bytes=2000)


def test_the_folder_with_most_copies_comes_first() -> None:
    assert totals.by_folder(archive(), most=9) == [
        ("new", Count(3, 3, 2300, 2300)),
        (".", Count(2, 1, 900, 900)),
        ("old", Count(2, 0, 1500, 0)),
    ]
    assert [folder for folder, _ in totals.by_folder(archive(), most=1)] == ["new"]


def test_the_largest_family_comes_first_with_its_original_and_some_of_its_members() -> None:
    light, bread = totals.largest_families(archive(), most=5, members=2)
    assert (light.original, light.copies, light.copied_bytes) == ("old/light.txt", 3, 3000)
    assert light.first is not None
    assert light.first.size_bytes == 1000
    assert [member.document for member in light.members] == ["new/light-2.txt", "new/LIGHT.TXT"]
    assert (bread.original, bread.copies) == ("old/bread.txt", 1)
    assert [family.original for family in totals.largest_families(archive(), most=1, members=9)] == ["old/light.txt"]


def test_an_original_from_before_the_run_has_no_row_of_its_own() -> None:
    results = Results()
    results.add([result("copy.txt", Relation.NEAR, original="known/before.txt")])
    [family] = totals.largest_families(results, most=5, members=5)
    assert (family.original, family.first) == ("known/before.txt", None)


def test_copies_are_listed_by_their_original_in_the_order_of_the_first_copy() -> None:
    listed = [
        (original, [copy.document for copy in copies]) for original, copies in totals.copies_by_original(archive())
    ]
    assert listed == [
        ("old/light.txt", ["new/light-2.txt", "new/LIGHT.TXT", "light-3.txt"]),
        ("old/bread.txt", ["new/part.txt"]),
    ]


def test_six_weeks_are_shown_by_days_and_days_without_a_document_are_there() -> None:
    periods = totals.over_time(archive())
    assert len(periods) == 42
    assert periods[0] == ("2026-05-06", Count(1, 0, 1000, 0))
    assert periods[2] == ("2026-05-08", Count(2, 2, 2100, 2100))
    assert periods[3] == ("2026-05-09", Count())
    assert periods[-1].name == "2026-06-16"


def dated(*moments: str) -> Results:
    results = Results()
    results.add(
        Result(
            document=moment,
            relation=Relation.NEW,
            similar=False,
            dated=datetime.fromisoformat(moment).replace(tzinfo=UTC),
        )
        for moment in moments
    )
    return results


def test_the_unit_of_time_grows_with_the_time_between_the_first_and_the_last() -> None:
    hours = totals.over_time(dated("2026-05-06T23:59", "2026-05-07T01:00"))
    assert [name for name, _ in hours] == ["2026-05-06 23:00", "2026-05-07 00:00", "2026-05-07 01:00"]
    months = totals.over_time(dated("2025-11-30", "2026-03-01"))
    assert [name for name, _ in months] == ["2025-11", "2025-12", "2026-01", "2026-02", "2026-03"]
    years = totals.over_time(dated("1999-12-31", "2026-03-01"))
    assert [name for name, _ in years] == [str(year) for year in range(1999, 2027)]


def test_every_month_of_many_is_there_once() -> None:
    months = [name for name, _ in totals.over_time(dated("2022-01-31", "2026-08-01"))]
    assert months == [f"{year}-{month:02}" for year in range(2022, 2027) for month in range(1, 13)][: len(months)]
    assert len(months) == 56


def test_of_centuries_only_years_with_documents_are_shown() -> None:
    assert [name for name, _ in totals.over_time(dated("0200-01-01", "2026-03-01", "9999-01-01"))] == [
        "0200",
        "2026",
        "9999",
    ]


def test_documents_of_one_moment_have_no_course_over_time() -> None:
    assert totals.over_time(dated("2026-05-06T12:00", "2026-05-06T12:01")) == []


def test_what_could_not_be_read_is_counted_by_reason() -> None:
    binary, encrypted = totals.unreadable(archive())
    assert (binary.reason, binary.files) == ("binary", 2)
    assert binary.examples == (("a.png", "a.png: is not a text file"), ("b.png", "b.png: is not a text file"))
    assert (encrypted.reason, encrypted.files) == ("encrypted", 1)


def test_files_that_were_compared_by_their_bytes_are_counted_by_their_reason_too() -> None:
    results = archive()
    results.add([result("scan.pdf", Relation.UNREADABLE, unreadable="binary")])
    binary = totals.unreadable(results)[0]
    assert (binary.reason, binary.files) == ("binary", 3)
    assert binary.examples[2] == ("scan.pdf", "scan.pdf: gave no text, and was compared by its bytes")
