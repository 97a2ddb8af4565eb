"""The client for coroutines: the same methods, many at once."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from gate import CheckIn, UnknownDocument
from gate.client import AsyncClient, Client
from gate.demo import LIGHTHOUSE
from tests.http.service_harness import running_service


async def test_many_requests_are_under_way_at_once_and_one_document_passes() -> None:
    async with running_service() as service, AsyncClient(service.url) as client:
        documents = [CheckIn(document_id=f"{n}", text=LIGHTHOUSE) for n in range(40)]
        verdicts = await asyncio.gather(*map(client.check_in, documents))
        assert [verdict.document_id for verdict in verdicts] == [document.document_id for document in documents]
        assert sum(not verdict.similar for verdict in verdicts) == 1
        with pytest.raises(UnknownDocument):
            await client.document("unknown")
        assert await client.delete("0")


def test_every_method_of_the_client_is_there_for_coroutines() -> None:
    names = {name for name, value in vars(Client).items() if inspect.isfunction(value) and not name.startswith("_")}
    for name in names:
        method = getattr(AsyncClient, name)
        assert inspect.iscoroutinefunction(method), name
        assert inspect.signature(method).parameters == inspect.signature(getattr(Client, name)).parameters
