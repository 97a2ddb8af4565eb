"""Real Redis servers for tests and benchmarks, with Sentinels, in a Cluster, behind TLS or a proxy.

Each server is a process of its own on free loopback ports, with a temporary folder, started by a context manager
(`with redis_server() as server`) and stopped through its own handle. Nothing else on the machine is touched, and no
server is ever flushed: tests that share one use key names, topics and groups of their own.

A test that starts a server carries its marker (`redis`, `kafka`, `prometheus`, `browser`), so that `make quick` can
leave it out. The fixtures of `tests/conftest.py` set the marker by themselves; a test that uses a context manager of
this module has `@pytest.mark.redis` or `pytestmark`. `require_program` refuses to start a server without it, and a
missing program is an error: a test that skips itself proves nothing.
"""

from __future__ import annotations

import os
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
CLUSTER_BUS_OFFSET = 10_000  # a node of a Cluster also listens on its port plus this
PORT_RANGE = (12_000, 22_000)  # with the offset still below the ports that the kernel gives to clients (32768 up)
MASTER_NAME = "gate"  # the name of the master in Sentinel

# tests/conftest.py puts the markers of the running test here. An environment variable, so that processes which the
# test starts inherit it; unset outside pytest, where everything may be started.
MARKERS_VARIABLE = "TEST_MARKERS"
PROGRAM_MARKERS = {
    "java": {"kafka"},
    "redis-server": {"redis"},
    "redis-cli": {"redis"},
    "openssl": {"kafka", "redis"},  # certificates for either
    "prometheus": {"prometheus"},
    "promtool": {"prometheus"},
    "chromium": {"browser"},
}

_random = random.SystemRandom()  # test processes that run side by side draw different ports


def require_program(program: str, package: str) -> str:
    """Return the path of a program that is not a pip package; fail if it is missing or the test lacks its marker."""
    allowed = PROGRAM_MARKERS[program]
    markers = os.environ.get(MARKERS_VARIABLE)
    if markers is not None and not allowed & set(markers.split()):
        raise RuntimeError(f"a test that runs {program} needs the marker {' or '.join(sorted(allowed))}")
    path = shutil.which(program)
    if path is None:
        raise RuntimeError(f"{program} is missing: `make test` installs it, or run: apt-get install {package}")
    return path


def free_ports(count: int = 1) -> list[int]:
    """Return different ports that are free now, each with its Cluster bus port.

    They lie below the ephemeral range: a port from that range could be given to a client between this call and the
    start of the server. All sockets stay bound until the last port is found, so that the ports differ.
    """
    with ExitStack() as bound:
        ports: list[int] = []
        while len(ports) < count:
            port = _random.randrange(*PORT_RANGE)
            try:
                for number in (port, port + CLUSTER_BUS_OFFSET):
                    bound.enter_context(socket.socket()).bind(("127.0.0.1", number))
            except OSError:
                continue
            ports.append(port)
        return ports


class ServerProcess:
    """The handle of a server process: pause, resume, kill and stop it, and no other process."""

    process: subprocess.Popen[bytes] | None
    stop_seconds = 10.0  # granted to a clean shutdown

    def pause(self) -> None:
        """Freeze the process, which looks like a swapping machine or a cut network."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a crash does: no clean shutdown."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """End it as an operator does: SIGTERM, then wait."""
        if self.process is not None:
            self.resume()
            self.process.terminate()
            try:
                self.process.wait(self.stop_seconds)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None


@dataclass
class RedisServer(ServerProcess):
    """One redis-server. After `stop` or `kill`, `start` starts it again with the same port and folder."""

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


def wait_until(condition: Callable[[], bool], problem: str) -> None:
    """Poll until a condition holds that a server reaches by itself; fail with the problem after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(problem)
        time.sleep(0.02)


def is_in_sync(replica: RedisServer) -> bool:
    """Whether a replica has copied its master's data and receives updates."""
    with replica.client() as client:
        info = client.info("replication")
    return bool(info["role"] == "slave" and info["master_link_status"] == "up")


@dataclass
class Sentinel(RedisServer):
    """A Sentinel. It rewrites its configuration file with the state it learns, so the file is written only once."""

    master: int = 0

    def command(self) -> list[str]:
        configuration = self.folder / "sentinel.conf"
        if not configuration.exists():
            configuration.write_text(
                f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\nlogfile {self.folder / 'log'}\n"
                f"sentinel monitor {MASTER_NAME} 127.0.0.1 {self.master} 2\n"
                f"sentinel down-after-milliseconds {MASTER_NAME} 500\n"
                f"sentinel failover-timeout {MASTER_NAME} 3000\n" + "".join(f"{line}\n" for line in self.options)
            )
        return [require_program("redis-server", "redis-server"), str(configuration), "--sentinel"]


