"""The page of a running service, opened at one of its views."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from playwright.async_api import Browser, Page, expect

from tests.http.service_harness import ServiceUnderTest
from tests.support.browser import WIDE, open_page

HOSTILE_ID = "x/<img src=x onerror=\"document.title='owned'\">/../?a=b#c%2F"
HOSTILE_TITLE = "<script>document.title='owned'</script>\u202egnp.exe"

# Every view with something to show, by its path.
VIEWS: dict[str, dict[str, str]] = {
    "/": {},
    "/find": {"id": "copies/3"},
    "/compare": {"left": "reports/0", "right": "copies/3"},
    "/family": {"id": "reports/0"},
    "/feed": {},
    "/dead-letters": {},
    "/profiles": {},
}


def fragment(path: str, query: dict[str, str]) -> str:
    return f"/#{path}?{urlencode(query)}" if query else f"/#{path}"


@dataclass(frozen=True, slots=True)
class Site:
    """A service, and a browser to look at its page."""

    browser: Browser
    service: ServiceUnderTest

    @asynccontextmanager
    async def at(
        self, path: str = "/", *, size: tuple[int, int] = WIDE, query: dict[str, str] | None = None, **options: Any
    ) -> AsyncIterator[Page]:
        """A new page at a view; errors on its console fail the test."""
        async with open_page(self.browser, size=size, **options) as page:
            await self.open(page, path, query or {})
            yield page

    async def open(self, page: Page, path: str, query: dict[str, str]) -> None:
        await page.goto(self.service.url + fragment(path, query))
        await settled(page)


async def settled(page: Page) -> None:
    """The view is there, and nothing in it is awaited."""
    await expect(page.locator("main h1")).to_be_visible()
    await expect(page.locator(".loading, [aria-busy=true]")).to_have_count(0)


async def table_rows(page: Page, name: str) -> list[str]:
    """The names of the documents in the visible rows of a table."""
    cells = page.get_by_role("region", name=name).locator("tbody tr:visible th .name > :first-child")
    return await cells.all_inner_texts()
