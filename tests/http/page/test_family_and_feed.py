"""The family of a document, the feed of verdicts, and what the page says of dead letters."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from playwright.async_api import expect

from tests.http.page.conftest import COPIES
from tests.http.page.views import Site, settled, table_rows

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

MEMBERS = "Members of the family"


async def test_a_family_shows_its_original_first_whichever_member_is_asked_for(site: Site) -> None:
    async with site.at("/family", query={"id": "copies/2"}) as page:
        rows = await table_rows(page, MEMBERS)
        assert rows == ["Report number 0", *[f"Copy with {number} changes" for number in range(COPIES)]]
        await expect(page.get_by_role("row").nth(1)).to_contain_text("original")
        await expect(page.get_by_role("row").filter(has_text="copies/2")).to_contain_text("asked for")
        await expect(page.get_by_text(f"{COPIES + 1} documents in this family")).to_be_visible()


async def test_why_this_verdict_is_said_in_words(site: Site) -> None:
    async with site.at("/family", query={"id": "reports/0"}) as page:
        button = page.get_by_role("button", name="Why this verdict on copies/0")
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(button).to_have_attribute("aria-expanded", "true")
        await expect(page.get_by_text("the same text was known, but for case and white space")).to_be_visible()
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("the same text was known, but for case and white space")).to_be_hidden()


async def test_a_member_is_compared_with_its_original(site: Site) -> None:
    async with site.at("/family", query={"id": "reports/0"}) as page:
        await page.get_by_role("link", name="Copy with 2 changes").click()
        await settled(page)
        assert page.url.endswith("left=reports%2F0&right=copies%2F2")


async def test_without_a_document_the_largest_families_are_listed(site: Site) -> None:
    async with site.at("/family") as page:
        assert (await table_rows(page, "Largest families"))[0] == "Report number 0"
        await page.get_by_role("combobox", name="Document").fill("reports/3")
        await page.get_by_role("button", name="Show its family").click()
        await expect(page.get_by_text("The only document of its family")).to_be_visible()


async def test_the_feed_shows_new_verdicts_without_being_asked(site: Site) -> None:
    async with site.at("/feed") as page:
        await expect(page.get_by_role("link", name="Report number 3", exact=True)).to_be_visible()
        await site.service.check_in("late", "a document that comes while somebody watches the feed", title="Late one")
        await expect(page.get_by_role("row").nth(1)).to_contain_text("Late one")


async def test_filters_are_in_the_address_and_leave_only_what_fits(site: Site) -> None:
    async with site.at("/feed") as page:
        await page.get_by_label("Source").select_option("inbox")
        await expect(page.get_by_role("row")).to_have_count(1 + COPIES)
        await page.get_by_label("Relation").select_option("exact")
        await expect(page.get_by_role("row")).to_have_count(2)
        await expect(page).to_have_url(re.compile("relation=exact&source=inbox"))
        await page.get_by_label("Limits").select_option("true")
        await expect(page.get_by_text("No verdict fits these filters")).to_be_visible()
    async with site.at("/feed", query={"relation": "exact", "source": "inbox", "profile": "standard@1"}) as page:
        await expect(page.get_by_role("row")).to_have_count(2)
        await expect(page.get_by_label("Relation")).to_have_value("exact")
        await expect(page.get_by_label("Source")).to_have_value("inbox")


async def test_a_verdict_in_the_feed_says_why(site: Site) -> None:
    async with site.at("/feed", query={"relation": "exact"}) as page:
        await page.get_by_role("button", name="Why this verdict on copies/0").click()
        await expect(page.get_by_text("The best match is reports/0", exact=False)).to_be_visible()


async def test_the_view_of_dead_letters_names_commands_that_there_are(site: Site) -> None:
    async with site.at("/dead-letters") as page:
        await expect(page.get_by_text("This service does not read the topic of dead letters")).to_be_visible()
        commands = (await page.locator("pre").inner_text()).splitlines()
    assert len(commands) == 3
    for command in commands:
        names = command.split()[1:]
        options = [name for name in names if name.startswith("--")]
        shown = subprocess.run(
            [sys.executable, "-m", "gate", *names[:2], "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert all(option in shown for option in options), command


async def test_a_paused_feed_stays_as_it_is(site: Site) -> None:
    async with site.at("/feed") as page:
        button = page.get_by_role("button", name="Pause")
        await button.click()
        await expect(page.get_by_role("button", name="Go on")).to_have_attribute("aria-pressed", "true")
        await site.service.check_in("unseen", "a document that nobody sees come for as long as the feed is paused")
        await expect(page.get_by_text("unseen", exact=True)).to_have_count(0)
        await page.get_by_role("button", name="Go on").click()
        await expect(page.get_by_role("row").nth(1)).to_contain_text("unseen")
