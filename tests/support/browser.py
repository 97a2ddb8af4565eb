"""A real Chromium for tests of pages: Debian's, driven by Playwright, with axe-core to find what readers cannot use.

    async def test_the_page_has_a_title(page: Page) -> None:
        await page.goto(path.as_uri())
        await expect(page).to_have_title("Report")

The tests of a module share a browser and its event loop, and each has a context of its own. Playwright's own browsers
are never installed. A test fails where a page writes an error to its console or throws one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.support.servers import require_program

# It may run as root in a container, and it calls nobody.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE = (1280, 900)
NARROW = (400, 800)  # a telephone


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    program = require_program("chromium", "chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class PageProblems:
    """What went wrong in the pages of a context: exceptions, errors on the console."""

    messages: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("weberror", lambda error: self.messages.append(str(error.error)))
        context.on("console", lambda line: self.messages.append(line.text) if line.type == "error" else None)


@asynccontextmanager
async def open_page(browser: Browser, *, size: tuple[int, int] = WIDE, **options: Any) -> AsyncIterator[Page]:
    """A page of a new context; `options` are those of `Browser.new_context`, such as `color_scheme="dark"`."""
    problems = PageProblems()
    async with await browser.new_context(viewport={"width": size[0], "height": size[1]}, **options) as context:
        problems.watch(context)
        yield await context.new_page()
    if problems.messages:
        raise AssertionError(f"errors in the page: {problems.messages}")


async def accessibility_violations(page: Page, *, without: Sequence[str] = (), only: Sequence[str] = ()) -> list[str]:
    """What axe-core finds wrong with a page: its rules, with the elements. `without` leaves rules out, `only` the
    others."""
    options: dict[str, Any] = {"rules": {rule: {"enabled": False} for rule in without}, "resultTypes": ["violations"]}
    if only:
        options["runOnly"] = [*only]
    found = await Axe().run(page, options=options)
    return [
        f"{violation['id']}: {violation['help']} ({', '.join(str(node['target']) for node in violation['nodes'])})"
        for violation in found.response["violations"]
    ]
