"""`gate check` notices files that are gone from disk, and `--sync` takes their documents out of the index."""

from __future__ import annotations

import csv
import platform
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.async_api import Page, expect

from gate import CheckIn, Gate
from gate.cli.gone_files import FileUris
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from tests.cli.command import EDITED, done, event, gate, lines

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def index(request: pytest.FixtureRequest, empty_folder: Path) -> str:
    if request.param == "sqlite":
        return "kept.sqlite"
    Path("own.toml").write_text(f'base = "standard"\nname = "gone-{uuid4().hex[:8]}"\n')
    Path("gate.toml").write_text('profile = "own.toml"\n')
    url: str = request.getfixturevalue("shared_redis").url
    return url


def write(folder: str, **texts: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (Path(folder) / f"{name}.txt").write_text(text)


def relations(*arguments: str) -> dict[str, str]:
    return {one["document_id"]: one["relation"] for one in lines(done("check", *arguments, "--json").stdout)}


@pytest.fixture
def notes(index: str) -> str:
    """A folder whose original is gone since it was checked."""
    write("notes", light=LIGHTHOUSE, bread=BREAD)
    done("check", "notes", "--index", index)
    write("notes", lamp=EDITED)
    done("check", "notes", "--index", index)
    Path("notes/light.txt").unlink()
    return index


def test_a_match_that_is_gone_from_disk_says_so(notes: str) -> None:
    shown = done("check", "notes", "--index", notes).stdout.splitlines()
    [row] = [row for row in shown if row.startswith("lamp.txt")]
    assert row.split()[:4] == ["lamp.txt", "near", "light.txt", "(gone)"]
    assert shown[-1] == "Gone from disk: 1 document that others are like; --sync deletes what is gone."
    judged = {one["document_id"]: one for one in lines(done("check", "notes", "--index", notes, "--json").stdout)}
    assert judged["lamp.txt"]["matches"][0]["gone"] is True
    families = done("check", "notes", "--index", notes, "--by-group").stdout.splitlines()
    assert families[1].split()[:3] == ["light.txt", "(gone)", "original"]
    [family] = lines(done("check", "notes", "--index", notes, "--by-group", "--json").stdout)
    assert family["original_gone"] is True


def test_sync_deletes_what_is_gone_and_judges_its_copies_again(notes: str) -> None:
    shown = done("check", "notes", "--index", notes, "--sync").stdout.splitlines()
    assert shown[0].split("  ")[0] == "deleted from the index"
    assert shown[1].split() == ["light.txt", "notes/light.txt"]
    assert shown[-1] == "2 documents: 2 new."
    assert relations("notes", "--index", notes, "--sync") == {"bread.txt": "new", "lamp.txt": "new"}
    assert gate("explain", "light.txt", "--index", notes).exit_code == 2


def test_a_dry_run_of_sync_shows_what_would_be_deleted_and_deletes_nothing(notes: str) -> None:
    dry = ("check", "notes", "--index", notes, "--sync", "--dry-run")
    assert done(*dry).stdout.splitlines()[0].split("  ")[0] == "would be deleted"
    [gone] = lines(done(*dry, "--json").stderr)
    assert gone == {"document_id": "light.txt", "gone": str(Path("notes/light.txt").absolute()), "deleted": False}
    assert done("explain", "light.txt", "--index", notes).exit_code == 0


def test_documents_of_other_folders_and_of_no_folder_stay(index: str) -> None:
    write("notes", a=LIGHTHOUSE)
    write("other", b=BREAD)
    write("other/deep", c=BRIDGE)
    for folder in ("notes", "other"):
        done("check", folder, "--index", index)
    Path("events.jsonl").write_text(
        event(
            "sent", "seven boats and the price of a good rope, said the captain of the ferry to us", uri="notes/x.txt"
        )
    )
    done("run", "events.jsonl", "--index", index)
    for file in ("notes/a.txt", "other/b.txt", "other/deep/c.txt"):
        Path(file).unlink()
    write("notes", d="Nine herons stand by the weir and wait for the evening, when the water is let down.")
    write("other/deep", e="The mill had been sold twice before anybody asked what the wheel was made of.")
    done("check", "other/deep", "--index", index, "--sync")
    assert gate("explain", "deep/c.txt", "--index", index).exit_code == 2
    for kept in ("a.txt", "b.txt", "sent"):
        assert done("explain", kept, "--index", index).exit_code == 0


def test_the_same_id_in_two_folders_is_of_neither(index: str) -> None:
    write("left", same=LIGHTHOUSE, other=BREAD)
    write("right", same=BRIDGE)
    done("check", "left", "--index", index)
    done("check", "right", "--index", index)
    Path("left/same.txt").unlink()
    done("check", "left", "--index", index, "--sync")
    assert done("explain", "same.txt", "--index", index).exit_code == 0


def test_files_that_are_there_but_not_read_are_not_gone(index: str) -> None:
    write("notes", a=LIGHTHOUSE, b=BREAD)
    done("check", "notes", "--index", index)
    assert done("check", "notes", "--index", index, "--sync", "--exclude", "a.txt", "--json").stderr == ""
    assert done("explain", "a.txt", "--index", index).exit_code == 0


def test_the_documents_in_an_archive_are_gone_with_it(index: str) -> None:
    Path("notes").mkdir()
    Path("notes/all.jsonl").write_text(event("a", LIGHTHOUSE) + event("b", BREAD))
    write("notes", c=BRIDGE)
    done("check", "notes", "--index", index)
    Path("notes/all.jsonl").unlink()
    gone = lines(done("check", "notes", "--index", index, "--sync", "--json").stderr)
    assert [one["document_id"] for one in gone] == ["a", "b"]


def test_an_empty_folder_deletes_nothing(index: str) -> None:
    write("notes", a=LIGHTHOUSE)
    done("check", "notes", "--index", index)
    Path("notes/a.txt").unlink()
    result = gate("check", "notes", "--index", index, "--sync")
    assert result.exit_code == 2
    assert "notes: is empty, and 1 document of the index came from it; mount what is missing" in result.stderr
    assert done("explain", "a.txt", "--index", index).exit_code == 0


def test_a_folder_is_the_same_by_another_name(index: str) -> None:
    write("notes", **{"a ä #%": LIGHTHOUSE, "b": BREAD})
    Path("link").symlink_to("notes")
    done("check", "link", "--index", index)
    Path("notes/a ä #%.txt").unlink()
    [gone] = lines(done("check", "notes", "--index", index, "--sync", "--json").stderr)
    assert gone["document_id"] == "a ä #%.txt"


def test_of_many_files_that_are_gone_some_are_named() -> None:
    write("notes", kept=LIGHTHOUSE, **{f"n{n:02}": f"note {n}" for n in range(25)})
    done("check", "notes", "--index", "kept.sqlite")
    for path in Path("notes").glob("n*.txt"):
        path.unlink()
    shown = done("check", "notes", "--index", "kept.sqlite", "--sync", "--dry-run").stdout.splitlines()
    assert shown[21] == "and 5 more; --all lists each."
    every = done("check", "notes", "--index", "kept.sqlite", "--sync", "--all").stdout.splitlines()
    assert every[25].startswith("n24.txt")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("notes",), "--sync: needs an index that is kept"),
        (("notes/a.txt", "--index", "x.sqlite"), "--sync: deletes what is gone from a folder; name a folder"),
        (("notes", "--index", "x.sqlite", "--set", "keep_details=false"), "set keep_details = true"),
    ],
)
def test_sync_that_cannot_work_is_refused_before_any_work(arguments: tuple[str, ...], problem: str) -> None:
    write("notes", a=LIGHTHOUSE)
    result = gate("check", *arguments, "--sync")
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not Path("x.sqlite").exists()


