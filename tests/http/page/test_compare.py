"""Compare: measures, cells, buckets, passages that scroll together."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Page, expect

from gate.demo import BREAD, BRIDGE, LIGHTHOUSE, corpus
from tests.http.page.views import Site, settled
from tests.http.service_harness import running_service

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

LEFT = "Before it. " + LIGHTHOUSE + "\n\n" + BREAD
RIGHT = (
    LIGHTHOUSE.replace("three summers", "four hard winters") + "\n\n" + ("An inserted part. " * 120) + "\n\n" + BREAD
)


async def give_texts(page: Page, left: str, right: str) -> None:
    for side, text in (("Left", left), ("Right", right)):
        part = page.get_by_role("region", name=f"{side} side")
        await part.get_by_role("radio", name="Text").check()
        await part.get_by_role("textbox", name=f"{side} text").fill(text)
        await part.get_by_role("button", name="Take").click()
    await expect(page.get_by_role("heading", name="Measures")).to_be_visible()


async def test_known_documents_are_compared_by_their_signatures(site: Site) -> None:
    async with site.at("/compare", query={"left": "reports/0", "right": "copies/3"}) as page:
        await expect(page.get_by_role("heading", name="They are alike, as an edited copy is.")).to_be_visible()
        measures = page.get_by_role("region", name="Measures").locator("tbody tr")
        assert await measures.locator("th").all_inner_texts() == [
            "Resemblance", "Left in right", "Right in left", "Distance", "Bit agreement",
        ]  # fmt: skip
        for sentence in await measures.locator("td:last-child").all_inner_texts():
            assert sentence.endswith(".")
        await expect(page.get_by_text("The service keeps no texts")).to_be_visible()


async def test_64_cells_show_where_the_fingerprints_differ(site: Site) -> None:
    answer = await site.service.client.post(
        "/v1/compare", json={"left": {"document_id": "reports/0"}, "right": {"document_id": "copies/5"}}
    )
    differing = answer.json()["differing_bits"]
    async with site.at("/compare", query={"left": "reports/0", "right": "copies/5"}) as page:
        cells = page.locator(".bits .bit")
        assert await cells.count() == 2 * 64
        assert await page.locator(".bits .bit.differs").count() == 2 * len(differing) > 0
        label = await page.get_by_role("img", name="Bits that differ").get_attribute("aria-label")
        assert label == f"Bits that differ: {', '.join(map(str, sorted(differing, reverse=True)))}"
        met = answer.json()["buckets_met"]
        await expect(page.locator(".buckets .met")).to_have_count(met)
        await expect(page.get_by_text(f"They meet in {met} of 20 buckets.")).to_be_visible()


async def test_the_bits_of_a_similarity_index_are_not_compared(browser: Browser) -> None:
    first = [planted.document for planted in corpus()]
    async with running_service(profile="roth-2011", first=first) as service:
        query = {"left": "archive/lighthouse.txt", "right": "inbox/lighthouse-edited.txt"}
        async with Site(browser, service).at("/compare", query=query) as page:
            await expect(page.get_by_text("a fingerprint is a number, and its bits are not compared")).to_be_visible()
            await expect(page.get_by_role("cell", name="The smaller of the two similarity indexes")).to_be_visible()


async def test_shared_and_changed_passages_of_two_texts_are_marked(site: Site) -> None:
    async with site.at("/compare") as page:
        await give_texts(page, LEFT, RIGHT)
        left, right = (page.get_by_role("region", name=f"Text of the {side} side") for side in ("left", "right"))
        assert await left.inner_text() == LEFT
        own = " ".join(await right.locator("mark").all_inner_texts())
        assert "four hard winters" in own
        assert "goats asleep" not in own
        assert "Before it." in " ".join(await left.locator("mark").all_inner_texts())
        exact = page.get_by_role("row", name="Resemblance").locator("td").nth(1)
        await expect(exact).to_contain_text("%")


async def test_what_both_share_stays_side_by_side_while_one_scrolls(site: Site) -> None:
    left, right = (
        f"{LIGHTHOUSE}\n\n{own}\n\n{BREAD}\n\n{BRIDGE}" for own in ("Left alone.", "An inserted part. " * 120)
    )
    async with site.at("/compare", size=(1280, 500)) as page:
        await give_texts(page, left, right)
        panes = page.locator(".pane")
        for side in (1, 0):
            await panes.nth(side).evaluate("pane => { pane.scrollTop = 0; }")
            await until(page, "Math.max(...[...document.querySelectorAll('.pane')].map(pane => pane.scrollTop)) === 0")
            await panes.nth(side).evaluate(f"pane => {{ pane.scrollTop = ({TOP_OF_BREAD})(pane) - 60; }}")
            await until(page, f"Math.abs({OFFSETS}.reduce((left, right) => left - right)) < 3 && {OFFSETS}[0] < 70")
        await panes.nth(1).evaluate("pane => { pane.scrollTop = pane.scrollHeight; }")
        await until(page, "(pane => pane.scrollTop >= pane.scrollHeight - pane.clientHeight - 2)" + FIRST_PANE)


# Where the recipe begins in a pane, in its text and as it is scrolled. What the panes share of it is one passage.
TOP_OF_BREAD = "pane => [...pane.querySelectorAll('.shared')].at(-1).offsetTop"
OFFSETS = f"[...document.querySelectorAll('.pane')].map(pane => ({TOP_OF_BREAD})(pane) - pane.scrollTop)"
FIRST_PANE = "(document.querySelector('.pane'))"


async def until(page: Page, condition: str) -> None:
    """Ask until it is so. What waits within the page would evaluate a text there, which its policy forbids."""
    async with asyncio.timeout(30):
        while not await page.evaluate(condition):
            pass


async def test_buttons_go_from_difference_to_difference(site: Site) -> None:
    async with site.at("/compare") as page:
        await give_texts(page, LEFT, RIGHT)
        following = page.get_by_role("button", name="Next difference")
        await following.click()
        await expect(page.locator(".own.current")).to_have_text("Before it. ")
        await following.click()
        await expect(page.locator(".own.current")).to_have_count(1)
        await expect(page.locator(".own.current")).not_to_have_text("Before it. ")
        await page.get_by_role("button", name="Previous difference").click()
        await expect(page.locator(".own.current")).to_have_text("Before it. ")


async def test_a_text_that_is_not_kept_can_be_given_for_the_comparison(site: Site) -> None:
    async with site.at("/compare", query={"left": "archive/lighthouse.txt", "right": "archive/bread.txt"}) as page:
        await page.get_by_text("Give the texts, to see what they share").click()
        await page.get_by_role("textbox", name="Left text").fill(LIGHTHOUSE)
        await page.get_by_role("button", name="Take").first.click()
        await settled(page)
        await page.get_by_text("Give the texts, to see what they share").click()
        await page.get_by_role("textbox", name="Right text").fill(BREAD)
        await page.get_by_role("button", name="Take").first.click()
        await expect(page.locator(".pane")).to_have_count(2)
        await expect(page.locator(".pane-box h3").first).to_contain_text("archive/lighthouse.txt")
        await expect(page.get_by_role("heading", name="They are not alike.")).to_be_visible()


async def test_sides_are_chosen_changed_and_swapped(site: Site) -> None:
    async with site.at("/compare") as page:
        await expect(page.get_by_text("Choose two documents")).to_be_visible()
        for side, document_id in (("Left", "reports/1"), ("Right", "reports/2")):
            await page.get_by_role("combobox", name=f"{side} document").fill(document_id)
            await page.get_by_role("region", name=f"{side} side").get_by_role("button", name="Take").click()
        await expect(page.get_by_role("heading", name="They are not alike.")).to_be_visible()
        await page.get_by_role("button", name="Swap sides").click()
        await expect(page.get_by_role("region", name="Left side")).to_contain_text("reports/2")
        assert page.url.endswith("left=reports%2F2&right=reports%2F1")
        await page.get_by_role("button", name="Change the left side").click()
        await expect(page.get_by_text("Choose two documents")).to_be_visible()
