"""The overview of what the gate does, and the profiles with their recall."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.http.page.views import Site, settled
from tests.http.service_harness import running_service

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


def figure(page: Page, name: str) -> str:
    return f".cards div:has(dt:text-is('{name}')) dd"


async def test_the_overview_counts_what_comes_while_it_is_looked_at(site: Site) -> None:
    async with site.at() as page:
        await expect(page.locator(".heading .pill")).to_have_text("Ready")
        await expect(page.locator(figure(page, "Match rate"))).to_contain_text("%")
        await expect(page.locator(figure(page, "Documents"))).to_contain_text(re.compile(r"^\d+"))
        noted = await page.locator(figure(page, "Check-ins per second") + " small").inner_text()
        await site.service.check_in("live", "a document that comes while somebody looks at the overview of the gate")
        more = str(int(noted.split()[0]) + 1)
        await expect(page.locator(figure(page, "Check-ins per second") + " small")).to_contain_text(more)


async def test_verdicts_are_drawn_by_relation_and_latencies_as_lines(site: Site) -> None:
    async with site.at() as page:
        chart = page.get_by_role("img", name="Verdicts by relation over time")
        assert await chart.locator("rect.r-new").count() >= 1
        assert await chart.locator("rect.r-near").count() >= 1
        await expect(page.locator(".legend").first).to_contain_text("near")
        latency = page.get_by_role("img", name="Latency of verdicts over time")
        assert await latency.locator("circle, path.line").count() >= 3


async def test_the_values_of_a_chart_are_read_with_the_arrow_keys(site: Site) -> None:
    async with site.at(query={"minutes": "5"}) as page:
        chart = page.get_by_role("img", name="Verdicts by relation over time")
        await chart.focus()
        said = ""
        for _ in range(30):
            await page.keyboard.press("ArrowLeft")
            said = await page.locator(".chart-box [aria-live]").first.inner_text()
            if "new" in said:
                break
        assert re.match(r"\d\d:\d\d:\d\d, .*new \d+", said)
        await expect(page.locator(".tip").first).to_be_visible()


async def test_another_time_is_chosen_and_kept_in_the_address(site: Site) -> None:
    async with site.at() as page:
        await page.get_by_role("radio", name="60 min").check()
        await expect(page).to_have_url(re.compile("minutes=60"))
        await expect(page.locator(figure(page, "Check-ins per second") + " small")).to_contain_text("in 60 min")


async def test_the_largest_families_and_the_size_of_the_index_are_shown(site: Site) -> None:
    async with site.at() as page:
        families = page.get_by_role("region", name="Largest families")
        await expect(families.get_by_role("row").nth(1)).to_contain_text("Report number 0")
        index = page.locator(".index")
        await expect(index).to_contain_text("documents")
        await expect(index).to_contain_text("kB")
        await expect(page.get_by_text("None since the service started.")).to_be_visible()


async def test_an_empty_service_says_how_to_check_a_document_in(browser: Browser) -> None:
    async with running_service() as service:
        empty = Site(browser, service)
        async with empty.at() as page:
            await expect(page.get_by_text("Nothing has been checked in yet")).to_be_visible()
            await expect(page.locator("pre")).to_contain_text(f"curl -s {service.url}/v1/check-ins")
            await empty.open(page, "/feed", {})
            await expect(page.get_by_text("No verdicts yet")).to_be_visible()
            await empty.open(page, "/family", {})
            await expect(page.get_by_text("Choose a document")).to_be_visible()


async def test_a_service_that_stops_answering_is_reported_and_comes_back(site: Site) -> None:
    page = await site.browser.new_page()  # the browser writes failed requests to the console
    await page.goto(site.service.url)
    await settled(page)
    await page.route("**/v1/overview*", lambda route: route.abort())
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The service does not answer")
    await page.unroute("**/v1/overview*")
    await alert.get_by_role("button", name="Try again").click()
    await expect(page.locator(".heading .pill")).to_have_text("Ready")
    await page.close()


async def test_every_profile_has_its_recall_curve(site: Site) -> None:
    answer = (await site.service.client.get("/v1/profiles")).json()
    names = [profile["parameters"]["name"] for profile in answer["profiles"]]
    async with site.at("/profiles") as page:
        for name in names:
            await expect(page.get_by_role("img", name=f"Recall curve of {name}", exact=True)).to_be_visible()
        await expect(page.get_by_role("radio", name="standard in force")).to_be_checked()
        await page.get_by_role("radio", name=re.compile("^simhash ")).check()
        await expect(page.get_by_role("heading", name="simhash@1")).to_be_visible()
        await expect(page).to_have_url(re.compile("profile=simhash%401"))
        await expect(page.get_by_text("within 3 of 64 bits")).to_be_visible()


async def test_the_cost_of_a_profile_is_that_of_the_chosen_size(site: Site) -> None:
    async with site.at("/profiles", query={"documents": "100000000"}) as page:
        await expect(page.get_by_label("Documents in the index")).to_have_value("100000000")
        await expect(page.get_by_text("49.2 GB")).to_be_visible()


async def test_a_threshold_is_tried_on_stored_pairs(site: Site) -> None:
    async with site.at("/profiles") as page:
        await page.get_by_role("button", name="Look up stored pairs").click()
        summary = page.locator(".summary")
        await expect(summary).to_contain_text("alike at 65.0 %")
        before = int((await summary.inner_text()).split()[0])
        slider = page.get_by_role("slider", name="Resemblance of at least")
        await slider.focus()
        await slider.press("End")
        await expect(summary).to_contain_text("fewer than under the profile")
        assert 0 < int((await summary.inner_text()).split()[0]) < before
        pairs = page.get_by_role("region", name="Stored pairs").locator("tbody tr:visible")
        await expect(pairs.first).to_contain_text("100.0 %")
        await pairs.first.get_by_role("link").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
