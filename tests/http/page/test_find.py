"""Find similar: by document, text, file and fingerprint; suggestions; the threshold."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from gate.demo import corpus
from tests.http.page.conftest import report
from tests.http.page.views import Site, settled, table_rows
from tests.http.service_harness import running_service

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

RESULTS = "Similar documents"
DROP = """([text, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, {type: "text/plain"}));
    document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
}"""


async def drop(page: Page, text: str, name: str) -> None:
    await page.evaluate(DROP, [text, name])


async def test_a_document_is_found_by_typing_a_part_of_its_title(site: Site) -> None:
    async with site.at("/find") as page:
        field = page.get_by_role("combobox", name="Document")
        await field.fill("with 3 ch")
        await expect(page.get_by_role("option")).to_have_count(1)
        await field.press("ArrowDown")
        await field.press("Enter")
        await expect(field).to_have_value("copies/3")
        await expect(page.get_by_role("link", name="Report number 0")).to_be_visible()
        assert page.url.endswith("#/find?id=copies%2F3")


async def test_suggestions_close_with_escape_and_begin_with_the_id(site: Site) -> None:
    async with site.at("/find") as page:
        field = page.get_by_role("combobox", name="Document")
        await field.fill("copies/")
        await expect(page.get_by_role("option")).to_have_count(6)
        await field.press("Escape")
        await expect(page.get_by_role("listbox")).to_have_count(0)
        await expect(field).to_have_value("copies/")


async def test_the_table_has_what_people_recognise_a_document_by(site: Site) -> None:
    async with site.at("/find", query={"id": "copies/0"}) as page:
        heads = await page.get_by_role("columnheader").all_inner_texts()
        names = [
            "Document",
            "Similarity",
            "Relation",
            "Resemblance",
            "Bit agreement",
            "Distance",
            "Fingerprint",
            "Path",
        ]
        assert heads == names
        row = page.get_by_role("row").filter(has_text="Report number 0")
        await expect(row).to_contain_text("reports/0")
        await expect(row).to_contain_text("exact")
        await expect(row).to_contain_text("100.0 %")
        await expect(row).to_contain_text("file:///srv/reports/0.pdf")
        await expect(row).to_contain_text(re.compile("[0-9a-f]{16}"))


async def test_a_pasted_text_is_looked_for_and_compared(site: Site) -> None:
    async with site.at("/find") as page:
        await page.get_by_role("radio", name="Text").check()
        await page.get_by_role("textbox", name="Text").fill(report(2) + " and some words more")
        await page.get_by_role("button", name="Find similar").click()
        assert await table_rows_when_there(page) == ["Report number 2"]
        await page.get_by_role("cell", name="near").or_(page.get_by_role("cell", name="contains")).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
        await expect(page.get_by_text("A text that you gave")).to_be_visible()
        assert report(2)[:20] not in page.url


async def test_a_dropped_file_is_looked_for(site: Site) -> None:
    async with site.at("/find") as page:
        await page.get_by_role("radio", name="File").check()
        await drop(page, report(1), "report.txt")
        assert await table_rows_when_there(page) == ["Report number 1"]
        await expect(page.locator(".summary")).to_contain_text("like report.txt")


async def test_a_chosen_file_is_looked_for(site: Site) -> None:
    async with site.at("/find") as page:
        await page.get_by_role("radio", name="File").check()
        file = FilePayload(name="r.txt", mimeType="text/plain", buffer=report(3).encode())
        await page.locator("input[type=file]").set_input_files(files=[file])
        assert await table_rows_when_there(page) == ["Report number 3"]


async def test_a_fingerprint_is_looked_for_and_a_wrong_one_is_refused(site: Site) -> None:
    found = (await site.service.client.get("/v1/documents/reports%2F1")).json()
    fingerprint = found["contents"][0]["verdict"]["fingerprint"]
    async with site.at("/find") as page:
        await page.get_by_role("radio", name="Fingerprint").check()
        field = page.get_by_role("textbox", name="Fingerprint")
        await field.fill("12")
        await field.press("Enter")
        assert await field.evaluate("field => field.validity.patternMismatch")
        await field.fill(fingerprint.upper())
        await field.press("Enter")
        assert "Report number 1" in await table_rows_when_there(page)


async def test_the_slider_filters_at_once_and_without_asking_the_service(site: Site) -> None:
    async with site.at("/find", query={"id": "copies/5"}) as page:
        slider = page.get_by_role("slider", name="Resemblance of at least")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
        assert await table_rows(page, RESULTS) == ["Report number 0"]
        share = await page.locator("tbody .share").inner_text()
        await slider.focus()
        await slider.press("End")
        await expect(page.get_by_text("Nothing at 100.0 % or more")).to_be_visible()
        await expect(page.get_by_text(f"The most alike has {share}")).to_be_visible()
        await slider.press("Home")
        assert await table_rows(page, RESULTS) == ["Report number 0"]
        await expect(page.locator("output")).to_have_text("30.0 %")
        assert "1 of 1" in (await slider.get_attribute("aria-valuetext") or "")
        await expect(page).to_have_url(re.compile(r"t=0\.3"))
        await page.get_by_role("button", name="Profile: 65.0 %").click()
        await expect(page.locator("output")).to_have_text("65.0 %")
        assert asked == []


async def test_a_profile_that_decides_by_bits_is_tried_bit_by_bit(browser: Browser) -> None:
    first = [planted.document for planted in corpus()]
    async with running_service(profile="roth-2013", first=first) as service:
        original = "archive%2Flighthouse.txt"
        found = (await service.client.get(f"/v1/documents/{original}/similar")).json()["matches"]
        distance = max(match["distance"] for match in found)
        async with Site(browser, service).at("/find", query={"id": "archive/lighthouse.txt"}) as page:
            assert len(await table_rows(page, RESULTS)) == len(found) == 2
            await expect(page.locator("output")).to_have_text("81.2 %")
            slider = page.get_by_role("slider", name="Bit agreement of at least")
            await slider.focus()
            for _ in range(12 - distance):  # of 12 bits that may differ to those that do
                await slider.press("ArrowRight")
            assert len(await table_rows(page, RESULTS)) == 2
            await slider.press("ArrowRight")
            assert await table_rows(page, RESULTS) == ["inbox/LIGHTHOUSE.TXT"]


async def test_a_part_is_alike_by_its_containment_where_the_profile_says_so(browser: Browser) -> None:
    first = [planted.document for planted in corpus()]
    query = {"id": "inbox/bread-part.txt"}
    async with (
        running_service(profile="containment", first=first) as service,
        Site(browser, service).at("/find", query=query) as page,
    ):
        await page.get_by_role("slider", name="Resemblance or containment of at least").press("End")
        assert await table_rows(page, RESULTS) == ["archive/bread.txt"]


async def test_a_column_sorts_its_rows(site: Site) -> None:
    async with site.at("/find", query={"id": "copies/1"}) as page:
        await page.get_by_role("button", name="Distance").click()
        await expect(page.get_by_role("columnheader", name="Distance")).to_have_attribute("aria-sort", "descending")
        distances = [int(text) for text in await page.locator("tbody tr td:nth-child(6)").all_inner_texts()]
        assert distances == sorted(distances, reverse=True)


async def test_copies_of_an_original_are_shown_in_its_family(site: Site) -> None:
    async with site.at("/find", query={"id": "archive/bread.txt"}) as page:
        await expect(page.get_by_text("No other original is like archive/bread.txt")).to_be_visible()
        await page.get_by_role("link", name="Show the family").click()
        await settled(page)
        assert await table_rows(page, "Members of the family") == ["archive/bread.txt", "inbox/bread-part.txt"]


async def test_a_text_that_is_like_nothing_says_so(site: Site) -> None:
    async with site.at("/find") as page:
        await page.get_by_role("radio", name="Text").check()
        await page.get_by_role("textbox", name="Text").fill("nothing in the world resembles what is written here today")
        await page.get_by_role("button", name="Find similar").click()
        await expect(page.get_by_text("Nothing is like the text")).to_be_visible()


async def test_a_text_is_forgotten_with_the_tab_and_the_view_says_so(site: Site) -> None:
    async with site.at("/find", query={"text": "1"}) as page:
        await expect(page.get_by_text("The text is no longer here")).to_be_visible()


async def test_a_document_that_is_not_known_is_an_error_with_the_words_of_the_service(site: Site) -> None:
    page = await site.browser.new_page()  # the browser writes each answer of 404 to the console
    await page.goto(f"{site.service.url}/#/find?id=unheard-of")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("'unheard-of' is not known")
    await expect(alert.get_by_role("button", name="Try again")).to_be_visible()
    await page.close()


async def table_rows_when_there(page: Page) -> list[str]:
    await expect(page.get_by_role("region", name=RESULTS)).to_be_visible()
    return await table_rows(page, RESULTS)
