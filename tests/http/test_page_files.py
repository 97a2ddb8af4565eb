"""The files of the page: which there are, how they are served, and that no path leads out of their folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from gate.http.page_files import FOLDER, MEDIA_TYPES, read_page
from gate.http.tokens import new_token, token_table
from tests.http.service_harness import problem, running_service

ROOT = Path(__file__).parent.parent.parent


PAGE = ROOT / "gate" / "http" / "page"
NAMES = sorted(path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.is_file())


def test_every_file_of_the_folder_is_served_and_has_a_media_type() -> None:
    assert {Path(name).suffix for name in NAMES} <= MEDIA_TYPES.keys()
    assert read_page().keys() == {"/" if name == "index.html" else FOLDER + name for name in NAMES}
    assert "/page/views/find.js" in read_page()


async def test_the_page_needs_no_token_and_the_browser_asks_again_only_whether_it_changed(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(token_table("a", new_token(), ("read",)))
    async with running_service(api_tokens_file=str(tokens)) as service:
        for path, page in read_page().items():
            first = await service.client.get(path)
            assert (first.status_code, first.content) == (200, page.body), path
            assert first.headers["content-type"] == page.media_type
            assert first.headers["cache-control"] == "no-cache"
            assert "script-src 'self'" in first.headers["content-security-policy"]
            again = await service.client.get(path, headers={"if-none-match": first.headers["etag"]})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
            other = await service.client.get(path, headers={"if-none-match": '"other"'})
            assert other.status_code == 200
        assert (await service.client.head("/")).content == b""
        assert problem(await service.client.post("/"))[:2] == (405, "wrong_method")


@pytest.mark.parametrize("path", ["/page/", "/page/..%2Fapp.py", "/page/%2e%2e/app.py", "/page/index.html", "/app.py"])
async def test_no_other_file_is_served(path: str) -> None:
    async with running_service() as service:
        assert problem(await service.client.get(path))[:2] == (404, "unknown_path")


@pytest.mark.slow
def test_the_wheel_has_the_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    packed = {name.removeprefix("gate/http/page/") for name in ZipFile(wheel).namelist()}
    assert packed >= set(NAMES)
