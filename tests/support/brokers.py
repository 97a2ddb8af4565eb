"""Real Kafka brokers for tests: KRaft, on free loopback ports, each with a folder of its own, ended by its own handle.

`make kafka` fetches the jars. A broker may be stopped or killed and begun again on the same ports and folder; what it
was told before is still there.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.support.servers import Certificates, ServerProcess, free_ports, require_program

JARS = Path(__file__).parents[2] / ".cache" / "kafka"
START_SECONDS = 60.0
STARTED = "Kafka Server started"
RECORD_BYTES = 48 * 2**20  # a check-in of 32 MB, and what a batch adds to it
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"  # any 16 bytes in base 64
JAVA_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # started soon, and small

LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1} %m%n
logger.started.name = kafka.server.KafkaRaftServer
logger.started.level = info
"""

# Small where a test would wait for it or pay for it; nothing that a client sees differs from a broker in service.
PROPERTIES = f"""\
process.roles=broker,controller
controller.listener.names=CONTROLLER
auto.create.topics.enable=false
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
message.max.bytes={RECORD_BYTES}
replica.fetch.max.bytes={RECORD_BYTES}
num.network.threads=2
num.io.threads=4
num.recovery.threads.per.data.dir=2
log.cleaner.dedupe.buffer.size=4194304
log.index.size.max.bytes=1048576
controlled.shutdown.max.retries=1
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""


def java() -> list[str]:
    program = require_program("java", "openjdk-17-jre-headless")
    if not any(JARS.glob("kafka_2.13-*.jar")):
        raise RuntimeError(f"the jars of Kafka are missing in {JARS}: `make kafka` fetches them, by Maven")
    return [program, *JAVA_OPTIONS]


@dataclass(frozen=True, kw_only=True)
class BrokerSecurity:
    """How clients are let in: over TLS, with a name and a password, or both. With users, only `admin` may do all."""

    certificates: Certificates | None = None
    users: dict[str, str] = field(default_factory=dict)
    mechanism: str = "PLAIN"

    @property
    def protocol(self) -> str:
        return ("SASL_" if self.users else "") + ("SSL" if self.certificates else "PLAINTEXT")

    def properties(self, folder: Path) -> Iterator[str]:
        if self.certificates is not None:
            keys = folder / "keys.pem"  # a broker reads key and certificate from one file
            keys.write_text(self.certificates.key.read_text() + self.certificates.certificate.read_text())
            yield "ssl.keystore.type=PEM"
            yield f"ssl.keystore.location={keys}"
            yield "ssl.truststore.type=PEM"
            yield f"ssl.truststore.location={self.certificates.authority}"
        if self.users:
            module = "scram.ScramLoginModule" if self.mechanism.startswith("SCRAM") else "plain.PlainLoginModule"
            known = "".join(f' user_{name}="{word}"' for name, word in self.users.items())
            known = "" if self.mechanism.startswith("SCRAM") else known
            yield f"sasl.enabled.mechanisms={self.mechanism}"
            prefix = f"listener.name.clients.{self.mechanism.lower()}"
            yield f"{prefix}.sasl.jaas.config=org.apache.kafka.common.security.{module} required{known};"
            yield "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            yield "super.users=User:admin;User:ANONYMOUS"  # the nodes among themselves have no name

    def format_options(self) -> Iterator[str]:
        if self.mechanism.startswith("SCRAM"):
            for name, word in self.users.items():
                yield from ("--add-scram", f"{self.mechanism}=[name={name},password={word}]")


NO_SECURITY = BrokerSecurity()


@dataclass
class KafkaServer(ServerProcess):
    """One node, broker and controller. `stop` and `kill` end it; `start` begins it again with all that it had."""

    patience_seconds = 20.0  # its partitions are handed over, where there is somebody to take them

    folder: Path
    node: int
    port: int
    voters: Sequence[tuple[int, int]]  # of every node: its number, and the port of its controller
    security: BrokerSecurity = NO_SECURITY
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    inner_port: int = field(default_factory=lambda: free_ports()[0])

    @property
    def brokers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def start(self) -> None:
        self.launch()
        self.wait()

    def launch(self) -> None:
        if not (self.folder / "data" / "meta.properties").exists():
            self._format()
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(self._command("kafka.Kafka"), stdout=out, stderr=subprocess.STDOUT)

    def wait(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while STARTED not in (log := self.log.read_text(errors="replace")):
            if self.process.poll() is not None:
                raise RuntimeError(f"the broker ended with {self.process.returncode}\n{log[-2000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"the broker did not start within {START_SECONDS:.0f} s\n{log[-2000:]}")
            time.sleep(0.05)

    def _format(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "log4j2.properties").write_text(LOGGING)
        (self.folder / "server.properties").write_text(self._properties())
        command = [*self._command("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c")]
        made = subprocess.run([*command, *self.security.format_options()], capture_output=True, text=True, timeout=60)
        if made.returncode:
            raise RuntimeError(f"the folder of a broker could not be made\n{made.stdout[-2000:]}{made.stderr[-2000:]}")

    def _command(self, name: str, *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return [*java(), logging, "-cp", f"{JARS}/*", name, *arguments, str(self.folder / "server.properties")]

    def _properties(self) -> str:
        copies = len(self.voters)
        controller = dict(self.voters)[self.node]
        protocols = f"CLIENTS:{self.security.protocol},NODES:PLAINTEXT,CONTROLLER:PLAINTEXT"
        addresses = f"CLIENTS://127.0.0.1:{self.port},NODES://127.0.0.1:{self.inner_port}"
        lines = (
            f"node.id={self.node}",
            f"log.dirs={self.folder / 'data'}",
            "controller.quorum.voters=" + ",".join(f"{node}@127.0.0.1:{port}" for node, port in self.voters),
            f"listeners={addresses},CONTROLLER://127.0.0.1:{controller}",
            f"advertised.listeners={addresses}",
            f"listener.security.protocol.map={protocols}",
            "inter.broker.listener.name=NODES",
            f"default.replication.factor={copies}",
            f"offsets.topic.replication.factor={copies}",
            f"transaction.state.log.replication.factor={copies}",
            f"share.coordinator.state.topic.replication.factor={copies}",
            f"min.insync.replicas={copies - copies // 3}",
            f"transaction.state.log.min.isr={copies - copies // 3}",
            f"share.coordinator.state.topic.min.isr={copies - copies // 3}",
            *self.security.properties(self.folder),
        )
        return PROPERTIES + "".join(f"{line}\n" for line in lines)


@dataclass
class KafkaCluster:
    """Nodes that hold a copy of everything each; one may be away at any time."""

    servers: list[KafkaServer]

    @property
    def brokers(self) -> str:
        return ",".join(server.brokers for server in self.servers)

    def start(self) -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(KafkaServer.launch, self.servers))
        for server in self.servers:
            server.wait()


@contextmanager
def kafka_cluster(nodes: int = 3, *, security: BrokerSecurity = NO_SECURITY) -> Iterator[KafkaCluster]:
    folder = Path(tempfile.mkdtemp(prefix="gate-kafka-"))
    ports = free_ports(3 * nodes)
    voters = [(node, ports[node]) for node in range(nodes)]
    servers = [
        KafkaServer(folder / str(node), node, ports[nodes + node], voters, security, inner_port=ports[2 * nodes + node])
        for node in range(nodes)
    ]
    try:
        cluster = KafkaCluster(servers)
        cluster.start()
        yield cluster
    finally:
        for server in servers:
            server.kill()  # nothing of it is wanted any more
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kafka_server(*, security: BrokerSecurity = NO_SECURITY) -> Iterator[KafkaServer]:
    with kafka_cluster(1, security=security) as cluster:
        yield cluster.servers[0]


@dataclass(frozen=True)
class TopicFactory:
    """Hands out topics and groups that nobody has used; their names tell which test they belong to."""

    brokers: str
    test: str

    def name(self, what: str) -> str:
        return f"{re.sub(r'[^A-Za-z0-9]+', '-', self.test)[:60]}.{what}.{uuid.uuid4().hex[:8]}"

    def group(self) -> str:
        return self.name("group")

    def create(self, what: str = "topic", *, partitions: int = 1, copies: int = 1, **settings: str) -> str:
        """A topic that is there now. Settings with `_` for `.`: `max_message_bytes="1000"`."""
        name = self.name(what)
        wanted = {key.replace("_", "."): value for key, value in settings.items()}
        asyncio.run(create_topic(self.brokers, NewTopic(name, partitions, copies, topic_configs=wanted)))
        return name


async def create_topic(brokers: str, topic: NewTopic) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=brokers)
    await admin.start()
    try:
        made = await admin.create_topics([topic])
        assert all(code == 0 for _, code, _ in made.topic_errors), made
        # The answer comes before every broker knows of it.
        while any(
            one["error_code"] or any(part["error_code"] for part in one["partitions"])
            for one in await admin.describe_topics([topic.name])
        ):
            await asyncio.sleep(0.02)
    finally:
        await admin.close()
