"""The entry of a token where the service asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from gate.http.tokens import new_token, token_table
from tests.http.page.views import settled
from tests.http.service_harness import running_service
from tests.support.browser import accessibility_violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def test_a_token_is_asked_for_kept_in_the_tab_and_forgotten(browser: Browser, tmp_path: Path) -> None:
    tokens, token = tmp_path / "tokens.toml", new_token()
    tokens.write_text(token_table("dashboard", token, ("read",)))
    async with running_service(api_tokens_file=str(tokens), headers={"authorization": f"Bearer {token}"}) as service:
        page = await browser.new_page()  # the browser writes each answer of 401 to the console
        await page.goto(f"{service.url}/#/profiles")
        field = page.get_by_label("Token")
        await expect(field).to_be_focused()
        assert await accessibility_violations(page) == []

        await field.fill("wrong")
        await field.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This token is not accepted")

        await page.get_by_label("Token").fill(token)
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Profiles")
        await expect(page.get_by_text("Token dashboard")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Profiles")
        assert token not in page.url
        assert await page.evaluate("localStorage.length") == 0

        tokens.write_text(token_table("other", new_token(), ("read",)))
        while (await service.client.get("/v1/session")).status_code != 401:  # the file is read again within a second
            pass
        await page.get_by_role("link", name="Overview").click()
        await expect(page.get_by_label("Token")).to_be_visible()
        await expect(page.get_by_role("alert")).to_contain_text("This token is not accepted")
        await page.close()


async def test_the_token_is_forgotten_when_asked_to(browser: Browser, tmp_path: Path) -> None:
    tokens, token = tmp_path / "tokens.toml", new_token()
    tokens.write_text(token_table("dashboard", token, ("read",)))
    async with running_service(api_tokens_file=str(tokens), headers={"authorization": f"Bearer {token}"}) as service:
        page = await browser.new_page()
        await page.add_init_script(f"sessionStorage.setItem('gate.token', '{token}')")
        await page.goto(service.url)
        await settled(page)
        await page.get_by_role("button", name="Forget the token").click()
        await expect(page.get_by_label("Token")).to_be_visible()
        assert await page.evaluate("sessionStorage.length") == 0
        await page.close()
