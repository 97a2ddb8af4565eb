"""The browser that tests of pages share: it sees errors, violations, colour schemes and widths."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser import NARROW, accessibility_violations, open_page

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

GOOD = '<!doctype html><html lang="en"><title>x</title><main><h1>Hello</h1></main></html>'


async def test_a_page_is_opened_in_a_real_browser(page: Page) -> None:
    await page.set_content(GOOD)
    await expect(page.get_by_role("heading")).to_have_text("Hello")
    assert await page.evaluate("6 * 7") == 42


async def test_an_accessible_page_has_no_violations(page: Page) -> None:
    await page.set_content(GOOD)
    assert await accessibility_violations(page) == []


async def test_an_image_without_a_text_is_a_violation(page: Page) -> None:
    await page.set_content(GOOD.replace("Hello", 'Hello <img src="data:,">'))
    [violation] = await accessibility_violations(page)
    assert violation.startswith("image-alt:")
    assert await accessibility_violations(page, without=["image-alt"]) == []
    assert await accessibility_violations(page, only=["color-contrast"]) == []


@pytest.mark.parametrize("script", ["throw new Error('boom')", "console.error('boom')"])
async def test_an_error_in_a_page_fails_the_test(browser: Browser, script: str) -> None:
    async def open_it() -> None:
        async with open_page(browser) as page:
            await page.set_content(f"{GOOD}<script>{script}</script>")

    with pytest.raises(AssertionError, match="boom"):
        await open_it()


async def test_a_page_may_be_dark_and_narrow(browser: Browser) -> None:
    async with open_page(browser, size=NARROW, color_scheme="dark") as page:
        assert await page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [400, True]


async def test_a_test_that_uses_the_browser_has_its_marker(page: Page, request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("browser")
