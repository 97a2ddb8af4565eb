"""`gate index` and deletes in bulk, on a file and on a Redis with a password."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from tests.support.servers import RedisServer, redis_server

pytestmark = pytest.mark.usefixtures("empty_folder")

HUSH = "correct-horse"
NUMBERS = count()
EDITED = LIGHTHOUSE.replace("three summers", "four summers")


def gate(*arguments: str | Path, stdin: str | None = None, **environ: str) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin, env=environ)


def done(*arguments: str | Path, stdin: str | None = None, **environ: str) -> Result:
    result = gate(*arguments, stdin=stdin, **environ)
    assert result.exit_code == 0, result.output
    return result


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def event(document_id: str, text: str, **more: Any) -> str:
    return json.dumps({"document_id": document_id, "text": text, **more}) + "\n"


EVENTS = (
    event("a", LIGHTHOUSE)
    + event("b", BREAD, version="1")
    + event("gone", "A short-lived text about the moon, the tide, seven boats and the price of a good rope in May.")
    + event("c", EDITED)
    + event("b", BRIDGE, version="2")
    + event("d", "Too short")
    + event("e", "")
    + '{"document_id": "gone", "type": "delete"}\n'
    + event("f", LIGHTHOUSE.upper())
)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server(password=HUSH) as started:
        yield started


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def new(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[str, ...]]:
    """Options for an index of its own: with a profile of its own, where indexes share a server."""

    def options(base: str = "standard") -> tuple[str, ...]:
        name = f"cli-{next(NUMBERS)}"
        Path(f"{name}.toml").write_text(f'base = "{base}"\n')
        if request.param == "sqlite":
            return ("--index", str(tmp_path / f"{name}.sqlite"), "--profile", f"{name}.toml")
        started: RedisServer = request.getfixturevalue("server")
        monkeypatch.setenv("GATE_REDIS_PASSWORD", HUSH)
        return ("--index", started.url, "--profile", f"{name}.toml")

    return options


def file_of(options: tuple[str, ...]) -> Path:
    return Path(options[1])


@pytest.fixture
def index(new: Callable[..., tuple[str, ...]]) -> tuple[str, ...]:
    made = new()
    done("run", "--quiet", *made, stdin=EVENTS)
    return made


@pytest.fixture
def in_a_file(tmp_path: Path) -> tuple[str, ...]:
    made = ("--index", str(tmp_path / "x.sqlite"))
    done("run", "--quiet", *made, stdin=EVENTS)
    return made


# Info


def test_info_counts_and_weighs_what_is_there(index: tuple[str, ...]) -> None:
    told = json.loads(done("index", "info", *index, "--json").stdout)
    assert told["documents"] == 6
    assert told["profile"].startswith("cli-")
    assert HUSH not in str(told)
    shown = done("index", "info", *index).stdout
    assert any(row.split()[:2] == ["documents", "6"] for row in shown.splitlines())
    assert "bytes" in shown
    assert "per document" in shown


@pytest.mark.redis
def test_a_command_that_needs_an_index_in_redis_makes_none(server: RedisServer) -> None:
    for command in (("index", "info"), ("index", "verify"), ("delete", "a"), ("explain", "a"), ("index", "export")):
        result = gate(*command, "--index", server.url, "--profile", "simhash", GATE_REDIS_PASSWORD=HUSH)
        assert result.exit_code == 2
        assert "there is no index of profile simhash@1" in result.stderr
    with server.client() as client:
        assert not client.keys("gate:simhash@1:*")


@pytest.mark.redis
def test_a_refused_password_is_told_and_not_shown(server: RedisServer) -> None:
    url = server.url.replace("redis://", "redis://gate:battery-staple@")
    for command in (("index", "info"), ("run",), ("config",)):
        result = gate(*command, "--index", url, stdin="")
        assert "battery-staple" not in result.output
        assert result.exit_code == (0 if command == ("config",) else 2)
    assert gate("index", "info", "--index", "redis://127.0.0.1:1/0").exit_code == 3


@pytest.mark.redis
def test_the_password_in_a_url_opens_the_index(server: RedisServer) -> None:
    Path("own.toml").write_text('base = "standard"')
    url = server.url.replace("redis://", f"redis://:{HUSH}@")
    options = ("--index", url, "--profile", "own.toml")
    done("run", "--quiet", *options, stdin=event("a", LIGHTHOUSE))
    assert "It is new" in done("explain", "a", *options).stdout
    result = gate("explain", "z", *options)
    assert result.exit_code == 2
    assert "z: not known to redis://127.0.0.1" in result.stderr
    assert HUSH not in result.output


@pytest.mark.redis
def test_a_rotation_forgets_what_came_before_the_last_one(server: RedisServer, in_a_file: tuple[str, ...]) -> None:
    Path("turning.toml").write_text('base = "standard"')
    options = ("--index", server.url, "--profile", "turning.toml")
    environ = {"GATE_REDIS_PASSWORD": HUSH}
    done("run", "--quiet", *options, stdin=event("a", LIGHTHOUSE), **environ)
    for documents in (1, 0):
        done("index", "rotate", *options, **environ)
        assert json.loads(done("index", "info", *options, "--json", **environ).stdout)["documents"] == documents
    result = gate("index", "rotate", *in_a_file)
    assert result.exit_code == 2
    assert "only an index in Redis has generations" in result.stderr


# Verify


def test_a_whole_index_is_said_to_be_whole(index: tuple[str, ...]) -> None:
    result = done("index", "verify", *index)
    assert "everything is where it belongs" in result.stdout
    told = json.loads(done("index", "verify", *index, "--json").stdout)
    assert (told["documents"], told["faults"], told["left"]) == (6, {}, 0)
    assert told["entries"] > 4
    assert told["postings"] > 40


def test_what_is_wrong_is_told_with_exit_code_1_and_mended_with_fix(in_a_file: tuple[str, ...]) -> None:
    with sqlite3.connect(file_of(in_a_file)) as connection:
        connection.execute("DELETE FROM postings WHERE number % 7 = 0")
    result = gate("index", "verify", *in_a_file, "--pause", "0")
    assert result.exit_code == 1
    assert "unlisted" in result.stdout
    assert "faults left: " in result.stdout
    assert "repair them with --fix" in result.stdout
    told = gate("index", "verify", *in_a_file, "--pause", "0", "--json")
    assert told.exit_code == 1
    found = json.loads(told.stdout)["faults"]["unlisted"]
    assert found["found"] == len(found["examples"]) > 0
    assert "all faults were repaired" in done("index", "verify", *in_a_file, "--pause", "0", "--fix").stdout
    assert "everything is where it belongs" in done("index", "verify", *in_a_file).stdout


def test_copies_of_what_is_gone_are_told_and_no_problem(index: tuple[str, ...]) -> None:
    done("delete", "a", *index)
    result = done("index", "verify", *index, "--pause", "0")
    assert "copies whose original is gone, to be judged anew at their next check-in: 1" in result.stdout
    assert json.loads(done("index", "verify", *index, "--json").stdout)["notes"]["freed"] == 1


# Export and import


def test_an_index_is_carried_to_another_and_answers_the_same(
    index: tuple[str, ...], new: Callable[..., tuple[str, ...]], tmp_path: Path
) -> None:
    before = done("run", "--quiet", *index, stdin=EVENTS).stdout
    done("index", "export", *index, "-o", "x.jsonl")
    assert not Path("x.jsonl.part").exists()
    assert done("index", "export", *index).stdout == Path("x.jsonl").read_text()
    target = new()
    told = json.loads(done("index", "import", "x.jsonl", *target, "--json").stdout)
    assert told["documents"] == 6
    assert [_bare(v) for v in lines(done("run", "--quiet", *target, stdin=EVENTS).stdout)] == [
        _bare(v) for v in lines(before)
    ]
    done("index", "verify", *target, "--pause", "0")


def _bare(verdict: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the name of the profile, and on the time."""
    return {k: v for k, v in verdict.items() if k not in ("profile", "verdict_id", "judged_at")}


