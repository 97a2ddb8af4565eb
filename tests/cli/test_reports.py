"""Reports of `gate check`: families, a table in a file, and a page in a real browser."""

from __future__ import annotations

import csv
import json
import os
import stat
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from gate.demo import BREAD, LIGHTHOUSE
from tests.cli.command import EDITED, done, gate, lines

DAY = 24 * 3600
MARCH = 1_772_600_000  # seconds since 1970


@pytest.fixture
def notes(empty_folder: Path) -> Path:
    folder = Path("notes")
    (folder / "new").mkdir(parents=True)
    for day, (name, text) in enumerate(
        (
            ("light.txt", LIGHTHOUSE),
            ("bread.txt", BREAD),
            ("new/light-2.txt", EDITED),
            ("new/LIGHT.TXT", LIGHTHOUSE.upper()),
            ("photo.png", "\0"),
        )
    ):
        (folder / name).write_text(text)
        os.utime(folder / name, (MARCH, MARCH + day * DAY))
    return folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_by_group_each_original_comes_with_its_copies(notes: Path) -> None:
    rows = [row.split()[:3] for row in done("check", notes, "--by-group").stdout.splitlines()]
    assert rows[1:4] == [
        ["light.txt", "original", "-"],
        ["new/light-2.txt", "near", rows[2][2]],
        ["new/LIGHT.TXT", "exact", "100.0"],
    ]
    assert rows[4][:2] == ["5", "documents:"]
    [family] = lines(done("check", notes, "--by-group", "--json").stdout)
    assert family["original"] == "light.txt"
    assert [(copy["document_id"], copy["relation"]) for copy in family["copies"]] == [
        ("new/light-2.txt", "near"),
        ("new/LIGHT.TXT", "exact"),
    ]


def test_the_table_in_a_file_has_every_document_with_its_size_and_time(notes: Path) -> None:
    done("check", notes, "--csv", "all.csv", "--only-similar")
    rows = table(Path("all.csv"))
    assert [(row["document"], row["verdict"]) for row in rows] == [
        ("light.txt", "new"),
        ("bread.txt", "new"),
        ("new/light-2.txt", "near"),
        ("new/LIGHT.TXT", "exact"),
        ("photo.png", "unreadable"),
    ]
    assert rows[3]["original"] == "light.txt"
    assert rows[0]["size_bytes"] == str(len(LIGHTHOUSE))
    assert rows[0]["time"] == "2026-03-04T04:53:20Z"
    assert rows[4]["reason"] == "binary"


def test_reports_are_private_and_what_was_there_stays_until_they_are_complete(notes: Path) -> None:
    done("check", notes, "--html", "report.html", "--csv", "all.csv")
    assert {stat.S_IMODE(Path(name).stat().st_mode) for name in ("report.html", "all.csv")} == {0o600}
    before = Path("report.html").read_bytes()
    assert gate("check", notes, "--html", "report.html", "--index", notes / "bread.txt").exit_code == 2
    assert Path("report.html").read_bytes() == before
    assert not list(Path().glob("*.part"))


def test_a_report_that_cannot_be_written_is_refused_before_any_work(notes: Path) -> None:
    result = gate("check", notes, "--html", "missing/report.html", "--index", "kept.sqlite")
    assert result.exit_code == 2
    assert "missing/report.html: cannot be written: No such file or directory" in result.stderr
    assert not Path("kept.sqlite").exists()


def test_reports_and_index_in_the_folder_are_not_checked_themselves(notes: Path) -> None:
    for _ in range(2):
        done("check", notes, "--html", notes / "report.html", "--csv", notes / "all.csv", "--index", notes / "x.gate")
    rows = table(notes / "all.csv")
    assert sorted(row["document"] for row in rows) == [
        "bread.txt",
        "light.txt",
        "new/LIGHT.TXT",
        "new/light-2.txt",
        "photo.png",
    ]


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="module")
async def test_the_page_shows_a_copy_beside_its_original_and_why_a_file_was_not_read(notes: Path, page: Page) -> None:
    done("check", notes, "--html", "report.html")
    await page.goto(Path("report.html").absolute().as_uri())
    await expect(page).to_have_title("Near-duplicates in notes/")
    await expect(page.get_by_role("status")).to_have_text("5 documents, 2 copies.")
    await expect(page.get_by_role("img", name="Documents and copies by their time")).to_be_visible()
    await page.get_by_text("binary: 1 file").click()
    await expect(page.get_by_text("photo.png: gave no text, and was compared by its bytes")).to_be_visible()
    await page.get_by_role("combobox", name="Verdict").select_option("with passages")
    await page.locator("#rows tbody tr.row").click()
    sides = page.get_by_role("dialog", name="new/light-2.txt").locator(".sides section")
    await expect(sides.nth(0).locator("mark")).to_have_text("four ")
    await expect(sides.nth(1).locator("mark")).to_have_text("three ")


def test_a_copy_of_what_was_checked_before_is_in_the_page_without_its_text(notes: Path) -> None:
    done("check", notes, "--index", "kept.sqlite", "--include", "light.txt")
    done("check", notes / "new" / "light-2.txt", "--index", "kept.sqlite", "--html", "report.html")
    data = Path("report.html").read_text().partition('id="data">')[2].partition("</script>")[0]
    page = json.loads(data)
    assert page["columns"]["original"] == ["light.txt"]
    assert page["pairs"] == []
