"""Forms with files (multipart/form-data): their parts, and the fields that describe the documents in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from gate.http import problems
from gate.http.problems import RequestError
from gate.wire import DocumentId, EventVersion, Timestamp

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MEDIA_TYPE = "multipart/form-data"
FILE = "file"  # the name of every part that is a file
MAX_BOUNDARY_BYTES = 200  # RFC 2046 allows 70
MAX_FIELD_BYTES = 256 * 1024
_PLAIN = frozenset({b"", b"7bit", b"8bit", b"binary"})


class UploadFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields beside the files. Those of one document are for a form with one file only."""

    document_id: Annotated[
        DocumentId | None,
        Meta(description="Id of the document; the name of the file where it is missing.", examples=["reports/2026"]),
    ] = None
    version: Annotated[EventVersion | None, Meta(description="Version of the document.")] = None
    title: Annotated[str | None, Meta(description="Title; that within the file where it is missing.")] = None
    source: Annotated[str | None, Meta(description="System or person that sends the files.")] = None
    uri: Annotated[str | None, Meta(description="Path or URI, for people; nothing is read there.")] = None
    metadata: Annotated[str | None, Meta(description="An object in JSON.", examples=['{"pages": 2}'])] = None
    checked_in_at: Annotated[Timestamp | None, Meta(description="When they were checked in. Missing: now.")] = None


_OF_ONE = ("document_id", "version", "title", "uri", "metadata")


class UploadedFile(msgspec.Struct, frozen=True):
    """A file of a form. The name is empty where the form has none."""

    name: str
    data: bytes
    mime_type: str | None = None


class UploadForm(msgspec.Struct, frozen=True):
    """A form with at least one file. `metadata` is an object in JSON, checked."""

    files: list[UploadedFile]
    fields: UploadFields


class _Part:
    """A part as it is read."""

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.chunks: list[bytes] = []
        self.size = 0

    def option(self, name: bytes) -> str | None:
        _, options = parse_options_header(self.headers.get(b"content-disposition", b""))
        value = options.get(name)
        if value is None:
            return None
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")


class _FormReader:
    """Collects the parts that the parser reports."""

    def __init__(self, max_files: int) -> None:
        self._max_files = max_files
        self.parts: list[_Part] = []
        self.is_complete = False
        self._name = self._value = b""

    def on_part_begin(self) -> None:
        if len(self.parts) >= self._max_files + len(UploadFields.__struct_fields__):
            raise RequestError(
                "too_large", f"the form has over {self._max_files} files (api_max_documents); send fewer at once"
            )
        self.parts.append(_Part())

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        self.parts[-1].headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].chunks.append(data[start:end])

    def on_end(self) -> None:
        self.is_complete = True


def read_form(content_type: str, raw: bytes, *, max_files: int) -> UploadForm:
    """The files and fields of a form. RequestError: it is none, or a field of it is wrong."""
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    if not 0 < len(boundary) <= MAX_BOUNDARY_BYTES:
        raise _bad_form("its content-type names no boundary")
    reader = _FormReader(max_files)
    callbacks: MultipartCallbacks = {
        "on_part_begin": reader.on_part_begin,
        "on_header_field": reader.on_header_field,
        "on_header_value": reader.on_header_value,
        "on_header_end": reader.on_header_end,
        "on_part_data": reader.on_part_data,
        "on_end": reader.on_end,
    }
    parser = MultipartParser(boundary, callbacks)
    try:
        parser.write(raw)
        parser.finalize()
    except FormParserError:
        raise _bad_form("its parts cannot be told apart") from None
    if not reader.is_complete:
        raise _bad_form("it ends within a part")
    return _form(reader.parts, max_files)


def _form(parts: list[_Part], max_files: int) -> UploadForm:
    files: list[UploadedFile] = []
    fields: dict[str, str] = {}
    for part in parts:
        name, data = part.option(b"name"), b"".join(part.chunks)
        if part.headers.get(b"content-transfer-encoding", b"").strip().lower() not in _PLAIN:
            raise _bad_form("a part has a content-transfer-encoding; send its bytes as they are")
        if name == FILE:
            mime_type = part.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip()
            files.append(UploadedFile(part.option(b"filename") or "", data, mime_type[:255] or None))
        elif name in UploadFields.__struct_fields__:
            if name in fields:
                raise RequestError("bad_field", f"{name}: is given twice; give it once", field=name)
            fields[name] = _field_text(name, data)
        else:
            raise RequestError(
                "bad_field",
                f"{(name or '')[:100]}: is not known here; files are named {FILE}",
                field=(name or "")[:100],
            )
    if not files:
        raise RequestError("missing_field", f"{FILE}: is missing; send at least one", field=FILE)
    if len(files) > max_files:
        raise RequestError(
            "too_large", f"the form has {len(files)} files, over api_max_documents = {max_files}; send fewer at once"
        )
    return UploadForm(files, _checked(fields, len(files)))


def _field_text(name: str, data: bytes) -> str:
    if len(data) > MAX_FIELD_BYTES:
        raise RequestError("too_large", f"{name}: has over {MAX_FIELD_BYTES} bytes; shorten it", field=name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise RequestError("bad_field", f"{name}: is not UTF-8; encode it as UTF-8", field=name) from None


def _checked(fields: dict[str, str], files: int) -> UploadFields:
    given = {name: value for name, value in fields.items() if value}  # a form sends what was not filled in too
    if files > 1 and (of_one := [name for name in _OF_ONE if name in given]):
        name = of_one[0]
        raise RequestError("bad_field", f"{name}: is of one document; send each of the files by itself", field=name)
    try:
        checked = msgspec.convert(given, UploadFields, strict=False)
    except msgspec.ValidationError as exc:
        raise problems.of_invalid(exc) from None
    if checked.metadata is not None:
        try:
            msgspec.json.decode(checked.metadata.encode(), type=dict)
        except (msgspec.DecodeError, RecursionError):
            raise RequestError("bad_field", "metadata: is no object in JSON; correct it", field="metadata") from None
    return checked


def _bad_form(problem: str) -> RequestError:
    return RequestError("bad_multipart", f"the body is no form with files: {problem}; send {MEDIA_TYPE}")
