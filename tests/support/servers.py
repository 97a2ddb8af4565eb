"""Real servers for tests: each on free loopback ports, with a folder of its own, stopped by its own handle.

Nothing here is shared with whatever else runs on the machine, and nothing is ever flushed: tests that share a server
use names of their own.
"""

from __future__ import annotations

import random
import select
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

START_SECONDS = 20.0
PORTS = (12_000, 22_000)
BUS = 10_000
MASTER_NAME = "gate"  # that the Sentinels know a master by


_chance = random.SystemRandom()  # processes that test side by side choose apart


def require_program(program: str, package: str) -> str:
    """The path of a program. A test that needs it fails without it: a skipped test proves nothing."""
    found = shutil.which(program)
    if found is None:
        raise RuntimeError(f"{program} is missing: `make test` installs it, or run: apt-get install {package}")
    return found


def free_ports(count: int = 1) -> list[int]:
    """Ports that nobody listens on now, nor on those 10,000 above, which the nodes of a Cluster use too.

    Both are below those that the system gives to whoever connects: one of these would be taken in the moment between
    here and the server's start. All are held until the last is found, so that they differ.
    """
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            port = _chance.randrange(*PORTS)
            try:
                for one in (port, port + BUS):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", one))
            except OSError:
                continue
            ports.append(port)
        return ports


class ServerProcess:
    """A process by its handle: it can stand still, be killed and be stopped, and nobody else is touched."""

    process: subprocess.Popen[bytes] | None
    patience_seconds = 10.0

    def pause(self) -> None:
        """Let it stand still, as a machine does that swaps, or a network that is cut."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """As a crash would end it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """As an operator would end it: told to, and waited for."""
        if self.process is not None:
            self.resume()
            self.process.terminate()
            try:
                self.process.wait(self.patience_seconds)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None


@dataclass
class RedisServer(ServerProcess):
    """One redis-server. `stop` and `kill` end the process; `start` begins it again on the same port and folder."""

    folder: Path
    port: int
    options: Sequence[str] = ()
    password: str | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Redis:
        return Redis(host="127.0.0.1", port=self.port, password=self.password, socket_timeout=5)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()

    def command(self) -> list[str]:
        program = require_program("redis-server", "redis-server")
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        return [*command, "--save", "", "--daemonize", "no", "--logfile", str(self.folder / "log"), *self.options]

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        with self.client() as client:
            while True:
                try:
                    client.ping()
                except RedisError:
                    if self.process is not None and self.process.poll() is not None:
                        log = (self.folder / "log").read_text() if (self.folder / "log").exists() else ""
                        raise RuntimeError(
                            f"redis-server ended with {self.process.returncode}\n{log[-2000:]}"
                        ) from None
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)
                else:
                    return


@contextmanager
def redis_server(*options: str, password: str | None = None) -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="gate-redis-") as folder:
        [port] = free_ports()
        protected = ("--requirepass", password) if password else ()
        server = RedisServer(Path(folder), port, (*options, *protected), password)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def wait_until(true: Callable[[], bool], problem: str) -> None:
    """Wait for something that a server does in its own time."""
    deadline = time.monotonic() + START_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError(problem)
        time.sleep(0.02)


def is_in_sync(replica: RedisServer) -> bool:
    """Whether a replica has all of its master's data and is told of more."""
    with replica.client() as client:
        told = client.info("replication")
    return bool(told["role"] == "slave" and told["master_link_status"] == "up")


@dataclass
class Sentinel(RedisServer):
    """A Sentinel. It keeps what it learns in a file of its own, which the options are written to."""

    master: int = 0

    def command(self) -> list[str]:
        known = self.folder / "sentinel.conf"
        if not known.exists():
            known.write_text(
                f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\nlogfile {self.folder / 'log'}\n"
                f"sentinel monitor {MASTER_NAME} 127.0.0.1 {self.master} 2\n"
                f"sentinel down-after-milliseconds {MASTER_NAME} 500\n"
                f"sentinel failover-timeout {MASTER_NAME} 3000\n" + "".join(f"{line}\n" for line in self.options)
            )
        return [require_program("redis-server", "redis-server"), str(known), "--sentinel"]


@dataclass
class SentinelGroup:
    """A master, its replica, and the Sentinels that put the one in the place of the other."""

    master: RedisServer
    replica: RedisServer
    sentinels: list[Sentinel]

    @property
    def url(self) -> str:
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels) + f"/{MASTER_NAME}/0"

    def ready(self) -> bool:
        """Whether everybody knows everybody, so that a failover can begin."""
        states = []
        for sentinel in self.sentinels:
            with sentinel.client() as client:
                states.append(client.sentinel_masters()[MASTER_NAME])
        others = len(self.sentinels) - 1
        known = all(state["num-slaves"] == 1 and state["num-other-sentinels"] == others for state in states)
        with self.master.client() as client:
            is_enough = client.info("replication").get("min_slaves_good_slaves", 1) > 0  # for min-replicas-to-write
        return known and is_enough and is_in_sync(self.replica)


