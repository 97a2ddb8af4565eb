"""The parameters of lists."""

from __future__ import annotations

import msgspec
import pytest

from gate.http.catalogue_messages import MAX_SAMPLE, DocumentsQuery, GroupQuery, PairsQuery


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        (DocumentsQuery, {"limit": "0"}),
        (DocumentsQuery, {"limit": "201"}),
        (DocumentsQuery, {"words": "x"}),
        (GroupQuery, {"offset": "-1"}),
        (PairsQuery, {"sample": f"{MAX_SAMPLE + 1}"}),
        (PairsQuery, {"threshold": "0"}),
    ],
)
def test_a_parameter_beyond_its_bounds_is_refused(kind: type, query: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(query, kind, strict=False)
