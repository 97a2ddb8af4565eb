"""An archive into a generation of its own: replayed, resumed, shown, promoted or dropped, by commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gate.cli.replay_targets import GateTarget
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from tests.cli.command import done, event, gate
from tests.support.servers import RedisServer, redis_server

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("empty_folder")]

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as started:
        yield started


@pytest.fixture
def live(server: RedisServer, empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Options of an index of its own, and an archive of two files beside."""
    monkeypatch.setenv("XDG_STATE_HOME", str(empty_folder / "state"))
    name = f"staged-{next(NUMBERS)}"
    Path(f"{name}.toml").write_text('base = "standard"\n')
    Path("archive").mkdir()
    Path("archive", "bread.txt").write_text(BREAD)
    Path("archive", "bridge.txt").write_text(BRIDGE)
    options = ("--index", server.url, "--profile", f"{name}.toml")
    judged(options, "lighthouse", LIGHTHOUSE)
    return options


def judged(options: tuple[str, ...], document_id: str, text: str) -> dict[str, Any]:
    Path("events.jsonl").write_text(event(document_id, text))
    verdict: dict[str, Any] = json.loads(done("run", "events.jsonl", *options).stdout)
    return verdict


def staged(options: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done("index", "info", *options, "--json").stdout)["staged"]
    return found


def test_an_archive_is_replayed_aside_and_promoted(live: tuple[str, ...]) -> None:
    done("replay", "archive", *live, "--into-generation", "2019", "--quiet")
    assert staged(live) == [{"name": "2019", "state": "complete", "documents": 2}]
    assert "generation 2019, filled aside: complete, 2 documents" in done("index", "info", *live).stdout
    assert judged(live, "before", BREAD.replace("flour", "wheat"))["relation"] == "new"
    shown = done("index", "promote", "2019", *live).stdout
    assert "2019 is live, the older of 2 generations" in shown
    assert staged(live) == []
    verdict = judged(live, "after", BRIDGE + " The end.")
    assert verdict["matches"][0]["document_id"] == "bridge.txt"
    assert done("index", "verify", *live).exit_code == 0


def test_an_interrupted_replay_is_resumed_and_only_then_promoted(
    live: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = ("replay", "archive", *live, "--into-generation", "old", "--json")

    def interrupted(target: GateTarget, seconds: float, on_answers: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(GateTarget, "wait_answers", interrupted)
        assert gate(*replay).exit_code != 0
    assert staged(live) == [{"name": "old", "state": "filling", "documents": 2}]
    refused = gate("index", "promote", "old", *live)
    assert refused.exit_code == 2
    assert "old is not complete: end its replay" in refused.stderr
    resumed = json.loads(done(*replay, "--resume").stdout)
    assert (resumed["read"], resumed["done_before"]) == (0, 2)
    done("index", "promote", "old", *live)


def test_a_dropped_generation_is_filled_again_from_the_beginning(live: tuple[str, ...]) -> None:
    replay = ("replay", "archive", *live, "--into-generation", "old", "--json")
    done(*replay)
    assert "old is removed" in done("index", "drop", "old", *live).stdout
    assert staged(live) == []
    assert json.loads(done(*replay, "--resume").stdout)["read"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "promote", "none"], "none was never filled, or was promoted already; there is none"),
        (["index", "drop", "none"], "none was never filled"),
        (["replay", "archive", "--into-generation", "A b"], "is no name"),
        (["replay", "archive", "--into-generation", "old", "--dry-run"], "without --dry-run"),
    ],
)
def test_a_wrong_name_is_refused_with_the_remedy(live: tuple[str, ...], arguments: list[str], message: str) -> None:
    result = gate(*arguments, *live)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("command", [["index", "promote", "a"], ["replay", "archive", "--into-generation", "a"]])
def test_only_an_index_in_redis_has_generations(live: tuple[str, ...], command: list[str]) -> None:
    result = gate(*command, "--index", "notes.sqlite")
    assert result.exit_code == 2
    assert "only an index in Redis has generations" in result.stderr
