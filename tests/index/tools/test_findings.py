"""Findings and their report, without an index."""

from __future__ import annotations

import pytest

from gate.index.tools.findings import HARMLESS, Fault, Finding, Report


def test_a_finding_names_what_it_is_about_and_nothing_else() -> None:
    assert str(Finding(Fault.LOST, content=b"\x01\xff", document_id="a")) == "document a, content 01ff"
    assert str(Finding(Fault.BROKEN, entry=7)) == "entry 0000000000000007"


@pytest.mark.parametrize("fault", list(Fault))
def test_only_a_finding_about_a_posting_names_a_bucket(fault: Fault) -> None:
    about_postings = {Fault.ORPHANED, Fault.MISPLACED, Fault.SPARE}
    assert ("bucket 0000000005" in str(Finding(fault, entry=7, key=5))) == (fault in about_postings)


def test_the_bucket_of_key_0_is_named_too() -> None:
    assert str(Finding(Fault.ORPHANED, entry=7)) == "entry 0000000000000007, bucket 0000000000"


def test_the_findings_of_two_checks_of_one_fault_are_equal() -> None:
    assert len({Finding(Fault.UNHELD, 7, b"c", "a"), Finding(Fault.UNHELD, 7, b"c", "a")}) == 1
    assert Finding(Fault.UNHELD, 7, b"c", "a") != Finding(Fault.LOST, 7, b"c", "a")


def test_a_new_report_has_no_problem_and_nothing_left() -> None:
    assert (Report().problems, Report().left) == ({}, 0)


def test_what_does_no_harm_is_no_problem_and_not_left() -> None:
    report = Report()
    report.found.update(dict.fromkeys(HARMLESS, 2) | {Fault.LOST: 3})
    assert (report.problems, report.left) == ({Fault.LOST: 3}, 3)


def test_what_was_repaired_is_a_problem_still_but_not_left() -> None:
    report = Report()
    report.found.update({Fault.LOST: 3, Fault.BROKEN: 1})
    report.repaired.update({Fault.LOST: 2, Fault.BROKEN: 1})
    assert (report.problems, report.left) == ({Fault.LOST: 3, Fault.BROKEN: 1}, 1)


def test_no_two_reports_share_their_counts_or_examples() -> None:
    first, second = Report(), Report()
    first.found[Fault.LOST] += 1
    first.examples[Fault.LOST].append("document a")
    assert (dict(second.found), dict(second.examples)) == ({}, {})