def test_a_file_of_another_profile_is_refused_and_nothing_is_made(in_a_file: tuple[str, ...], tmp_path: Path) -> None:
    done("index", "export", *in_a_file, "-o", "x.jsonl")
    for other in (("--profile", "simhash"), ("--set", "secret_file=hush")):
        Path("hush").write_text("hush")
        result = gate("index", "import", "x.jsonl", "--index", tmp_path / "y.sqlite", *other)
        assert result.exit_code == 2
        assert "under the same profile and secret" in result.stderr
        assert not (tmp_path / "y.sqlite").exists()


def test_a_file_that_is_cut_off_is_refused_and_nothing_is_made(in_a_file: tuple[str, ...], tmp_path: Path) -> None:
    done("index", "export", *in_a_file, "-o", "x.jsonl")
    whole = Path("x.jsonl").read_bytes()
    for content in (b"", whole[:-5], b"".join(whole.splitlines(keepends=True)[:-1]), b"no json\n"):
        Path("cut.jsonl").write_bytes(content)
        result = gate("index", "import", "cut.jsonl", "--index", tmp_path / "y.sqlite")
        assert result.exit_code == 2
        assert "cut.jsonl" in result.stderr
        assert not (tmp_path / "y.sqlite").exists()


def test_an_import_needs_an_empty_index_or_goes_on_with_what_was_cut_off(index: tuple[str, ...]) -> None:
    done("index", "export", *index, "-o", "x.jsonl")
    result = gate("index", "import", "x.jsonl", *index)
    assert result.exit_code == 2
    assert "holds documents already" in result.stderr
    done("index", "import", "x.jsonl", *index, "--resume")
    done("run", "--quiet", *index, stdin=event("new", BRIDGE + BREAD))
    assert gate("index", "import", "x.jsonl", *index, "--resume").exit_code == 0  # it holds more, but nothing else


