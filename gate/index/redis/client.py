"""The client of an index in Redis: pipelines of script calls, retries, a circuit breaker, and errors as the gate's.

Every script is idempotent, so a call whose reply was lost is simply sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from hiredis import pack_command
from redis import exceptions as redis_errors
from redis.asyncio import Connection, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.sentinel import MasterNotFoundError, SentinelConnectionPool

from gate.backoff import Backoff
from gate.errors import ConfigError, GateError, Stale, Unavailable
from gate.index.redis.url import RetryPolicy

LibraryClient = Redis | RedisCluster
Argument = bytes | str | int

# Of an ACL user. INFO is dangerous to Redis, and so is FLUSHALL, which the index does not need.
RIGHTS = (
    "~gate:* +@read +@write +@scripting -@dangerous +info +time +wait +client|setname, "
    "and +cluster|slots +command on a Cluster"
)
# What redis-py raises: that a Cluster cannot be reached is none of its own errors.
_RAISED = (redis_errors.RedisError, redis_errors.RedisClusterException, OSError, TimeoutError)


class Script(NamedTuple):
    name: str
    source: str
    digest: str


Share = tuple[bytes, bytes]  # the prefix of a shard, and the items for it
Commands = Sequence[Sequence[Argument]]
T = TypeVar("T")


def load_script(name: str) -> Script:
    """The script of an operation, by the name of its file, in the frame that all of them run in."""
    frame, operation = (
        files(__package__).joinpath("lua", f"{part}.lua").read_text() for part in ("run_on_shards", name)
    )
    source = frame.replace("--@ operation\n", operation)
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


class CircuitState(IntEnum):
    """Whether calls are let through; the value is that of a gauge."""

    CLOSED = 0
    OPEN = 1


class ClientObserver(Protocol):
    """What is measured of a client."""

    def round_trip(self, operation: str, seconds: float) -> None: ...

    def failed(self, operation: str, reason: str) -> None: ...

    def circuit(self, state: CircuitState) -> None: ...


class NullObserver:
    """Measures nothing."""

    def round_trip(self, operation: str, seconds: float) -> None: ...

    def failed(self, operation: str, reason: str) -> None: ...

    def circuit(self, state: CircuitState) -> None: ...


class RedisClient:
    """Script calls over one client, at most `calls` at a time: a call takes one connection, on a Cluster one a node."""

    def __init__(
        self,
        client: LibraryClient,
        *,
        calls: int = 8,
        retry: RetryPolicy | None = None,
        observer: ClientObserver | None = None,
    ) -> None:
        self.client = client
        self._calls = asyncio.Semaphore(calls)  # a call without a connection waits, whatever the library does
        self._policy = retry or RetryPolicy()
        self.observer: ClientObserver = observer or NullObserver()
        self._queue: list[tuple[Commands, asyncio.Future[list[Any]]]] = []  # what is about to be sent
        self._in_flight: set[asyncio.Task[None]] = set()
        self._idle: list[Any] = []  # connections: to get one from the pool takes as long as to use it
        self._failures = 0
        self._open_until = 0.0

    async def call(
        self,
        script: Script,
        head: Sequence[Argument],
        shares: Sequence[Share],
        *,
        again: Sequence[Argument] = (),
    ) -> list[Any]:
        """What the script returned for each share; `again` is the head from the second try on, where it differs.
        The outcome is unknown when it raises."""
        if not shares:
            return []

        async def send(attempt: int) -> list[Any]:
            return await self._send(script, again if attempt and again else head, shares)

        return await self._retry(script.name, send)

    async def read(
        self, scripts: tuple[Script, Script], head: Sequence[Argument], shares: Sequence[Share], commands: Commands
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """What a script returned for each share, the replies to commands after it, and what another script returned
        after these: both scripts refuse a caller whose view is not the index's, so that it cannot have changed."""

        async def send(_: int) -> tuple[list[Any], list[Any], list[Any]]:
            return await self._send_read(scripts, head, shares, commands)

        return await self._retry(scripts[0].name, send)

    async def _retry(self, name: str, send: Callable[[int], Awaitable[T]]) -> T:
        """Send, and again where that may help."""
        if self._open_until and time.monotonic() < self._open_until:
            raise Unavailable("the index failed several times in a row; it is tried again in a moment")
        backoff: Backoff | None = None
        for attempt in range(self._policy.retries + 1):
            begun = time.monotonic()
            try:
                async with self._calls:
                    replies = await send(attempt)
            except Unavailable as exc:
                self.observer.failed(name, exc.code)
                if not isinstance(exc, Stale):
                    await self._refresh_slots()
                if attempt == self._policy.retries or isinstance(exc, Stale):
                    self._count(failed=not isinstance(exc, Stale))
                    raise
                backoff = backoff or Backoff(
                    first_seconds=self._policy.backoff_seconds, longest_seconds=self._policy.longest_backoff_seconds
                )
                await asyncio.sleep(backoff.next_seconds())
            else:
                self.observer.round_trip(name, time.monotonic() - begun)
                self._count(failed=False)
                return replies
        raise AssertionError("unreachable")

    async def _refresh_slots(self) -> None:
        """Ask a Cluster again which node has which slots: redis-py does not, after a pipeline broke."""
        if isinstance(self.client, RedisCluster):
            try:
                await self.client.nodes_manager.initialize()
            except _RAISED:
                return  # no node answers; the next try says so

    async def reconnect(self) -> None:
        """Use no connection again that is idle now: they may lead to a master that has been replaced."""
        await self._drop(self._idle)
        await self._refresh_slots()

    async def close(self) -> None:
        for connection in self._idle:
            await self.client.connection_pool.release(connection)  # type: ignore[union-attr]
        self._idle = []
        await close(self.client)

    def _count(self, *, failed: bool) -> None:
        before = self._open_until
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= self._policy.failures_to_open:
            self._open_until = time.monotonic() + self._policy.open_seconds
        else:
            self._open_until = 0.0
        if bool(before) != bool(self._open_until):
            self.observer.circuit(CircuitState.OPEN if self._open_until else CircuitState.CLOSED)

    async def _send(self, script: Script, head: Sequence[Argument], shares: Sequence[Share]) -> list[Any]:
        calls = self._commands(head, shares)
        replies = await self._pipeline([("EVALSHA", script.digest, *call) for call in calls])
        unknown = [i for i, reply in enumerate(replies) if isinstance(reply, redis_errors.NoScriptError)]
        if unknown:  # a new server, or a flushed one: the source brings the script back
            again = await self._pipeline([("EVAL", script.source, *calls[i]) for i in unknown])
            for i, reply in zip(unknown, again, strict=True):
                replies[i] = reply
        return [answer for reply in _raise_errors(replies) for answer in reply]

    async def _send_read(
        self, scripts: tuple[Script, Script], head: Sequence[Argument], shares: Sequence[Share], commands: Commands
    ) -> tuple[list[Any], list[Any], list[Any]]:
        calls = self._commands(head, shares)

        async def send(command: str, first: str, second: str) -> list[Any]:
            before, after = ([(command, script, *call) for call in calls] for script in (first, second))
            return await self._pipeline([*before, *commands, *after])

        replies = await send("EVALSHA", scripts[0].digest, scripts[1].digest)
        if any(isinstance(reply, redis_errors.NoScriptError) for reply in replies):
            replies = await send("EVAL", scripts[0].source, scripts[1].source)
        replies, count = _raise_errors(replies), len(calls)
        before, after = ([answer for reply in some for answer in reply] for some in (replies[:count], replies[-count:]))
        return before, replies[count:-count], after

    def _commands(self, head: Sequence[Argument], shares: Sequence[Share]) -> list[tuple[Argument, ...]]:
        """One call for all shares on one server; on a Cluster, where a call may touch one slot only, one for each."""
        groups = [[share] for share in shares] if isinstance(self.client, RedisCluster) else [shares]
        return [(len(group), *(key for key, _ in group), *head, *(items for _, items in group)) for group in groups]

    async def _pipeline(self, commands: Commands) -> list[Any]:
        """The replies to commands, errors among them. What is called concurrently is sent together."""
        replies: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._queue.append((commands, replies))
        if len(self._queue) == 1:
            asyncio.get_running_loop().call_soon(self._flush)
        return await replies

    def _flush(self) -> None:
        task = asyncio.get_running_loop().create_task(self._deliver(self._queue))
        self._queue = []
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _deliver(self, queue: list[tuple[Commands, asyncio.Future[list[Any]]]]) -> None:
        try:
            with translate_errors():
                results = iter(await self._execute([command for commands, _ in queue for command in commands]))
        except Exception as exc:  # noqa: BLE001 - raised where the reply is awaited
            for _, replies in queue:
                if not replies.done():
                    replies.set_exception(exc)
        else:
            for commands, replies in queue:
                own = list(islice(results, len(commands)))
                if not replies.done():
                    replies.set_result(own)

    async def _execute(self, commands: Commands) -> list[Any]:
        if isinstance(self.client, RedisCluster):
            pipe = make_pipeline(self.client)
            for arguments in commands:
                pipe.execute_command(*arguments)
            # Redirections are not followed: an ASK leads to half a slot (see run_on_shards.lua), and where the Cluster
            # is down redis-py closes the connections of other calls. A call that was redirected asks for the slots
            # again and is retried.
            return list(await pipe.execute(raise_on_error=False, allow_redirections=False))
        pool: Any = self.client.connection_pool
        connection = self._idle.pop() if self._idle else await pool.get_connection()
        replies: list[Any] = []
        try:
            await connection.send_packed_command(connection.pack_commands(commands))
            for _ in commands:
                try:
                    replies.append(await connection.read_response())
                except redis_errors.ResponseError as exc:
                    replies.append(exc)
        except BaseException:  # the next call on this connection would read our replies
            await self._drop([connection, *self._idle])
            raise
        self._idle.append(connection)
        return replies

    async def _drop(self, connections: Sequence[Any]) -> None:
        """Close connections: where one broke, the others that are idle most likely did too."""
        self._idle = []
        for connection in connections:
            await connection.disconnect(nowait=True)
            await self.client.connection_pool.release(connection)  # type: ignore[union-attr]


