"""What the page about threats says of who can do what: each sentence that a program can show."""

from __future__ import annotations

import pytest

from gate.api import Gate
from gate.demo import BREAD, LIGHTHOUSE
from gate.model import CheckIn, Relation, Verdict

EDITED = LIGHTHOUSE.replace("the", "this", 1)


def check_in(gate: Gate, document_id: str, text: str) -> Verdict:
    [verdict] = gate.check_in([CheckIn(document_id=document_id, text=text)])
    return verdict


@pytest.mark.parametrize("text", [LIGHTHOUSE.upper(), EDITED], ids=["the same text", "an edited copy"])
def test_a_copy_under_the_id_of_the_original_passes(text: str) -> None:
    gate = Gate()
    check_in(gate, "original", LIGHTHOUSE)
    assert check_in(gate, "another", text).similar
    assert not check_in(gate, "original", text).similar


def test_any_text_under_a_known_id_is_a_revision_and_passes() -> None:
    gate = Gate()
    check_in(gate, "original", LIGHTHOUSE)
    assert check_in(gate, "original", BREAD).relation is Relation.REVISION


def test_a_text_that_is_checked_in_first_has_that_of_its_author_refused() -> None:
    gate = Gate()
    check_in(gate, "stranger", EDITED)
    assert check_in(gate, "author", LIGHTHOUSE).group == "stranger"


def test_a_delete_lets_copies_of_the_document_pass() -> None:
    gate = Gate()
    check_in(gate, "original", LIGHTHOUSE)
    gate.delete(["original"])
    assert check_in(gate, "copy", EDITED).relation is Relation.NEW


def test_verdicts_tell_whether_a_text_is_known_and_under_which_id() -> None:
    gate = Gate()
    check_in(gate, "confidential/2026", LIGHTHOUSE)
    assert [match.document_id for match in check_in(gate, "guess", EDITED).matches] == ["confidential/2026"]
