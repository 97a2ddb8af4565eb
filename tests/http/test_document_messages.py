"""Rows of documents: every field of what they are made from has its place."""

from __future__ import annotations

from gate.http.document_messages import SimilarDocument, detail_values, match_values
from gate.model import DocumentDetails, Match, Relation


def test_a_row_has_every_field_of_its_match_and_the_details_but_the_metadata() -> None:
    match = Match(document_id="a", version="2", relation=Relation.NEAR, distance=16, bit_agreement=0.75)
    details = DocumentDetails(title="A", uri="file:a", metadata={"n": 1})
    row = SimilarDocument(**match_values(match), **detail_values(details), fingerprint=None, group="a", has_text=False)
    assert set(Match.__struct_fields__) | set(DocumentDetails.__struct_fields__) - {"metadata"} <= set(
        SimilarDocument.__struct_fields__
    )
    assert (row.version, row.distance, row.bit_agreement, row.title, row.uri) == ("2", 16, 0.75, "A", "file:a")
    assert detail_values(None) == {}
