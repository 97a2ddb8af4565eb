"""Forms with files: what is read of them, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.http.problems import RequestError
from gate.http.uploads import UploadForm, read_form

KIND = "multipart/form-data; boundary=cut"


def part(disposition: str, data: bytes = b"words", *headers: str) -> bytes:
    head = "\r\n".join([f"Content-Disposition: form-data; {disposition}", *headers])
    return b"--cut\r\n" + head.encode() + b"\r\n\r\n" + data + b"\r\n"


FILE = part('name="file"; filename="a.txt"')
END = b"--cut--\r\n"


def read(*parts: bytes, kind: str = KIND) -> UploadForm:
    return read_form(kind, b"".join([*parts, END]), max_files=3)


def test_files_come_with_their_names_kinds_and_bytes_as_they_are() -> None:
    data = bytes(range(256)) + b"\r\n--cu\r\n"
    form = read(
        part('name="file"; filename="Bericht ä.pdf"', data, "Content-Type: application/pdf"),
        part('name="file"; filename="b"', b""),
        part('name="source"', "Büro".encode()),
    )
    first, second = form.files
    assert (first.name, first.mime_type, first.data) == ("Bericht ä.pdf", "application/pdf", data)
    assert (second.name, second.mime_type, second.data) == ("b", None, b"")
    assert form.fields.source == "Büro"


def test_the_fields_of_one_document_describe_the_one_file() -> None:
    fields = {"document_id": "reports/7", "version": "2", "title": "T", "metadata": '{"a": 1}', "uri": ""}
    form = read(FILE, *(part(f'name="{name}"', value.encode()) for name, value in fields.items()))
    assert (form.fields.document_id, form.fields.version, form.fields.title) == ("reports/7", "2", "T")
    assert (form.fields.metadata, form.fields.uri) == ('{"a": 1}', None)


@pytest.mark.parametrize(
    ("raw", "kind", "code", "field"),
    [
        (FILE + END, "multipart/form-data", "bad_multipart", None),
        (FILE + END, f"multipart/form-data; boundary={'x' * 300}", "bad_multipart", None),
        (FILE, KIND, "bad_multipart", None),
        (FILE[:-10], KIND, "bad_multipart", None),
        (b"", KIND, "bad_multipart", None),
        (b"no form at all", KIND, "bad_multipart", None),
        (b"--cut\r\nno colon\r\n\r\n" + END, KIND, "bad_multipart", None),
        (
            part('name="file"; filename="a"', b"d29yZHM=", "Content-Transfer-Encoding: base64") + END,
            KIND,
            "bad_multipart",
            None,
        ),
        (END, KIND, "missing_field", "file"),
        (part('name="title"') + END, KIND, "missing_field", "file"),
        (FILE + part('name="topic"') + END, KIND, "bad_field", "topic"),
        (FILE + part('name="title"', b"\xff") + END, KIND, "bad_field", "title"),
        (FILE + part('name="title"') * 2 + END, KIND, "bad_field", "title"),
        (FILE + part('name="metadata"', b"[1]") + END, KIND, "bad_field", "metadata"),
        (FILE + part('name="checked_in_at"', b"today") + END, KIND, "bad_field", "checked_in_at"),
        (FILE * 2 + part('name="title"') + END, KIND, "bad_field", "title"),
        (FILE + part('name="title"', b"t" * 300_000) + END, KIND, "too_large", "title"),
        (FILE * 4 + END, KIND, "too_large", None),
        (FILE * 400 + END, KIND, "too_large", None),
    ],
)
def test_a_form_that_cannot_be_used_is_refused_by_its_field(
    raw: bytes, kind: str, code: str, field: str | None
) -> None:
    with pytest.raises(RequestError) as refused:
        read_form(kind, raw, max_files=3)
    assert (refused.value.code, refused.value.field) == (code, field)


@given(st.lists(st.sampled_from([FILE, END, b"--cut", b"\r\n", b"--", b": ", b"x", part('name="title"')]), max_size=12))
def test_no_bytes_do_more_than_refuse_the_form(pieces: list[bytes]) -> None:
    try:
        form = read_form(KIND, b"".join(pieces), max_files=3)
    except RequestError:
        return
    assert form.files
