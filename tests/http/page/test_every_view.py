"""What holds for every view: nothing on the console, no violation, any width, both colour schemes, the keyboard."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.http.page.views import HOSTILE_ID, VIEWS, Site, settled
from tests.support.browser import NARROW, accessibility_violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

ZOOMED = (640, 450)  # what a window of 1280 by 900 has room for at 200 %
EMPTY = ["/find", "/compare", "/family"]


async def test_no_view_has_a_violation(site: Site) -> None:
    async with site.at() as page:
        for path, query in VIEWS.items():
            await site.open(page, path, query)
            assert await accessibility_violations(page) == [], path


async def test_every_view_is_dark_and_has_enough_contrast_where_the_system_is_dark(site: Site) -> None:
    async with site.at(color_scheme="dark") as page:
        for path, query in VIEWS.items():
            await site.open(page, path, query)
            assert await accessibility_violations(page, only=["color-contrast"]) == [], path
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 24)"


async def test_no_empty_view_has_a_violation_and_each_says_what_to_do(site: Site) -> None:
    async with site.at() as page:
        for path in EMPTY:
            await site.open(page, path, {})
            assert await accessibility_violations(page) == [], path
            assert await page.get_by_text("Choose", exact=False).or_(page.get_by_text("Largest families")).count(), path


@pytest.mark.parametrize("size", [NARROW, ZOOMED], ids=["400 px", "200 %"])
async def test_every_view_fits_a_narrow_window(site: Site, size: tuple[int, int]) -> None:
    async with site.at(size=size) as page:
        for path, query in VIEWS.items():
            await site.open(page, path, query)
            assert await page.evaluate("document.documentElement.scrollWidth") <= size[0], path
            heading = await page.get_by_role("heading", level=1).bounding_box()
            assert heading is not None
            assert heading["x"] + heading["width"] <= size[0], path


async def test_every_view_is_reached_and_named_by_keyboard_alone(site: Site) -> None:
    async with site.at() as page:
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Tab")  # the name of the service
        links = page.get_by_role("navigation", name="Views").get_by_role("link")
        names = await links.all_inner_texts()
        assert len(names) == len(VIEWS)
        for place, name in enumerate(names):
            await links.nth(place).focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("heading", level=1)).to_have_text(name)
            await expect(page).to_have_title(f"{name} \u00b7 Check-in gate")
            await expect(page.locator("main")).to_be_focused()
            await expect(links.nth(place)).to_have_attribute("aria-current", "page")


async def test_the_skip_button_leads_past_the_navigation(site: Site) -> None:
    async with site.at("/find") as page:
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("radio", name="Document")).to_be_focused()


async def test_the_back_button_returns_to_the_view_before(site: Site) -> None:
    async with site.at("/find", query={"id": "copies/3"}) as page:
        await page.get_by_role("link", name="Report number 0").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
        await page.go_back()
        await settled(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Find similar")
        await expect(page.get_by_role("link", name="Report number 0")).to_be_visible()


async def test_ids_and_titles_of_strangers_are_text_in_every_view(site: Site) -> None:
    async with site.at() as page:
        for path, query in {
            "/": {},
            "/find": {"id": "hostile-copy"},
            "/compare": {"left": HOSTILE_ID, "right": "hostile-copy"},
            "/family": {"id": HOSTILE_ID},
            "/feed": {"source": "<b>bold</b>"},
        }.items():
            await site.open(page, path, query)
            await expect(page.get_by_text("<img src=x", exact=False).first).to_be_visible()
            assert await page.locator("main").locator("script, img, b:text('bold')").count() == 0, path
            assert not (await page.title()).startswith("owned"), path


async def test_characters_that_turn_the_line_around_are_shown_as_what_they_are(site: Site) -> None:
    async with site.at("/family", query={"id": HOSTILE_ID}) as page:
        await expect(page.get_by_text("\u2039U+202E\u203agnp.exe").first).to_be_visible()


async def test_an_address_that_names_no_view_says_so(site: Site) -> None:
    async with site.at("/nothing") as page:
        await expect(page.get_by_role("heading", level=1)).to_have_text("There is no such view")
        await page.get_by_role("link", name="Go to the overview").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


async def test_the_page_asks_its_own_service_only(site: Site) -> None:
    async with site.at() as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for path, query in VIEWS.items():
            await site.open(page, path, query)
        assert asked
        assert {url.split("/")[2] for url in asked} == {site.service.url.split("/")[2]}