@contextmanager
def redis_with_sentinels(*options: str) -> Iterator[SentinelGroup]:
    with tempfile.TemporaryDirectory(prefix="gate-sentinel-") as folder, ExitStack() as running:
        ports = free_ports(5)
        master, replica = (RedisServer(Path(folder) / str(port), port, options) for port in ports[:2])
        replica.options = (*options, "--replicaof", "127.0.0.1", str(master.port))
        sentinels = [Sentinel(Path(folder) / str(port), port, master=master.port) for port in ports[2:]]
        for server in (master, replica, *sentinels):
            running.callback(server.stop)
            server.start()
        watched = SentinelGroup(master, replica, sentinels)
        wait_until(watched.ready, "the Sentinels did not find each other")
        yield watched


@dataclass
class RedisCluster:
    """Masters with all slots among them, and a replica each where asked for."""

    servers: list[RedisServer]
    masters: int

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers[: self.masters])

    def form(self) -> None:
        program = require_program("redis-cli", "redis-tools")
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        replicas = len(self.servers) // self.masters - 1
        command = [program, "--cluster", "create", *addresses, "--cluster-replicas", str(replicas), "--cluster-yes"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
        wait_until(lambda: all(map(self._is_whole, self.servers)), "the cluster did not form")
        wait_until(lambda: all(map(is_in_sync, self.servers[self.masters :])), "a replica did not follow")

    def _is_whole(self, server: RedisServer) -> bool:
        with server.client() as client:
            return bool(client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")

    def replica_of(self, master: RedisServer) -> RedisServer:
        for server in self.servers:
            with server.client() as client:
                if client.info("replication").get("master_port") == master.port:
                    return server
        raise RuntimeError("that master has no replica")

    def reshard(self, giver: RedisServer, taker: RedisServer, slots: int) -> None:
        """Move the lowest slots of one master to another."""
        with giver.client() as one, taker.client() as other:
            names = [client.execute_command("CLUSTER MYID").decode() for client in (one, other)]
        command = [require_program("redis-cli", "redis-tools"), "--cluster", "reshard", f"127.0.0.1:{giver.port}"]
        command += ["--cluster-from", names[0], "--cluster-to", names[1], "--cluster-slots", str(slots)]
        subprocess.run([*command, "--cluster-yes"], check=True, stdout=subprocess.DEVNULL, timeout=60)


@contextmanager
def redis_cluster(masters: int = 3, *, replicas: int = 0) -> Iterator[RedisCluster]:
    with tempfile.TemporaryDirectory(prefix="gate-cluster-") as folder:
        # A node talks to the others on its port + 10,000.
        ports = free_ports(masters * (1 + replicas))
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
        servers = [RedisServer(Path(folder) / str(port), port, options) for port in ports]
        try:
            for server in servers:
                server.start()
            cluster = RedisCluster(servers, masters)
            cluster.form()
            yield cluster
        finally:
            for server in servers:
                server.stop()


@contextmanager
def cutting_proxy(server: RedisServer, budgets: Iterator[int | None]) -> Iterator[str]:
    """A way to a server on which each connection is cut after so many bytes, both ways counted; None: never."""

    class Way(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            left = next(budgets)
            with socket.create_connection(("127.0.0.1", server.port)) as inner:
                sides = {self.request: inner, inner: self.request}
                while True:
                    for side in select.select(list(sides), [], [])[0]:
                        data = side.recv(65536 if left is None else min(left, 65536))
                        sides[side].sendall(data)
                        left = None if left is None else left - len(data)
                        if not data or left == 0:
                            return

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Whoever was cut may be told so by an error."""

    with Listener(("127.0.0.1", 0), Way) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"redis://127.0.0.1:{listener.server_address[1]}/0"
        finally:
            listener.shutdown()
            thread.join()


@dataclass(frozen=True)
class Certificates:
    """A certificate for 127.0.0.1, and that of the authority that signed it."""

    authority: Path
    certificate: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """What a redis-server is told to use them."""
        files = ("--tls-cert-file", str(self.certificate), "--tls-key-file", str(self.key))
        return (*files, "--tls-ca-cert-file", str(self.authority), "--tls-auth-clients", "no")


def certificates(folder: Path) -> Certificates:
    made = Certificates(folder / "ca.crt", folder / "redis.crt", folder / "redis.key")
    program = require_program("openssl", "openssl")
    new = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    authority = ["-keyout", str(folder / "ca.key"), "-out", str(made.authority), "-subj", "/CN=authority"]
    signed = ["-CA", str(made.authority), "-CAkey", str(folder / "ca.key"), "-addext", "subjectAltName=IP:127.0.0.1"]
    server = ["-keyout", str(made.key), "-out", str(made.certificate), "-subj", "/CN=redis", *signed]
    for command in ([*new, *authority], [*new, *server]):
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    return made
