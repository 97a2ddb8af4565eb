"""`gate index`, and deletes of many documents, on a file and on a Redis with a password."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from gate.index.redis.connect import make_client
from gate.index.redis.generations import read_views
from gate.index.redis.layout import prefixes_of
from gate.index.redis.url import RedisSettings
from tests.cli.command import EVENTS, done, event, gate, lines, without_time
from tests.cli.conftest import PASSWORD
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("empty_folder")

NUMBERS = count()


def file_of(options: tuple[str, ...]) -> Path:
    return Path(options[1])


# Info


def test_info_counts_documents_and_bytes(index: tuple[str, ...]) -> None:
    report = json.loads(done("index", "info", *index, "--json").stdout)
    assert report["documents"] == 6
    assert report["profile"].startswith("cli-")
    assert PASSWORD not in str(report)
    shown = done("index", "info", *index).stdout
    assert any(row.split()[:2] == ["documents", "6"] for row in shown.splitlines())
    assert "bytes" in shown
    assert "per document" in shown


@pytest.mark.redis
def test_a_command_that_needs_an_index_in_redis_makes_none(guarded_redis: RedisServer) -> None:
    for command in (("index", "info"), ("index", "verify"), ("delete", "a"), ("explain", "a"), ("index", "export")):
        result = gate(*command, "--index", guarded_redis.url, "--profile", "simhash", GATE_REDIS_PASSWORD=PASSWORD)
        assert result.exit_code == 2
        assert "there is no index of profile simhash@1" in result.stderr
    with guarded_redis.client() as client:
        assert not client.keys("gate:simhash@1:*")


def test_info_names_the_identity_that_an_index_keeps(index: tuple[str, ...]) -> None:
    identities = {json.loads(done("index", "info", *index, "--json").stdout)["identity"] for _ in range(2)}
    assert len(identities) == 1
    assert len(identities.pop()) == 16


@pytest.mark.parametrize("shards", [[0], [4, 11], list(range(1, 16))], ids=str)
@pytest.mark.parametrize("deployment", ["shared_redis", "shared_redis_cluster"])
@pytest.mark.redis
def test_verify_names_the_shards_that_an_index_lost(
    request: pytest.FixtureRequest, deployment: str, shards: list[int]
) -> None:
    url = request.getfixturevalue(deployment).url
    name = f"lost-{next(NUMBERS)}"
    Path(f"{name}.toml").write_text('base = "standard"')
    options = ("--index", url, "--profile", f"{name}.toml")
    done("run", "--quiet", *options, stdin=EVENTS)

    async def lose() -> list[bytes]:
        client = make_client(url, RedisSettings())
        try:
            prefixes = prefixes_of(f"gate:{name}@1")
            for shard in shards:
                await client.delete(prefixes[shard] + b"v")
            return await read_views(client, prefixes)
        finally:
            await client.aclose()

    left = asyncio.run(lose())
    for fix in ((), ("--fix",)):
        result = gate("index", "verify", *options, *fix)
        assert result.exit_code == 1
        assert "missing_shard" in result.stdout
        assert "gate index rebuild --from-topic" in result.stdout
        fault = json.loads(gate("index", "verify", *options, *fix, "--json").stdout)["faults"]["missing_shard"]
        assert fault["found"] == len(shards)
        assert [example.split()[1] for example in fault["examples"]] == [str(shard) for shard in shards]
    for command in (("index", "info"), ("explain", "a"), ("run", "--quiet")):
        result = gate(*command, *options, stdin=EVENTS)
        assert result.exit_code == 3
        assert f"{len(shards)} of 16 shards" in result.stderr
    assert asyncio.run(lose()) == left


@pytest.mark.redis
def test_a_refused_password_is_reported_and_not_shown(guarded_redis: RedisServer) -> None:
    url = guarded_redis.url.replace("redis://", "redis://gate:battery-staple@")
    for command in (("index", "info"), ("run",), ("config",)):
        result = gate(*command, "--index", url, stdin="")
        assert "battery-staple" not in result.output
        assert result.exit_code == (0 if command == ("config",) else 2)
    assert gate("index", "info", "--index", "redis://127.0.0.1:1/0").exit_code == 3


@pytest.mark.redis
def test_the_password_in_a_url_opens_the_index(guarded_redis: RedisServer) -> None:
    Path("own.toml").write_text('base = "standard"')
    url = guarded_redis.url.replace("redis://", f"redis://:{PASSWORD}@")
    options = ("--index", url, "--profile", "own.toml")
    done("run", "--quiet", *options, stdin=event("a", LIGHTHOUSE))
    assert "It is new" in done("explain", "a", *options).stdout
    result = gate("explain", "z", *options)
    assert result.exit_code == 2
    assert "z: not known to redis://127.0.0.1" in result.stderr
    assert PASSWORD not in result.output


@pytest.mark.redis
def test_a_rotation_deletes_the_documents_before_the_last_one(
    guarded_redis: RedisServer, in_a_file: tuple[str, ...]
) -> None:
    Path("turning.toml").write_text('base = "standard"')
    options = ("--index", guarded_redis.url, "--profile", "turning.toml")
    environ = {"GATE_REDIS_PASSWORD": PASSWORD}
    done("run", "--quiet", *options, stdin=event("a", LIGHTHOUSE), **environ)
    for documents in (1, 0):
        done("index", "rotate", *options, **environ)
        assert json.loads(done("index", "info", *options, "--json", **environ).stdout)["documents"] == documents
    result = gate("index", "rotate", *in_a_file)
    assert result.exit_code == 2
    assert "only an index in Redis has generations" in result.stderr


# Verify


def test_an_index_without_faults_is_reported_as_such(index: tuple[str, ...]) -> None:
    result = done("index", "verify", *index)
    assert "everything is where it belongs" in result.stdout
    report = json.loads(done("index", "verify", *index, "--json").stdout)
    assert (report["documents"], report["faults"], report["left"]) == (6, {}, 0)
    assert report["entries"] > 4
    assert report["postings"] > 40


def test_faults_are_reported_with_exit_code_1_and_repaired_with_fix(in_a_file: tuple[str, ...]) -> None:
    with sqlite3.connect(file_of(in_a_file)) as connection:
        connection.execute("DELETE FROM postings WHERE number % 7 = 0")
    connection.close()
    result = gate("index", "verify", *in_a_file, "--pause", "0")
    assert result.exit_code == 1
    assert "unlisted" in result.stdout
    assert "faults left: " in result.stdout
    assert "repair them with --fix" in result.stdout
    report = gate("index", "verify", *in_a_file, "--pause", "0", "--json")
    assert report.exit_code == 1
    found = json.loads(report.stdout)["faults"]["unlisted"]
    assert found["found"] == len(found["examples"]) > 0
    assert "all faults were repaired" in done("index", "verify", *in_a_file, "--pause", "0", "--fix").stdout
    assert "everything is where it belongs" in done("index", "verify", *in_a_file).stdout


def test_copies_of_a_deleted_original_are_reported_and_no_fault(index: tuple[str, ...]) -> None:
    done("delete", "a", *index)
    result = done("index", "verify", *index, "--pause", "0")
    assert "copies whose original is gone, to be judged again at their next check-in: 1" in result.stdout
    assert json.loads(done("index", "verify", *index, "--json").stdout)["notes"]["freed"] == 1


# Export and import


def test_an_imported_index_answers_as_the_exported_one(
    index: tuple[str, ...], new: Callable[..., tuple[str, ...]], tmp_path: Path
) -> None:
    before = done("run", "--quiet", *index, stdin=EVENTS).stdout
    done("index", "export", *index, "-o", "x.jsonl")
    assert not Path("x.jsonl.part").exists()
    assert stat.S_IMODE(Path("x.jsonl").stat().st_mode) == 0o600
    assert done("index", "export", *index).stdout == Path("x.jsonl").read_text()
    target = new()
    report = json.loads(done("index", "import", "x.jsonl", *target, "--json").stdout)
    assert report["documents"] == 6
    assert [without_time(v) for v in lines(done("run", "--quiet", *target, stdin=EVENTS).stdout)] == [
        without_time(v) for v in lines(before)
    ]
    done("index", "verify", *target, "--pause", "0")


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


def test_an_import_needs_an_empty_index_or_resume(index: tuple[str, ...]) -> None:
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
