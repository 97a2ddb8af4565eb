"""OpenDocument."""

from __future__ import annotations

from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS, words
from tests.extract.office_samples import (
    odt,
)


def test_comments_and_deleted_text_are_left_out() -> None:
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:h>Head</text:h><text:p>a<text:s text:c="3"/>b<text:tab/>c<text:note><text:note-citation>1'
        "</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note></text:p>"
        "<office:annotation><text:p>comment</text:p></office:annotation>"
        "<table:table><table:table-row><table:table-cell><text:p>cell</text:p></table:table-cell></table:table-row>"
        "</table:table>"
    )
    styles = "<style:header><text:p>header</text:p></style:header>"
    extracted = extract_text(odt(body, styles=styles, title="T"), OPTIONS)
    assert (" ".join(words(extracted)), extracted.title) == ("Head a b c note cell header", "T")
    assert "a   b\tc" in extracted.text


def test_a_declared_number_of_spaces_is_bounded() -> None:
    extracted = extract_text(odt('<text:p>a<text:s text:c="999999999999"/>b</text:p>'), OPTIONS)
    assert len(extracted.text) < 2000
