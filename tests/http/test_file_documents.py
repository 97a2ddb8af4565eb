"""Check-ins of uploaded files, over HTTP."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

import httpx2

from gate.demo import BREAD, LIGHTHOUSE
from gate.errors import BadDocument
from gate.http.file_documents import ReadFile, document_of
from gate.http.problems import RequestError
from gate.http.uploads import UploadedFile, UploadFields
from tests.extract import office_samples as samples
from tests.http.service_harness import ServiceUnderTest, problem, running_service

FORMATS: dict[str, Callable[[], bytes]] = {
    "a.txt": lambda: LIGHTHOUSE.encode(),
    "a.pdf": lambda: samples.pdf([LIGHTHOUSE]),
    "a.docx": lambda: samples.docx_of(LIGHTHOUSE),
    "a.pptx": lambda: samples.pptx([LIGHTHOUSE]),
    "a.xlsx": lambda: samples.xlsx({"Sheet": f'<row><c t="inlineStr"><is><t>{LIGHTHOUSE}</t></is></c></row>'}),
    "a.odt": lambda: samples.odt(f"<text:p>{LIGHTHOUSE}</text:p>"),
    "a.rtf": lambda: samples.rtf(LIGHTHOUSE),
    "a.html": lambda: samples.html(LIGHTHOUSE).encode(),
    "a.epub": lambda: samples.epub([f"<p>{LIGHTHOUSE}</p>"]),
    "a.eml": lambda: samples.mail(LIGHTHOUSE),
}


async def upload(service: ServiceUnderTest, path: str, files: dict[str, bytes], **fields: str) -> httpx2.Response:
    parts = [("file", (name, io.BytesIO(data))) for name, data in files.items()]
    return await service.client.post(path, files=parts, data=fields)


async def test_a_file_of_any_format_is_checked_in_by_its_text() -> None:
    async with running_service() as service:
        await service.check_in("original", LIGHTHOUSE)
        files = {name: make() for name, make in FORMATS.items()}
        results = (await upload(service, "/v1/check-ins", files, source="scanner")).json()["results"]
        verdicts = [result["verdict"] for result in results]
        assert [verdict["document_id"] for verdict in verdicts] == list(FORMATS)
        assert {verdict["group"] for verdict in verdicts} == {"original"}
        assert {verdict["source"] for verdict in verdicts} == {"scanner"}
        report = (await service.client.get("/v1/documents/a.pdf")).json()
        details = report["contents"][0]["details"]
        assert (details["mime_type"], details["size_bytes"]) == ("application/pdf", len(files["a.pdf"]))


async def test_one_file_gets_its_verdict_and_the_fields_of_the_form(service: ServiceUnderTest) -> None:
    data = samples.docx_of(LIGHTHOUSE)
    fields = {"document_id": "reports/7", "version": "3", "title": "Own title", "metadata": '{"pages": 2}'}
    preview = await upload(service, "/v1/previews", {"a.docx": data}, **fields)
    assert preview.json()["relation"] == "new"
    assert problem(await service.client.get("/v1/documents/reports%2F7"))[0] == 404
    verdict = (await upload(service, "/v1/check-ins", {"a.docx": data}, **fields)).json()
    assert (verdict["document_id"], verdict["version"], verdict["title"]) == ("reports/7", "3", "Own title")
    again = (await upload(service, "/v1/check-ins", {"a.docx": data}, **fields)).json()
    assert again["verdict_id"] == verdict["verdict_id"]
    report = (await service.client.get("/v1/documents/reports%2F7")).json()
    assert report["contents"][0]["details"]["metadata"] == {"pages": 2}


async def test_a_file_without_text_is_compared_by_its_bytes_and_says_why() -> None:
    async with running_service() as service:
        locked = samples.pdf_with_password()
        first = (await upload(service, "/v1/check-ins", {"locked.pdf": locked})).json()
        assert (first["relation"], first["unreadable_reason"]) == ("unreadable", "encrypted")
        copy = (await upload(service, "/v1/check-ins", {"copy.pdf": locked})).json()
        assert (copy["relation"], copy["matches"][0]["document_id"]) == ("exact", "locked.pdf")


async def test_the_texts_of_files_are_shown_and_nothing_is_kept() -> None:
    async with running_service() as service:
        files = {"a.docx": samples.docx_of(BREAD), "b.pdf": samples.pdf_with_password(), "c.bin": b"\0\1\2" * 50}
        good, locked, binary = (await upload(service, "/v1/texts", files)).json()["files"]
        assert (good["name"], good["format"], good["problem"]) == ("a.docx", "DOCX", None)
        assert "".join(good["text"].split()) == "".join(BREAD.split())
        assert (locked["text"], locked["problem"]["code"]) == (None, "encrypted")
        assert "b.pdf: is" in locked["problem"]["detail"]
        assert (binary["problem"]["code"], binary["size_bytes"]) == ("binary", 150)
        assert (await service.client.get("/v1/documents")).json()["documents"] == []


async def test_a_form_that_cannot_be_used_is_refused() -> None:
    flags: dict[str, Any] = {"api_max_documents": 2, "api_max_body_bytes": 20_000}
    async with running_service(**flags) as service:
        many = {f"{n}": b"words" for n in range(3)}
        assert problem(await upload(service, "/v1/check-ins", many))[:2] == (413, "too_large")
        large = {"a": b"x" * 30_000}
        assert problem(await upload(service, "/v1/check-ins", large))[:2] == (413, "too_large")
        cut = {"content-type": "multipart/form-data; boundary=b"}
        answer = await service.client.post("/v1/check-ins", content=b"--b\r\n", headers=cut)
        assert problem(answer)[:2] == (400, "bad_multipart")
        kind = {"content-type": "text/plain"}
        answer = await service.client.post("/v1/texts", content=b"words", headers=kind)
        assert problem(answer) == (415, "wrong_media_type", "content-type")
        assert "multipart/form-data" in answer.json()["detail"]
        assert problem(await upload(service, "/v1/compare", {"a": b"x"}))[:2] == (415, "wrong_media_type")
        unnamed = b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nwords\r\n--b--\r\n'
        answer = await service.client.post("/v1/check-ins", content=unnamed, headers=cut)
        assert problem(answer) == (422, "missing_field", "document_id")


async def test_files_that_unpack_to_too_much_text_are_refused_together() -> None:
    text = "word " * 6000
    files = {f"{n}.docx": samples.docx_of(text) for n in range(4)}
    async with running_service(api_max_body_bytes=100_000) as service:
        answer = await upload(service, "/v1/check-ins", files)
        assert problem(answer)[:2] == (413, "too_large")
        assert "characters" in answer.json()["detail"]
        assert (await service.client.get("/v1/documents")).json()["documents"] == []
    async with running_service(api_max_pending_bytes=50_000) as service:
        assert problem(await upload(service, "/v1/texts", files))[:2] == (503, "overloaded")
        assert service.sample("gate_http_pending_bytes") == 0


def test_a_file_that_the_gate_could_not_read_is_no_document() -> None:
    file = UploadedFile("a", b"words")
    unread = ReadFile(file, BadDocument("unreadable", "cannot be read"), hashlib.sha256(file.data).hexdigest())
    refused = document_of(unread, UploadFields())
    assert isinstance(refused, RequestError)
    assert (refused.code, refused.field) == ("unreadable", "file")