class _Packing:
    """Packs commands in C: that of a batch of whole buckets has thousands of arguments."""

    def pack_command(self, *arguments: Any) -> list[bytes]:
        return [pack_command((*str(arguments[0]).split(), *arguments[1:]))]


class PackingConnection(_Packing, Connection): ...


class PackingSSLConnection(_Packing, SSLConnection): ...


class PackingSocketConnection(_Packing, UnixDomainSocketConnection): ...


def _raise_errors(replies: list[Any]) -> list[Any]:
    """The replies; an error among them is raised."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise translate_error(reply) from reply
    return replies


def make_pipeline(client: LibraryClient) -> Any:
    """Commands that go out together, each by itself: nothing here needs a transaction."""
    return client.pipeline() if isinstance(client, RedisCluster) else client.pipeline(transaction=False)


async def close(client: LibraryClient) -> None:
    """Close a client, and its connections to Sentinels."""
    await client.aclose()
    pool = None if isinstance(client, RedisCluster) else client.connection_pool
    if isinstance(pool, SentinelConnectionPool):
        for sentinel in pool.sentinel_manager.sentinels:
            await sentinel.aclose()


@contextmanager
def translate_errors(url: str = "") -> Iterator[None]:
    """Raise the gate's errors instead of the library's, with the URL before them where one is given."""
    try:
        yield
    except _RAISED as exc:
        error = translate_error(exc)
        raise type(error)(f"{url}: {error}") if url and isinstance(error, GateError) else error from exc


def translate_error(exc: BaseException) -> Exception:
    """A library's error as the gate's. Nothing of its text is kept: it may quote a command and its ids."""
    reason = str(exc)
    if isinstance(exc, redis_errors.RedisClusterException):
        if isinstance(exc.__cause__, _RAISED):  # what the last node said
            return translate_error(exc.__cause__)
        if "Cluster mode is not enabled" in reason:
            return ConfigError("this server is not part of a Redis Cluster: use redis:// for a single one")
        return Unavailable("the Redis Cluster is incomplete: some of its slots are on no master that answers")
    if _is_caused_by(exc, ssl.SSLCertVerificationError):
        return ConfigError("the server's certificate cannot be trusted: set redis_ca_file to that of its authority")
    if isinstance(exc, redis_errors.AuthenticationError | redis_errors.AuthorizationError):
        return ConfigError("Redis refuses the user or the password: set the ones that its ACL knows")
    if isinstance(exc, MasterNotFoundError):
        if "AuthenticationError" in reason:  # redis-py has no class for it
            return ConfigError("the Sentinels refuse the user or the password: set redis_sentinel_password")
        return Unavailable(
            "no Sentinel answers that knows a living master of that name: check both, or wait for the failover to end"
        )
    if isinstance(exc, redis_errors.ResponseError):
        return _response_error(exc, reason)
    return Unavailable(f"Redis does not answer ({type(exc).__name__}): check that it runs and can be reached")


def _response_error(exc: redis_errors.ResponseError, reason: str) -> Exception:
    """The gate's error for an error reply of a server."""
    if reason.startswith("STALE"):
        return Stale("the generations of the index changed; the batch is claimed again")
    if reason.startswith("ENTRY"):
        return ValueError("an entry is in use; an entry's number is never used twice")
    if isinstance(exc, redis_errors.NoPermissionError) or "ACL failure" in reason or "can't run this command" in reason:
        return ConfigError(f"Redis does not let this user do what an index needs: allow it {RIGHTS}")
    if isinstance(exc, redis_errors.OutOfMemoryError) or reason.startswith("OOM"):
        return Unavailable("Redis is out of memory: raise its maxmemory, or drop a generation")
    if isinstance(exc, redis_errors.ReadOnlyError):
        return Unavailable("this is a read-only replica: name the master, use Sentinels, or wait for a failover to end")
    moving = redis_errors.ClusterDownError | redis_errors.TryAgainError | redis_errors.AskError
    if isinstance(exc, moving) or "non local key" in reason:  # that is what a script gets in a slot that moves
        return Unavailable("the Redis Cluster is moving a slot of this index, or is down; try again")
    transient = ("LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY", "MISCONF", "UNKILLABLE")
    if reason.startswith(transient):
        return Unavailable(f"Redis cannot work now ({reason.partition(' ')[0]}): see its log")
    return exc  # a bug: let it be seen


def _is_caused_by(exc: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether an error is of a kind, or was caused by one that is."""
    return exc is not None and (isinstance(exc, kind) or _is_caused_by(exc.__cause__ or exc.__context__, kind))
