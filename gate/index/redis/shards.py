"""Calls to the shards of one index: items are dealt to their shards, and scripts run under the index's view."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gate.errors import Stale
from gate.index.redis.client import Argument, LibraryClient, RedisClient, Script
from gate.index.redis.generations import current_view
from gate.index.redis.layout import Numbers, Share, View, prefixes_of, shares_of, shares_of_rows


class Shards:
    """All shards of an index, as they are called under one view of it."""

    def __init__(self, client: RedisClient, *, prefix: str, view: View) -> None:
        self.client = client
        self.prefix = prefix
        self.prefixes = prefixes_of(prefix)
        self.use(view)

    def use(self, view: View) -> None:
        """Call under that view from now on."""
        self.view = view
        self.generations = view.read.encode()  # a byte each; the first is written to
        self._head: tuple[Argument, ...] = (view.encode(), view.read)  # what every script takes first

    @property
    def library_client(self) -> LibraryClient:
        """For what needs no script: administration, and pages of keys."""
        return self.client.client

    async def call_items(
        self, script: Script, shards: Numbers, fixed: Sequence[Sequence[bytes]], varying: Sequence[Sequence[bytes]]
    ) -> list[Any]:
        """Send each item to its shard; the replies in the order of the items. A column is one field of all items."""
        return await self._in_order(script, *shares_of(shards, fixed, varying))

    async def call_rows(self, script: Script, shards: Numbers, rows: NDArray[np.uint8]) -> list[Any]:
        """The same for items of a fixed width."""
        return await self._in_order(script, *shares_of_rows(shards, rows))

    async def _in_order(self, script: Script, shares: Sequence[Share], order: Sequence[int]) -> list[Any]:
        results: list[Any] = [None] * len(order)
        for i, reply in zip(order, chain.from_iterable(await self.call(script, shares)), strict=True):
            results[i] = reply
        return results

    async def call(
        self, script: Script, shares: Sequence[Share], *arguments: Argument, again: Sequence[Argument] = ()
    ) -> list[Any]:
        """Run a script on each shard with its share of the items; what each shard returned. `again` are the arguments
        from the second try on, where they differ."""
        keyed = [(self.prefixes[shard], items) for shard, items in shares]
        head = self._head
        async with self._refreshing():
            return await self.client.call(script, (*head, *arguments), keyed, again=(*head, *(again or arguments)))

    async def read(
        self, before: Script, after: Script, shares: Sequence[Share], commands: Sequence[Sequence[Argument]]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """What a script returned for each share, then the replies to commands, then what another script returned."""
        keyed = [(self.prefixes[shard], items) for shard, items in shares]
        async with self._refreshing():
            return await self.client.read((before, after), self._head, keyed, commands)

    @asynccontextmanager
    async def _refreshing(self) -> AsyncIterator[None]:
        """Read the view again where the shards refused ours. A claim restarts then: what it read was read under the
        old one."""
        try:
            yield
        except Stale:
            self.use(await self.current_view())
            raise

    async def current_view(self) -> View:
        """The latest view of the index that was opened. IndexLost: it is gone, or another one is in its place."""
        return await current_view(self.library_client, self.prefixes, identity=self.view.identity)
