"""`gate index rebuild` from files of check-ins and of verdicts; from topics in test_kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.demo import LIGHTHOUSE
from tests.cli.command import EVENTS, done, event, gate, lines, without_time

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_an_index_is_rebuilt_from_its_check_ins_with_the_same_winners(
    new: Callable[..., tuple[str, ...]],
) -> None:
    Path("events.jsonl").write_text(EVENTS)
    first, second = new(), new()
    before = lines(done("run", "--quiet", "events.jsonl", *first).stdout)
    result = done("index", "rebuild", "events.jsonl", *second)
    assert "1 deleted" in result.stderr
    living = [v for v in before if v["document_id"] != "gone"]
    replayed = "".join(line + "\n" for line in EVENTS.splitlines() if "gone" not in line)
    after = lines(done("run", "--quiet", *second, stdin=replayed).stdout)
    for old, anew in zip(living, after, strict=True):
        assert {**without_time(old), "origin": None} == {**without_time(anew), "origin": None}


def test_an_index_of_fingerprints_is_rebuilt_from_its_verdicts(new: Callable[..., tuple[str, ...]]) -> None:
    events = "".join(line + "\n" for line in EVENTS.splitlines() if "gone" not in line)
    first = new("simhash")
    done("run", "--quiet", *first, "-o", "verdicts.jsonl", stdin=events)
    second = ("--index", str(Path("rebuilt.sqlite").resolve()), *first[2:])
    result = done("index", "rebuild", "verdicts.jsonl", *second, "--json")
    assert json.loads(result.stderr)["summary"] == {
        relation: sum(v["relation"] == relation for v in lines(Path("verdicts.jsonl").read_text()))
        for relation in ("new", "near", "revision", "too_short", "empty", "exact")
        if any(v["relation"] == relation for v in lines(Path("verdicts.jsonl").read_text()))
    }
    again = lines(done("run", "--quiet", *second, stdin=events).stdout)
    for old, anew in zip(lines(Path("verdicts.jsonl").read_text()), again, strict=True):
        assert {**old, "judged_at": None} == {**anew, "judged_at": None}
    done("index", "verify", *second, "--pause", "0")
    bodies = [
        {(line["content"], line["body"]) for line in lines(done("index", "export", *each).stdout) if "body" in line}
        for each in (first, second)
    ]
    assert bodies[0] == bodies[1]


def test_a_sketch_cannot_be_rebuilt_from_a_verdict_and_nothing_is_made(tmp_path: Path) -> None:
    done("run", "--quiet", "-o", "verdicts.jsonl", stdin=EVENTS)
    result = gate("index", "rebuild", "verdicts.jsonl", "--index", tmp_path / "y.sqlite")
    assert result.exit_code == 2
    assert "rebuild the index from the check-ins" in result.stderr
    assert not (tmp_path / "y.sqlite").exists()


def test_verdicts_that_cannot_be_used_or_come_out_otherwise_are_counted(tmp_path: Path) -> None:
    simhash = ("--profile", "simhash")
    done("run", "--quiet", "-o", "v.jsonl", *simhash, stdin=event("a", LIGHTHOUSE) + event("b", LIGHTHOUSE.upper()))
    first, second = Path("v.jsonl").read_text().splitlines()
    done("run", "--quiet", "-o", "other.jsonl", stdin=event("a", LIGHTHOUSE))
    Path("mixed.jsonl").write_text("\n".join([first, Path("other.jsonl").read_text().strip(), "no json", second]))
    result = gate("index", "rebuild", "mixed.jsonl", "--index", tmp_path / "1.sqlite", *simhash)
    assert result.exit_code == 1
    assert "mixed.jsonl:2: was judged under profile standard@1, not simhash@1" in result.stderr
    assert "mixed.jsonl:3: is no verdict" in result.stderr
    assert "2 dead_lettered" in result.stderr
    Path("turned.jsonl").write_text(f"{second}\n{first}\n")
    result = gate("index", "rebuild", "turned.jsonl", "--index", tmp_path / "2.sqlite", *simhash)
    assert result.exit_code == 1
    assert "2 otherwise" in result.stderr


def test_a_rebuild_needs_an_empty_index_or_resume(index: tuple[str, ...]) -> None:
    Path("events.jsonl").write_text(EVENTS)
    result = gate("index", "rebuild", "events.jsonl", *index)
    assert result.exit_code == 2
    assert "--resume" in result.stderr
    done("index", "rebuild", "events.jsonl", *index, "--resume")


def test_check_ins_that_cannot_be_judged_are_dead_lettered_and_the_rest_is_judged(tmp_path: Path) -> None:
    Path("events.jsonl").write_text("no json\n" + EVENTS)
    target = ("--index", tmp_path / "y.sqlite")
    result = gate("index", "rebuild", "events.jsonl", *target, "--dead-letters", "dead.jsonl")
    assert result.exit_code == 1
    assert json.loads(Path("dead.jsonl").read_text())["original"] == "no json"
    assert json.loads(done("index", "info", *target, "--json").stdout)["documents"] == 6
