"""The client of the service for programs without an event loop."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from gate.client.connections import Connections
from gate.client.retries import ResendPolicy, ServiceRefused, problem_of, raise_for
from gate.errors import UsageError
from gate.http.activity_messages import Overview, Session
from gate.http.catalogue_messages import DocumentList, FamilyReport
from gate.http.compare_messages import CompareRequest, ComparisonReport, SideRequest
from gate.http.document_messages import DocumentReport, DocumentVerdicts, SimilarDocuments
from gate.http.file_messages import FileTexts
from gate.http.messages import (
    CheckInResult,
    CheckInResults,
    DeletedDocument,
    IndexStats,
    ProfilePlan,
    Profiles,
    SimilarRequest,
)
from gate.model import CheckIn, Relation
from gate.wire import VerdictEvent

T = TypeVar("T")

BATCH_DOCUMENTS = 500  # of one request; half of what a service takes unless it is set otherwise
BATCH_CHARS = 4_000_000  # 24 MB where JSON escapes every character; a longer document is a request of its own
_JSON = "application/json"
_encoder = msgspec.json.Encoder()


class Client:
    """Asks a service. Threads may share one; coroutines use `AsyncClient`.

    A request without an answer, or with one that says to try again, is sent again (`ResendPolicy`): what was judged
    already gets the same verdict. Raises `Unavailable` where that does not help, `UnknownDocument`, `BadDocument` for a
    document that cannot be judged, and `ServiceRefused` for a request that is wrong by itself or not allowed.
    """

    def __init__(
        self,
        url: str = "http://localhost:8400",
        *,
        token: str | None = None,
        timeout: float = 60.0,
        ca_file: str | None = None,
        retries: ResendPolicy | None = None,
    ) -> None:
        """
        token:   of the tokens file of the service, where it has one.
        timeout: seconds that a service may take to answer one attempt; it gives up itself after api_answer_seconds.
        ca_file: certificates to accept in the place of the system's.
        """
        self._connections = Connections(url, timeout=timeout, ca_file=ca_file)
        self._headers = {"Accept": _JSON} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._retries = retries or ResendPolicy()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connections.close()

    # Judging

    def check_in(self, document: CheckIn) -> VerdictEvent:
        """Judge a document, and let it in if it is new. Sent again, it gets the same verdict."""
        return self._post("/v1/check-ins", _event(document), VerdictEvent)

    def preview(self, document: CheckIn) -> VerdictEvent:
        """Judge a document and leave no trace."""
        return self._post("/v1/previews", _event(document), VerdictEvent)

    def check_in_many(self, documents: Iterable[CheckIn]) -> list[CheckInResult]:
        """Judge documents in their order, in as many requests as it takes: a verdict or a problem for each."""
        return self._judge_many("/v1/check-ins", documents)

    def preview_many(self, documents: Iterable[CheckIn]) -> list[CheckInResult]:
        """Judge documents, each by itself, and leave no trace."""
        return self._judge_many("/v1/previews", documents)

    def _judge_many(self, path: str, documents: Iterable[CheckIn]) -> list[CheckInResult]:
        return [
            result
            for batch in _batches(documents)
            for result in self._post(path, [_event(document) for document in batch], CheckInResults).results
        ]

    def check_in_file(
        self,
        file: Path | bytes,
        *,
        document_id: str | None = None,
        version: str | None = None,
        title: str | None = None,
        source: str | None = None,
        uri: str | None = None,
    ) -> VerdictEvent:
        """Judge a file by its text, and let it in if it is new. The id of a path is its name unless there is one."""
        fields = {"document_id": document_id, "version": version, "title": title, "source": source, "uri": uri}
        return self._upload("/v1/check-ins", file, fields, VerdictEvent)

    def preview_file(
        self,
        file: Path | bytes,
        *,
        document_id: str | None = None,
        version: str | None = None,
        title: str | None = None,
        source: str | None = None,
        uri: str | None = None,
    ) -> VerdictEvent:
        """Judge a file by its text and leave no trace."""
        fields = {"document_id": document_id, "version": version, "title": title, "source": source, "uri": uri}
        return self._upload("/v1/previews", file, fields, VerdictEvent)

    # Looking

    def find_similar(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | None = None,
        threshold: float | None = None,
        limit: int = 100,
    ) -> SimilarDocuments:
        """Known documents that are like one thing: give exactly one of the first three."""
        if [text, document_id, fingerprint].count(None) != 2:
            raise UsageError("find_similar: give exactly one of text, document_id and fingerprint")
        query = {"limit": limit} | ({} if threshold is None else {"threshold": threshold})
        if text is not None:
            asked = SimilarRequest(text=text, limit=limit, threshold=msgspec.UNSET if threshold is None else threshold)
            return self._post("/v1/similar", asked, SimilarDocuments)
        if document_id is not None:
            return self._get(f"{_path_of(document_id)}/similar", SimilarDocuments, query, document_id=document_id)
        return self._get("/v1/similar", SimilarDocuments, query | {"fingerprint": fingerprint})

    def compare(self, left: str | SideRequest, right: str | SideRequest, *, passages: bool = True) -> ComparisonReport:
        """Two texts side by side; or known documents and fingerprints, by `SideRequest(document_id=...)`."""
        return self._post("/v1/compare", CompareRequest(left=left, right=right, passages=passages), ComparisonReport)

    def text_of(self, file: Path | bytes) -> FileTexts:
        """What the service reads in a file; nothing of it is kept."""
        return self._upload("/v1/texts", file, {}, FileTexts)

    def document(self, document_id: str) -> DocumentReport:
        """All that is known of a document."""
        return self._get(_path_of(document_id), DocumentReport, document_id=document_id)

    def verdicts(self, document_id: str) -> DocumentVerdicts:
        """The verdicts that a document was given, and why."""
        return self._get(f"{_path_of(document_id)}/verdict", DocumentVerdicts, document_id=document_id)

    def list_documents(
        self,
        *,
        text: str = "",
        prefix: str = "",
        title: str = "",
        relation: Relation | None = None,
        group: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> DocumentList:
        """A page of known documents in the order of their ids; `next` of it is the `after` of the page that follows.
        `text` begins the id, or is in the title."""
        query: dict[str, Any] = {"q": text, "prefix": prefix, "title": title, "limit": limit}
        given = {"relation": relation, "group": group, "after": after}
        query |= {name: value for name, value in given.items() if value is not None}
        return self._get("/v1/documents", DocumentList, query)

    def group(self, document_id: str, *, offset: int = 0, limit: int = 100) -> FamilyReport:
        """The family of a document, its original first."""
        path = f"/v1/groups/{quote(document_id, safe='')}"
        return self._get(path, FamilyReport, {"offset": offset, "limit": limit}, document_id=document_id)

    def delete(self, document_id: str) -> bool:
        """Delete a document. False: it was not known, or an attempt before this one had deleted it already."""
        return self._ask("DELETE", _path_of(document_id), DeletedDocument).deleted

    # The service

    def session(self) -> Session:
        """What this client may do, and what the service can."""
        return self._get("/v1/session", Session)

    def overview(self, *, minutes: int = 60) -> Overview:
        """What the process that answers did lately."""
        return self._get("/v1/overview", Overview, {"minutes": minutes})

    def stats(self) -> IndexStats:
        """What the index holds."""
        return self._get("/v1/stats", IndexStats)

    def profiles(self) -> Profiles:
        """The profile in force, and the built-in ones."""
        return self._get("/v1/profiles", Profiles)

    def plan(self, *, documents: int = 1_000_000, profile: str | None = None) -> ProfilePlan:
        """What a profile costs and finds at a size."""
        query: dict[str, Any] = {"documents": documents} | ({"profile": profile} if profile else {})
        return self._get("/v1/plan", ProfilePlan, query)

    # Requests

    def _get(self, path: str, kind: type[T], query: Mapping[str, Any] | None = None, *, document_id: str = "") -> T:
        return self._ask("GET", f"{path}?{urlencode(query)}" if query else path, kind, document_id=document_id)

    def _post(self, path: str, body: object, kind: type[T]) -> T:
        return self._ask("POST", path, kind, _encoder.encode(body), {"Content-Type": _JSON})

    def _upload(self, path: str, file: Path | bytes, fields: Mapping[str, str | None], kind: type[T]) -> T:
        name, data = ("", file) if isinstance(file, bytes) else (file.name, file.read_bytes())
        boundary = secrets.token_hex(16)
        body = _form(boundary, name, data, {field: value for field, value in fields.items() if value is not None})
        return self._ask("POST", path, kind, body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})

    def _ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        document_id: str = "",
    ) -> T:
        sent = self._headers | dict(headers or {})
        answer = self._retries.run(lambda: self._connections.request(method, path, body, sent))
        raise_for(answer, document_id=document_id)
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except msgspec.DecodeError:
            raise ServiceRefused(problem_of(answer)) from None


def _path_of(document_id: str) -> str:
    return f"/v1/documents/{quote(document_id, safe='')}"


def _event(document: CheckIn) -> dict[str, Any]:
    """The body of a request; what is not given is left out."""
    fields = {name: getattr(document, name) for name in document.__struct_fields__}
    if document.content_sha256 is not None:
        fields["text"] = None
    return {name: value for name, value in fields.items() if value is not None}


def _batches(documents: Iterable[CheckIn]) -> Iterator[list[CheckIn]]:
    batch: list[CheckIn] = []
    chars = 0
    for document in documents:
        if batch and (len(batch) >= BATCH_DOCUMENTS or chars + len(document.text) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(document)
        chars += len(document.text)
    if batch:
        yield batch


def _form(boundary: str, name: str, data: bytes, fields: Mapping[str, str]) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in fields.items()
    ]
    quoted = name.encode("utf-8", "backslashreplace").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    quoted = quoted.replace(b"\r", b"%0D").replace(b"\n", b"%0A")
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="'.encode() + quoted + b'"\r\n\r\n'
    return b"".join([*parts, head, data, f"\r\n--{boundary}--\r\n".encode()])
