"""Real servers for tests: each on free loopback ports, with a folder of its own, stopped by its own handle.

Nothing here is shared with whatever else runs on the machine, and nothing is ever flushed: tests that share a server
use names of their own.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

START_SECONDS = 20.0


def needed(program: str, package: str) -> str:
    """The path of a program. A test that needs it fails without it: a skipped test proves nothing."""
    found = shutil.which(program)
    if found is None:
        raise RuntimeError(f"{program} is missing: `make test` installs it, or run: apt-get install {package}")
    return found


def free_ports(count: int = 1, *, below: int = 65536) -> list[int]:
    """Ports that nobody listens on now. All are held until the last is found, so that they differ."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            probe = held.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            if (port := probe.getsockname()[1]) < below:
                ports.append(port)
        return ports


@dataclass
class RedisServer:
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
        program = needed("redis-server", "redis-server")
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", "--daemonize", "no", "--logfile", str(self.folder / "log"), *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()

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

    def kill(self) -> None:
        """As a power cut would end it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None


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


@dataclass
class RedisCluster:
    """Masters with all slots among them, and a replica each where asked for."""

    servers: list[RedisServer]
    masters: int

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers[: self.masters])

    def form(self) -> None:
        program = needed("redis-cli", "redis-tools")
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        replicas = len(self.servers) // self.masters - 1
        command = [program, "--cluster", "create", *addresses, "--cluster-replicas", str(replicas), "--cluster-yes"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
        deadline = time.monotonic() + START_SECONDS
        for server in self.servers:
            with server.client() as client:
                while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                    if time.monotonic() > deadline:
                        raise RuntimeError("the cluster did not form")
                    time.sleep(0.05)


@contextmanager
def redis_cluster(masters: int = 3, *, replicas: int = 0) -> Iterator[RedisCluster]:
    with tempfile.TemporaryDirectory(prefix="gate-cluster-") as folder:
        # A node talks to the others on its port + 10,000.
        ports = free_ports(masters * (1 + replicas), below=55000)
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
