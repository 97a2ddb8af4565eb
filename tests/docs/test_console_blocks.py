"""What the pages show is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.console_blocks import KAFKA, REDIS, commands, servers_needed, with_current_outputs
from tests.docs.pages import PAGES, blocks, name_of

MARKS = {KAFKA: pytest.mark.kafka, REDIS: pytest.mark.redis}


def pages_with_commands() -> list[object]:
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    return [
        pytest.param(
            page, id=name_of(page), marks=[MARKS[server] for server in sorted(servers_needed(text)) if server in MARKS]
        )
        for page, text in texts.items()
        if any(block.reason is None for block in blocks(text, "console"))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with_commands())
def test_the_commands_of_a_page_print_what_it_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_current_outputs(text) == text, f"{name_of(page)} shows other outputs: run `make outputs`"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_console_block_of_a_page_begins_with_a_command(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "console"):
        assert block.body.startswith("$ "), f"{name_of(page)}:{block.line}: use ```text for what is no command"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_no_indented_block_that_would_not_be_checked(page: Path) -> None:
    indented = re.findall(r"^(?: +|> ?)```(?:console|pycon|python|toml|json)", page.read_text(encoding="utf-8"), re.M)
    assert indented == [], name_of(page)


PAGE = """\
```console
$ echo one > file
$ cat file
> echo two
old
```

<!-- not run: it takes an hour -->
```console
$ echo three
shown
```
"""


def test_a_command_is_shown_with_its_output_of_now() -> None:
    assert with_current_outputs(PAGE) == PAGE.replace("old\n", "one\ntwo\n")


def test_a_block_with_a_reason_not_to_be_run_is_left_as_it_is() -> None:
    [_, block] = blocks(PAGE, "console")
    assert block.reason == "it takes an hour"
    assert list(commands(block)) == ["echo three"]


def test_a_command_in_the_background_runs_beside_the_next_ones_and_is_stopped_with_the_page() -> None:
    page = "```console\n$ mkfifo pipe\n$ echo hello > pipe &\n$ cat pipe\n$ sleep 1000 &\n```\n"
    assert with_current_outputs(page) == page.replace("$ sleep", "hello\n$ sleep")


@pytest.mark.redis
def test_the_address_of_a_server_is_that_of_a_server_started_for_the_page() -> None:
    page = "```console\n$ redis-cli -u redis://localhost:6379/0 ping\n```\n"
    assert with_current_outputs(page) == page.replace("\n```\n", "\nPONG\n```\n")


def test_servers_are_needed_by_the_commands_that_are_run_only() -> None:
    page = "```console\n$ gate lag --kafka localhost:9092\n```\n"
    assert servers_needed(page) == {KAFKA}
    assert servers_needed("<!-- not run: it is an illustration -->\n" + page) == set()
    assert servers_needed(page.replace("console", "text")) == set()
