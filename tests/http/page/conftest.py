"""A service with documents, and its page in a real browser. The tests of a module share both."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, expect

from gate.demo import corpus
from tests.http.page.views import HOSTILE_ID, HOSTILE_TITLE, Site
from tests.http.service_harness import running_service

expect.set_options(timeout=20_000)  # a machine that does other things too; what is there is seen at once
COPIES = 6  # of one report, each with another number of words changed


def report(number: int, words: int = 60) -> str:
    return " ".join(f"word{number}x{place}" for place in range(words))


def documents() -> list[dict[str, str]]:
    """Reports, copies of the first of them, and a document whose id and title try to be more than text."""
    reports = [
        {
            "document_id": f"reports/{number}",
            "title": f"Report number {number}",
            "source": "board",
            "uri": f"file:///srv/reports/{number}.pdf",
        }
        for number in range(4)
    ]
    for number, row in enumerate(reports):
        row["text"] = report(number)
    words = report(0).split()
    copies = [
        {
            "document_id": f"copies/{number}",
            "title": f"Copy with {number} changes",
            "source": "inbox",
            "text": " ".join(["changed"] * number + words[number:]),
        }
        for number in range(COPIES)
    ]
    hostile = {"document_id": HOSTILE_ID, "title": HOSTILE_TITLE, "source": "<b>bold</b>", "text": report(99)}
    copy = {"document_id": "hostile-copy", "title": "Like the hostile one", "text": report(99)}
    return [*reports, *copies, hostile, copy]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(browser: Browser) -> AsyncIterator[Site]:
    """A service in memory: the documents of the demonstration, which nobody watched come, and those of `documents`."""
    first = [planted.document for planted in corpus()]
    async with running_service(first=first) as service:
        answer = await service.client.post("/v1/check-ins", json=documents())
        assert answer.status_code == 200, answer.text
        yield Site(browser, service)
