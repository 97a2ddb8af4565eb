"""The report as people open it: in a real browser, from one file, with nobody to ask for more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from gate.demo import LIGHTHOUSE
from gate.model import Relation
from gate.report.page import RunHeader, render_page
from gate.report.pairs import ShownPair, show_pairs
from gate.report.results import Result, Results, UnreadableFile
from tests.report.samples import MEANINGS, archive, result
from tests.support.browser import NARROW, WIDE, accessibility_violations, open_page

in_a_browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

MANY = 100_000
TEXTS = {
    "old/light.txt": LIGHTHOUSE,
    "new/light-2.txt": LIGHTHOUSE.replace("three summers", "four winters"),
}


def header(title: str = "Near-duplicates in notes/") -> RunHeader:
    return RunHeader(
        title=title,
        profile="standard@1",
        made_at=datetime(2026, 5, 6, 7, 8, tzinfo=UTC),
        notes=("Judged against docs.sqlite.",),
        meanings=MEANINGS,
    )


def written(
    path: Path, results: Results, pairs: Sequence[ShownPair] = (), title: str = "Near-duplicates in x/"
) -> Path:
    path.write_text(render_page(results, header(title), pairs), "utf-8")
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = archive()
    return written(tmp_path_factory.mktemp("report") / "report.html", results, list(show_pairs(results, TEXTS.get)))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = Results()
    results.add(_many())
    return written(tmp_path_factory.mktemp("many") / "report.html", results)


def _many() -> Iterator[Result]:
    for n in range(MANY):
        name = f"folder-{n % 7}/document-{n:06}.txt"
        is_copy = n % 10 == 9
        original = f"folder-{(n - 9) % 7}/document-{n - 9:06}.txt" if is_copy else None
        yield result(name, Relation.NEAR if is_copy else Relation.NEW, original=original, size=n, days=n % 50)


def rows(page: Page) -> Locator:
    return page.locator("#rows tbody tr.row")


async def names(page: Page) -> list[str]:
    return [await cell.inner_text() for cell in await page.locator("#rows tr.row td:first-child").all()]


# Without a browser


def test_the_page_refers_to_nothing_outside_of_itself() -> None:
    page = render_page(archive(), header())
    assert re.findall(r"""(?:src|href|action)=["'](?!#).*?["']""", page) == []
    assert "http:" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page


def test_what_comes_from_outside_cannot_end_the_script_or_become_markup() -> None:
    evil = "</script><script>alert(1)</script><img src=x>.txt"
    results = Results()
    results.add([result(evil, Relation.NEAR, original=f"{evil}2", place=evil)])
    results.add_unreadable([UnreadableFile(name=evil, reason="binary", message=evil)])
    page = render_page(results, header(title=evil), [ShownPair(evil, f"{evil}2", ((), ()), (False, False))])
    assert page.count("</script>") == 2
    assert "<img" not in page


def test_beyond_the_most_rows_the_copies_come_first_and_the_page_says_so() -> None:
    page = render_page(archive(), header(), max_rows=5)
    assert "5 of 7 documents are in this page, copies first." in page
    data = page.partition('id="data">')[2].partition("</script>")[0]
    for name in ("old/light.txt", "new/light-2.txt", "new/LIGHT.TXT", "new/part.txt", "light-3.txt"):
        assert name in data
    assert "blank.txt" not in data


def test_a_run_without_documents_is_a_page_too() -> None:
    page = render_page(Results(), header())
    assert "every file could be read" in page
    assert 'id="documents"' not in page


# In a browser


class TestInABrowser:
    pytestmark = in_a_browser

    async def test_the_numbers_are_there_by_verdict_folder_family_and_reason(self, page: Page, report: Path) -> None:
        await page.goto(report.as_uri())
        await expect(page.get_by_role("heading", level=1)).to_have_text("Near-duplicates in x/")
        cards = page.locator(".cards")
        await expect(cards).to_contain_text("57.1 % of the documents")
        await expect(cards).to_contain_text("3.2 kB")
        by_verdict = page.get_by_role("region", name="By verdict")
        await expect(by_verdict.get_by_role("row", name="near")).to_contain_text("2")
        by_folder = page.get_by_role("region", name="By folder")
        await expect(by_folder.get_by_role("row").nth(1)).to_contain_text("new")
        await expect(page.get_by_text("old/light.txt: 3 copies, 3.0 kB")).to_be_visible()
        await page.get_by_text("binary: 2 files").click()
        await expect(page.get_by_text("a.png: is not a text file")).to_be_visible()
        await expect(page.get_by_role("img", name="Documents and copies by their time")).to_be_visible()

    @pytest.mark.parametrize(("colours", "size"), [("light", WIDE), ("dark", NARROW)])
    async def test_the_page_is_accessible(
        self, browser: Browser, report: Path, colours: str, size: tuple[int, int]
    ) -> None:
        async with open_page(browser, size=size, color_scheme=colours) as page:
            await page.goto(report.as_uri())
            for details in await page.locator("details").all():
                await details.locator("summary").first.click()
            assert await accessibility_violations(page) == []
            assert await page.evaluate("document.documentElement.scrollWidth") == size[0]
            await page.get_by_role("combobox", name="Verdict").select_option("with passages")
            await rows(page).first.click()
            await expect(page.get_by_role("dialog")).to_be_visible()
            assert await accessibility_violations(page) == []

    async def test_a_dark_desk_gets_a_dark_page(self, browser: Browser, report: Path) -> None:
        colours = []
        for scheme in ("light", "dark"):
            async with open_page(browser, color_scheme=scheme) as page:
                await page.goto(report.as_uri())
                colours.append(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert colours == ["rgb(255, 255, 255)", "rgb(20, 23, 31)"]

    async def test_documents_are_found_by_name_verdict_and_folder(self, page: Page, report: Path) -> None:
        await page.goto(report.as_uri())
        count = page.get_by_role("status")
        await expect(count).to_have_text("7 documents, 4 copies.")
        await page.get_by_label("Search in names").fill("LIGHT-2")
        await expect(rows(page)).to_have_count(2)  # itself, and what is most like it
        await page.get_by_label("Search in names").fill("")
        await page.get_by_role("combobox", name="Verdict").select_option("copies")
        await expect(count).to_have_text("4 documents of 7, 4 copies.")
        await page.get_by_role("combobox", name="Folder").select_option("new")
        await expect(count).to_have_text("3 documents of 7, 3 copies.")
        await page.get_by_role("combobox", name="Verdict").select_option("exact")
        assert await names(page) == ["new/LIGHT.TXT"]

    async def test_columns_sort_up_down_and_back_with_empty_values_last(self, page: Page, report: Path) -> None:
        await page.goto(report.as_uri())
        given = await names(page)
        for column, smallest in (("Size", "blank.txt"), ("Document", "blank.txt"), ("Bits", "new/light-2.txt")):
            head = page.get_by_role("grid").get_by_role("columnheader", name=column)
            await head.get_by_role("button").click()
            await expect(head).to_have_attribute("aria-sort", "ascending")
            assert (await names(page))[0] == smallest
            await head.get_by_role("button").click()
            await expect(head).to_have_attribute("aria-sort", "descending")
            await head.get_by_role("button").click()
            await expect(head).not_to_have_attribute("aria-sort", re.compile("."))
            assert await names(page) == given
        await page.get_by_role("grid").get_by_role("columnheader", name="Most like").get_by_role("button").click()
        like = [await cell.inner_text() for cell in await page.locator("#rows tr.row td:nth-child(3)").all()]
        assert like == ["new/light-2.txt", "old/bread.txt", "old/light.txt", "old/light.txt", "-", "-", "-"]

    async def test_a_row_opens_with_its_text_beside_the_text_that_it_is_like(self, page: Page, report: Path) -> None:
        await page.goto(report.as_uri())
        await page.get_by_role("combobox", name="Verdict").select_option("with passages")
        await expect(rows(page)).to_have_count(1)
        await rows(page).click()
        dialog = page.get_by_role("dialog", name="new/light-2.txt")
        await expect(dialog).to_contain_text("near: what near means")
        await expect(dialog).to_contain_text("7 of 64")
        await expect(dialog.get_by_role("heading", level=3)).to_have_text(["new/light-2.txt", "old/light.txt"])
        sides = dialog.locator(".sides section")
        await expect(sides.nth(0).locator("mark")).to_contain_text("four winters")
        await expect(sides.nth(1).locator("mark")).to_contain_text("three summers")
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()

    async def test_what_has_no_texts_in_the_report_says_so(self, page: Page, report: Path) -> None:
        await page.goto(report.as_uri())
        await page.get_by_role("combobox", name="Verdict").select_option("exact")
        await rows(page).click()
        await expect(page.get_by_role("dialog")).to_contain_text("Both have the same text")
        await page.keyboard.press("Escape")
        await page.get_by_role("combobox", name="Verdict").select_option("contained")
        await rows(page).click()
        await expect(page.get_by_role("dialog")).to_contain_text("gate compare")

    async def test_the_keyboard_moves_opens_steps_and_comes_back(self, page: Page, report: Path) -> None:
        await page.goto(report.as_uri())
        grid = page.get_by_role("grid", name="Documents")
        await grid.focus()
        for key in ("End", "ArrowUp", "Home", "ArrowDown", "ArrowDown"):
            await page.keyboard.press(key)
        await expect(page.get_by_role("row", selected=True)).to_contain_text("new/light-2.txt")
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("First of its family")
        await page.get_by_role("button", name="Next").click()
        await expect(page.locator("#one-name")).to_have_text("new/LIGHT.TXT")
        await page.get_by_role("button", name="Show its family").click()
        await expect(dialog).to_be_hidden()
        await expect(grid).to_be_focused()
        assert await names(page) == ["old/light.txt", "new/light-2.txt", "new/LIGHT.TXT", "light-3.txt"]

    async def test_without_scripts_the_numbers_are_still_there(self, browser: Browser, report: Path) -> None:
        async with open_page(browser, java_script_enabled=False) as page:
            await page.goto(report.as_uri())
            await expect(page.get_by_role("region", name="By verdict")).to_contain_text("near")
            await expect(page.get_by_text("needs JavaScript")).to_be_visible()

    async def test_of_a_hundred_thousand_documents_only_those_in_view_are_drawn(self, page: Page, many: Path) -> None:
        await page.goto(many.as_uri())
        await expect(page.get_by_role("status")).to_have_text("100,000 documents, 10,000 copies.")
        assert await rows(page).count() < 60
        grid = page.get_by_role("grid")
        await expect(grid).to_have_attribute("aria-rowcount", "100001")
        await grid.focus()
        await page.keyboard.press("End")
        await expect(page.get_by_role("row", selected=True)).to_have_attribute("aria-rowindex", "100001")
        assert (await names(page))[-1] == f"folder-{(MANY - 1) % 7}/document-099999.txt"
        assert await rows(page).count() < 60
        await grid.get_by_role("columnheader", name="Size").get_by_role("button").dblclick()
        assert (await names(page))[0].endswith("document-099999.txt")
        await page.get_by_label("Search in names").fill("document-054321")
        await expect(rows(page)).to_have_count(1)
