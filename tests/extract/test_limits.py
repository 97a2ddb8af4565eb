"""The limits of extraction are named in the message of whoever hits them."""

from __future__ import annotations

import pytest
from msgspec import structs

from gate.errors import BadDocument
from gate.extract.formats import extract_text
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ReadOptions
from tests.extract.office_samples import docx, docx_of, epub, pdf, pptx, xlsx

TEXT = "one two three four"
HIT = [
    ("max_chars", 5, docx_of(TEXT), "too_large"),
    ("max_pages", 1, pdf([TEXT, TEXT]), "too_large"),
    ("max_pages", 1, pptx([TEXT, TEXT]), "too_large"),
    ("max_pages", 1, epub([TEXT, TEXT]), "too_large"),
    ("max_pages", 1, xlsx({"a": "", "b": ""}), "too_large"),
    ("max_unpacked_bytes", 10, docx_of(TEXT), "bomb"),
    ("max_members", 3, docx_of(TEXT), "bomb"),
    ("max_depth", 2, docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>"), "bomb"),
]


@pytest.mark.parametrize(("name", "most", "data", "code"), HIT)
def test_a_limit_is_named_where_it_is_hit(name: str, most: int, data: bytes, code: str) -> None:
    limits = structs.replace(ExtractLimits(), **{name: most})
    with pytest.raises(BadDocument) as caught:
        extract_text(data, ReadOptions(limits=limits))
    assert caught.value.code == code
    assert name in str(caught.value) or (name == "max_chars" and "characters" in str(caught.value))
