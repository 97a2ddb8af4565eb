"""Draw two views of the page as PNG in docs/assets/: `make pictures` does. Each shows edited copies of one document."""

from __future__ import annotations

import asyncio
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image  # matplotlib, of the extra lab, draws with it
from playwright.async_api import Browser, FilePayload, Page

from gate.demo import BREAD, BRIDGE, LIGHTHOUSE, corpus
from tests.docs.pages import ROOT
from tests.http.service_harness import ServiceUnderTest, running_service
from tests.support.browser import chromium, open_page

ASSETS = ROOT / "docs" / "assets"
FIND, COMPARE = ASSETS / "page-find.png", ASSETS / "page-compare.png"
MAX_BYTES = 150_000
SIZE = (1280, 800)
EDITS = (
    ("three summers", "four summers"),
    ("full of almanacs", "full of old almanacs"),
    ("a larger stove", "a new stove"),
    ("two goats", "three goats"),
    ("on the stairs", "in the kitchen"),
    ("Each stone was cut on the mainland, numbered with red paint and carried\nover on calm mornings. ", ""),
    ("the harbour company", "the board of the harbour"),
    ("the brass\npolished", "the lenses\nclean"),
)
PROFILE = 'name = "picture"\nbase = "standard"\nindex = "all"\n'  # copies are found too, not originals only


def documents() -> list[dict[str, str]]:
    """The lighthouse in ten drafts, each with one edit more, among the other documents of the demonstration."""
    rows = [
        {"document_id": planted.document.document_id, "text": planted.document.text}
        for planted in corpus()
        if planted.document.document_id.startswith("unrelated/")
    ]
    text = LIGHTHOUSE
    for number, (old, new) in enumerate((("", ""), *EDITS)):
        if old not in text:
            raise ValueError(f"{old!r} is not in the text: its edit no longer fits")
        text = text.replace(old, new) if old else text
        rows.append({"document_id": f"drafts/{number}", "title": f"The lighthouse, draft {number}", "text": text})
    rows.append({"document_id": "drafts/part", "title": "The lighthouse, first half", "text": LIGHTHOUSE[:460]})
    rows.append({"document_id": "drafts/set", "title": "Lighthouse and bread", "text": f"{LIGHTHOUSE}\n\n{BREAD}"})
    rows.append({"document_id": "minutes/1", "title": "Minutes of the parish", "text": BRIDGE})
    for row in rows:
        row["uri"] = f"/srv/{row['document_id']}.txt"
        row["source"] = "demo"
    return rows


async def draw() -> None:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "picture.toml")
        profile.write_text(PROFILE)
        async with running_service(profile=str(profile)) as service, chromium() as browser:
            answer = await service.client.post("/v1/check-ins", json=documents())
            answer.raise_for_status()
            await _draw_find(service, browser)
            await _draw_compare(service, browser)


async def _draw_find(service: ServiceUnderTest, browser: Browser) -> None:
    async with open_page(browser, size=SIZE) as page:
        await page.goto(f"{service.url}/#/find?id=drafts%2F3")
        await page.locator("tbody tr").first.wait_for()
        await _shoot(page, FIND)


async def _draw_compare(service: ServiceUnderTest, browser: Browser) -> None:
    texts = {row["document_id"]: row["text"] for row in documents()}
    async with open_page(browser, size=SIZE, color_scheme="dark") as page:
        await page.goto(f"{service.url}/#/compare")
        for side, document_id in (("Left", "drafts/0"), ("Right", "drafts/5")):
            part = page.get_by_role("region", name=f"{side} side")
            await part.get_by_role("radio", name="Text").check()
            text = " ".join(texts[document_id].split())
            file = FilePayload(
                name=f"lighthouse, draft {document_id[7:]}.txt", mimeType="text/plain", buffer=text.encode()
            )
            await part.locator("input[type=file]").set_input_files(files=[file])
        await page.locator(".pane").first.wait_for()
        await page.evaluate("document.activeElement.blur()")
        await _shoot(page, COMPARE)


async def _shoot(page: Page, path: Path) -> None:
    picture = Image.open(BytesIO(await page.screenshot(animations="disabled"))).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)  # a third of the bytes
    if (size := path.stat().st_size) > MAX_BYTES:
        raise RuntimeError(f"{path} has {size} bytes, over {MAX_BYTES}")


if __name__ == "__main__":
    asyncio.run(draw())
