"""Reading files for people who look, not for the index."""

from __future__ import annotations

from gate.demo import LIGHTHOUSE
from tests.http.service_harness import running_service


async def test_the_text_of_a_file_finds_what_is_like_it() -> None:
    async with running_service() as service:
        await service.check_in("original", LIGHTHOUSE)
        form = {"file": ("page.html", f"<html><body><p>{LIGHTHOUSE}</p></body></html>".encode())}
        [read] = (await service.client.post("/v1/texts", files=form)).json()["files"]
        assert read["format"] == "HTML"
        found = (await service.client.post("/v1/similar", json={"text": read["text"]})).json()
        assert [match["document_id"] for match in found["matches"]] == ["original"]
