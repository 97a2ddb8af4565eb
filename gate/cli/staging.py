"""`gate index promote` and `gate index drop`: generations of an index in Redis that are filled aside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from gate.api import Gate
from gate.cli.common import Options, emit, set_resume_hint
from gate.cli.session import index_name, load, open_index
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.index.redis.url import is_redis_url
from gate.index.scan import ScannableStore
from gate.numbers import number

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

Done = TypeVar("Done")
NOT_REDIS = "index: only an index in Redis has generations; replay into an index of its own, --index NEW"


def require_redis(settings: Settings) -> None:
    if not is_redis_url(settings.index):
        raise ConfigError(NOT_REDIS)


def promote(name: str, *, drop_older: bool, options: Options) -> None:
    from gate.index.redis import staging

    settings = load(options)
    require_redis(settings)
    set_resume_hint("the promotion may have begun, and is completed by")

    with open_index(settings) as gate:

        async def run(store: RedisStore) -> str:
            return (await staging.promote(store, gate.method, name, drop_older=drop_older)).read

        generations = _on_redis(gate, run)
    if options.json:
        emit({"index": index_name(settings), "promoted": name, "generations": len(generations)})
        return
    click.echo(f"{index_name(settings)}: {name} is live, the older of {len(generations)} generations")
    if settings.redis.window_seconds is not None:
        click.echo("the next rotation drops it: redis_window_days is set", err=True)


def drop(name: str, *, options: Options) -> None:
    from gate.index.redis import staging

    settings = load(options)
    require_redis(settings)
    set_resume_hint("a part may be removed, and the rest is by")

    async def run(store: RedisStore) -> int:
        return await staging.drop(store.shards.library_client, store.shards.prefix, name)

    with open_index(settings) as gate:
        removed = _on_redis(gate, run)
    if options.json:
        emit({"index": index_name(settings), "dropped": name, "keys": removed})
    else:
        click.echo(f"{index_name(settings)}: {name} is removed, {number(removed)} keys")


def staged_rows(gate: Gate) -> list[dict[str, str | int]]:
    """The generations that are filled aside, for people and programs; none of an index that has no such thing."""
    from gate.index.redis.staging import staged_generations
    from gate.index.redis.store import RedisStore

    async def run(store: ScannableStore) -> list[dict[str, str | int]]:
        if not isinstance(store, RedisStore):
            return []
        found = await staged_generations(store.shards.library_client, store.shards.prefix)
        return [
            {
                "name": one.name,
                "state": "promoting" if one.promoting else one.state.value,
                "documents": one.documents,
            }
            for one in found
        ]

    return gate.with_store(run)


def mark_complete(settings: Settings, name: str) -> None:
    """What fills a generation has come to its end: it may be promoted."""
    from gate.index.redis import staging

    async def run(store: RedisStore) -> None:
        shards = store.shards
        await staging.set_state(shards.library_client, shards.prefix, name, staging.StagedState.COMPLETE)

    with open_index(settings) as gate:
        _on_redis(gate, run)


def _on_redis(gate: Gate, work: Callable[[RedisStore], Awaitable[Done]]) -> Done:
    """Run what needs the index to be in Redis."""
    from gate.index.redis.store import RedisStore

    async def run(store: ScannableStore) -> Done:
        if not isinstance(store, RedisStore):
            raise ConfigError(NOT_REDIS)
        return await work(store)

    return gate.with_store(run)