def test_an_export_that_fails_leaves_the_last_one_alone(in_a_file: tuple[str, ...]) -> None:
    Path("x.jsonl").write_text("the last one")
    assert gate("index", "export", *in_a_file, "--profile", "simhash", "-o", "x.jsonl").exit_code == 2
    assert Path("x.jsonl").read_text() == "the last one"


# Rebuild


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
        assert {**_bare(old), "origin": None} == {**_bare(anew), "origin": None}


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


def test_verdicts_that_cannot_be_used_or_come_out_otherwise_are_told(tmp_path: Path) -> None:
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


def test_a_rebuild_needs_an_empty_index_and_may_go_on(index: tuple[str, ...]) -> None:
    Path("events.jsonl").write_text(EVENTS)
    result = gate("index", "rebuild", "events.jsonl", *index)
    assert result.exit_code == 2
    assert "--resume" in result.stderr
    done("index", "rebuild", "events.jsonl", *index, "--resume")


def test_check_ins_that_cannot_be_judged_are_dead_lettered_and_the_rest_goes_on(tmp_path: Path) -> None:
    Path("events.jsonl").write_text("no json\n" + EVENTS)
    target = ("--index", tmp_path / "y.sqlite")
    result = gate("index", "rebuild", "events.jsonl", *target, "--dead-letters", "dead.jsonl")
    assert result.exit_code == 1
    assert json.loads(Path("dead.jsonl").read_text())["original"] == "no json"
    assert json.loads(done("index", "info", *target, "--json").stdout)["documents"] == 6


@pytest.mark.parametrize("command", [("rebuild", "x"), ("import", "x")])
def test_a_new_index_has_to_be_named(command: tuple[str, ...]) -> None:
    Path("x").write_text("")
    result = gate("index", *command)
    assert result.exit_code == 2


# Deletes in bulk


def test_many_documents_are_deleted_from_a_file_or_from_standard_input(index: tuple[str, ...]) -> None:
    Path("gone.txt").write_text("a\r\n\nnobody\n")
    result = done("delete", "b", "--from-file", "gone.txt", *index, "--json")
    assert [(one["document_id"], one["deleted"]) for one in lines(result.stdout)] == [
        ("b", True),
        ("a", True),
        ("nobody", False),
    ]
    assert done("delete", "--from-file", "-", *index, stdin="c\nd").stdout == "c: deleted\nd: deleted\n"
    assert json.loads(done("index", "info", *index, "--json").stdout)["documents"] == 2


def test_deletes_go_in_batches(in_a_file: tuple[str, ...]) -> None:
    result = done(
        "delete", "--from-file", "-", *in_a_file, "--set", "limits.batch_documents=2", stdin="a\nb\nc\nd\ne\n"
    )
    assert result.stdout.count(": deleted") == 5


def test_a_delete_of_nothing_is_a_wrong_use(in_a_file: tuple[str, ...]) -> None:
    assert gate("delete", *in_a_file).exit_code == 2
    Path("bad.txt").write_bytes(b"a\n\xff\n")
    result = gate("delete", "--from-file", "bad.txt", *in_a_file)
    assert result.exit_code == 1
    assert "bad.txt:2: is not UTF-8" in result.stderr