@dataclass
class SentinelGroup:
    """A master, its replica, and the Sentinels that promote the replica when the master fails."""

    master: RedisServer
    replica: RedisServer
    sentinels: list[Sentinel]

    @property
    def url(self) -> str:
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{node.port}" for node in self.sentinels) + f"/{MASTER_NAME}/0"

    def ready(self) -> bool:
        """Whether the Sentinels know each other and the replica, so that a failover is possible."""
        states = []
        for sentinel in self.sentinels:
            with sentinel.client() as client:
                states.append(client.sentinel_masters()[MASTER_NAME])
        others = len(self.sentinels) - 1
        discovered = all(state["num-slaves"] == 1 and state["num-other-sentinels"] == others for state in states)
        with self.master.client() as client:
            writable = client.info("replication").get("min_slaves_good_slaves", 1) > 0  # for min-replicas-to-write
        return discovered and writable and is_in_sync(self.replica)


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
        group = SentinelGroup(master, replica, sentinels)
        wait_until(group.ready, "the Sentinels did not find each other")
        yield group


@dataclass
class RedisCluster:
    """A Redis Cluster: masters that share all slots, and their replicas after them."""

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
        self.wait_complete()
        wait_until(lambda: all(map(is_in_sync, self.servers[self.masters :])), "a replica did not synchronise")

    def wait_complete(self) -> None:
        """Wait until every node knows a master that answers for each slot."""
        wait_until(lambda: all(map(self._is_complete, self.servers)), "the cluster did not form")

    def _is_complete(self, server: RedisServer) -> bool:
        with server.client() as client:
            return bool(client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")

    def replica_of(self, master: RedisServer) -> RedisServer:
        for server in self.servers:
            with server.client() as client:
                if client.info("replication").get("master_port") == master.port:
                    return server
        raise RuntimeError("that master has no replica")

    def reshard(self, source: RedisServer, target: RedisServer, slots: int) -> None:
        """Move the lowest slots of one master to another."""
        with source.client() as left, target.client() as right:
            ids = [client.execute_command("CLUSTER MYID").decode() for client in (left, right)]
        command = [require_program("redis-cli", "redis-tools"), "--cluster", "reshard", f"127.0.0.1:{source.port}"]
        command += ["--cluster-from", ids[0], "--cluster-to", ids[1], "--cluster-slots", str(slots)]
        subprocess.run([*command, "--cluster-yes"], check=True, stdout=subprocess.DEVNULL, timeout=60)


@contextmanager
def redis_cluster(masters: int = 3, *, replicas: int = 0) -> Iterator[RedisCluster]:
    with tempfile.TemporaryDirectory(prefix="gate-cluster-") as folder:
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
    """A proxy that closes each connection after a budget of bytes, both directions counted; None: never."""

    class Forwarder(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            budget = next(budgets)
            with socket.create_connection(("127.0.0.1", server.port)) as inner:
                sides = {self.request: inner, inner: self.request}
                while True:
                    for side in select.select(list(sides), [], [])[0]:
                        data = side.recv(65536 if budget is None else min(budget, 65536))
                        sides[side].sendall(data)
                        budget = None if budget is None else budget - len(data)
                        if not data or budget == 0:
                            return

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore the errors of connections that were cut on purpose."""

    with Listener(("127.0.0.1", 0), Forwarder) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"redis://127.0.0.1:{listener.server_address[1]}/0"
        finally:
            listener.shutdown()
            thread.join()


@dataclass(frozen=True)
class Certificates:
    """A server certificate for 127.0.0.1 with its key, and the certificate of the authority that signed it."""

    authority: Path
    certificate: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a redis-server that uses them."""
        files = ("--tls-cert-file", str(self.certificate), "--tls-key-file", str(self.key))
        return (*files, "--tls-ca-cert-file", str(self.authority), "--tls-auth-clients", "no")


def certificates(folder: Path) -> Certificates:
    files = Certificates(folder / "ca.crt", folder / "redis.crt", folder / "redis.key")
    program = require_program("openssl", "openssl")
    new = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    # Python 3.13 verifies strictly: a certificate of an authority has to say that it may sign others.
    authority = ["-keyout", str(folder / "ca.key"), "-out", str(files.authority), "-subj", "/CN=authority"]
    authority += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    signed = ["-CA", str(files.authority), "-CAkey", str(folder / "ca.key"), "-addext", "subjectAltName=IP:127.0.0.1"]
    signed += ["-addext", "basicConstraints=critical,CA:FALSE"]
    server = ["-keyout", str(files.key), "-out", str(files.certificate), "-subj", "/CN=redis", *signed]
    for command in ([*new, *authority], [*new, *server]):
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    return files
