"""An index that was lost is made anew of what is left, or accepted as it is."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from gate.api import Gate
from gate.cli.recovery import accept_index, read_identities, recover_index
from gate.config.settings import Settings, load_settings
from gate.errors import ConfigError, IndexLost
from gate.index.redis.layout import SHARDS, hash_tags
from gate.model import CheckIn
from tests.cli.command import EVENTS, done, gate
from tests.support.servers import RedisServer

NUMBERS = count()
TEXTS = [f"{n} " + " ".join(f"word{(n * 31 + i * i) % 997}" for i in range(60)) for n in range(40)]
DOCUMENTS = [CheckIn(document_id=f"d{n}", text=text) for n, text in enumerate(TEXTS)]
COPIES = [CheckIn(document_id=f"copy{n}", text=text) for n, text in enumerate(TEXTS)]

pytestmark = pytest.mark.usefixtures("empty_folder")


def settings_of(**flags: object) -> Settings:
    settings, _ = load_settings(flags, {})
    return settings


def test_without_brokers_no_group_has_worked_on_an_index() -> None:
    assert read_identities(settings_of(index="index.sqlite")) == frozenset()


def test_an_index_in_memory_cannot_be_accepted() -> None:
    with pytest.raises(ConfigError, match="--new-index: an index in memory is new at every start"):
        accept_index(settings_of(kafka_brokers="localhost:9092"))


def test_new_index_is_for_topics() -> None:
    failed = gate("run", "--new-index", "--index", "index.sqlite", stdin=EVENTS)
    assert failed.exit_code == 2
    assert "--new-index: are for topics" in failed.stderr


def test_recovering_an_index_that_is_whole_changes_nothing() -> None:
    settings = settings_of(index="index.sqlite")
    with Gate(settings.profile, index="index.sqlite") as before:
        first, identity = before.check_in(DOCUMENTS), before.identity
    recover_index(settings)
    with Gate(settings.profile, index="index.sqlite") as after:
        assert after.identity == identity
        assert after.check_in(DOCUMENTS) == first


@pytest.mark.redis
@pytest.mark.parametrize("shards", [[0], [3, 9], list(range(1, 16)), list(range(16))], ids=str)
def test_what_is_left_of_an_index_is_repaired_and_filled_by_one_command(
    shared_redis: RedisServer, shards: list[int]
) -> None:
    name = f"recovery-{next(NUMBERS)}"
    Path(f"{name}.toml").write_text('base = "standard"')
    lines = [{"document_id": one.document_id, "text": one.text} for one in DOCUMENTS]
    Path("check-ins.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("--index", shared_redis.url, "--profile", f"{name}.toml")
    done("run", "check-ins.jsonl", "--quiet", "-o", "verdicts.jsonl", *options)
    profile = settings_of(profile=f"{name}.toml").profile
    with shared_redis.client() as client:
        for shard in shards:
            client.delete(*client.keys(f"gate:{name}@1:{{{hash_tags(SHARDS)[shard]}}}:*"))
    if len(shards) < SHARDS:
        with pytest.raises(IndexLost):
            Gate(profile, index=shared_redis.url).close()
        refused = gate("index", "rebuild", "check-ins.jsonl", *options)
        assert "gate index rebuild --from-topic --recover" in refused.stderr
    for _ in range(2):
        done("index", "rebuild", "check-ins.jsonl", "--recover", *options)
    done("index", "verify", *options)
    with Gate(profile, index=shared_redis.url) as filled:
        assert all(verdict.similar for verdict in filled.preview(COPIES))
