"""After an index was lost: make one of what is left, and record that it replaces the one that a group has worked on."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import click

from gate.api import Gate
from gate.cli.session import index_name, open_gate
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import ConfigError, IndexLost
from gate.index.redis.url import is_redis_url
from gate.index.tools.audit import audit


def read_identities(settings: Settings) -> frozenset[str]:
    """Of the indexes under which the group of the settings has committed offsets; none without brokers."""
    if settings.kafka is None:
        return frozenset()
    from gate.stream.admin import open_admin  # here, as the library of Kafka is: few commands need it

    kafka = settings.kafka

    async def read() -> frozenset[str]:
        async with open_admin(kafka) as admin:
            return await admin.committed_identities(kafka.group, kafka.topics.check_ins)

    return asyncio.run(read())


def replace_identities(gate: Gate, worked_on: frozenset[str]) -> None:
    """Record that the index of a gate replaces those: a group that has worked on them may go on."""
    others = worked_on - {gate.identity}
    gate.with_store(lambda store: store.replace(others))


def recover_index(settings: Settings) -> None:
    """Make an index of what is left: shards that are gone are empty, and what referred to them is repaired. Does
    nothing to one that is whole, or not there."""
    if is_redis_url(settings.index):
        from gate.index.redis.connect import recover_index as recover

        profile = settings.profile
        recovery = recover(
            settings.index,
            profile_ref=profile.ref,
            digest=profile.digest(settings.secret.value),
            settings=settings.redis,
            decisions=profile.decisions(),
        )
        asyncio.run(recovery)
    with open_gate(settings, index=settings.index) as gate:
        gate.with_store(lambda store: audit(store, gate.method, gate.profile, fix=True))


def accept_index(settings: Settings) -> None:
    """Accept the index as it is in place of the one that the group has worked on."""
    if settings.index == MEMORY:
        raise ConfigError("--new-index: an index in memory is new at every start; name one with --index")
    worked_on = read_identities(settings)
    with ExitStack() as stack:
        try:
            gate = stack.enter_context(open_gate(settings, index=settings.index))
        except IndexLost:
            recover_index(settings)
            gate = stack.enter_context(open_gate(settings, index=settings.index))
        replace_identities(gate, worked_on)
        others = ", ".join(sorted(worked_on - {gate.identity}))
        if others:
            click.echo(f"{index_name(settings)} ({gate.identity}) replaces {others} from now on", err=True)
