"""XML as a stream of events."""

from __future__ import annotations

import io

import pytest

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.xml_events import ElementText, attribute, local, parse_xml
from gate.extract.zipped import ZippedFiles
from tests.extract.office_samples import zipped


def text_of(xml: str, name: str) -> str:
    handler = ElementText(name)
    limits = ExtractLimits(max_depth=5)
    with ZippedFiles(io.BytesIO(zipped({"a": xml})), limits, what="test file").open("a") as file:
        parse_xml(file, handler, limits, what="test file")
    return handler.text


def test_names_are_local() -> None:
    assert text_of('<a xmlns:x="urn:x"><x:b>one</x:b><c>two</c></a>', "b") == "one"
    assert (local("urn:x b"), local("b")) == ("b", "b")
    assert attribute({"urn:x val": "1"}, "val") == "1"
    assert attribute({}, "val") is None


@pytest.mark.parametrize(
    ("xml", "code"),
    [
        ("<a><a><a><a><a><a/></a></a></a></a></a>", "bomb"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "bomb"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "bomb"),
        ("<a>", "damaged"),
        ("text", "damaged"),
    ],
)
def test_what_no_office_program_writes_is_refused(xml: str, code: str) -> None:
    with pytest.raises(BadDocument) as caught:
        text_of(xml, "a")
    assert caught.value.code == code