def test_a_uri_of_another_machine_or_kind_is_no_file_of_this_one() -> None:
    path = Path("notes/ä b.txt").absolute()
    local, shared = FileUris("kept.sqlite"), FileUris("redis://localhost:6379/0")
    assert local.of(path) == path.as_uri()
    assert shared.of(path) == f"file://{platform.node()}{path.as_uri().removeprefix('file://')}"
    for uris in (local, shared):
        assert uris.path(uris.of(path)) == str(path)
    for foreign in ("file:notes/a.txt", "https://example.com/a.txt", "file://elsewhere/a.txt", "", None):
        assert local.path(foreign) is None
        assert shared.path(foreign) is None
    assert shared.path(local.of(path)) is None


def test_a_file_whose_path_is_too_long_to_keep_is_judged_as_any_other() -> None:
    write("notes", a=LIGHTHOUSE)
    done("check", "notes", "--index", "kept.sqlite", "--set", "limits.max_uri_chars=5")
    with Gate(index="kept.sqlite") as opened:
        [[verdict]] = opened.explain(["a.txt"])
        assert verdict.degraded == ()
        assert opened.check_in([CheckIn(document_id="b", text=LIGHTHOUSE)])[0].matches[0].document_id == "a.txt"


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="module")
async def test_reports_say_which_originals_are_gone(page: Page) -> None:
    write("notes", light=LIGHTHOUSE, lamp=EDITED)
    for name in ("light.txt", "lamp.txt"):
        done("check", "notes", "--index", "kept.sqlite", "--include", name)
    Path("notes/light.txt").unlink()
    done("check", "notes", "--index", "kept.sqlite", "--html", "report.html", "--csv", "all.csv")
    [row] = csv.DictReader(Path("all.csv").read_text().splitlines())
    assert (row["like"], row["like_is_gone"], row["original_is_gone"]) == ("light.txt", "yes", "yes")
    await page.goto(Path("report.html").absolute().as_uri())
    await expect(page.locator("#rows tbody tr.row")).to_contain_text("light.txt (gone from disk)")
    await page.locator("#rows tbody tr.row").click()
    await expect(page.get_by_role("dialog")).to_contain_text("First of its family")
    await expect(page.get_by_role("dialog").get_by_text("light.txt (gone from disk)")).to_have_count(2)
