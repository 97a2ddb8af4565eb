"""The client of the service for coroutines: every method of `Client`, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from gate.client.client import Client
from gate.client.retries import ResendPolicy

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 32  # requests of one client that are under way; more wait


def _in_thread(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The same method for coroutines, written once for both."""

    @wraps(method)
    async def call(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client._run(partial(method, client._client, *args, **kwargs))

    return call


class AsyncClient:
    """`Client` for coroutines: the same methods, arguments, answers and errors, awaited.

    Requests run in threads: the event loop waits for none. A call that is cancelled leaves its request to end by
    itself, as a service carries out what it has begun anyway.
    """

    def __init__(
        self,
        url: str = "http://localhost:8400",
        *,
        token: str | None = None,
        timeout: float = 60.0,
        ca_file: str | None = None,
        retries: ResendPolicy | None = None,
        max_threads: int = MAX_THREADS,
    ) -> None:
        """The arguments of `Client`. max_threads: how many requests are under way at once."""
        self._client = Client(url, token=token, timeout=timeout, ca_file=ca_file, retries=retries)
        self._threads = ThreadPoolExecutor(max_threads, thread_name_prefix="gate-client")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the requests in progress, and close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    check_in = _in_thread(Client.check_in)
    preview = _in_thread(Client.preview)
    check_in_many = _in_thread(Client.check_in_many)
    preview_many = _in_thread(Client.preview_many)
    check_in_file = _in_thread(Client.check_in_file)
    preview_file = _in_thread(Client.preview_file)
    find_similar = _in_thread(Client.find_similar)
    compare = _in_thread(Client.compare)
    text_of = _in_thread(Client.text_of)
    document = _in_thread(Client.document)
    verdicts = _in_thread(Client.verdicts)
    list_documents = _in_thread(Client.list_documents)
    group = _in_thread(Client.group)
    delete = _in_thread(Client.delete)
    session = _in_thread(Client.session)
    overview = _in_thread(Client.overview)
    stats = _in_thread(Client.stats)
    profiles = _in_thread(Client.profiles)
    plan = _in_thread(Client.plan)
