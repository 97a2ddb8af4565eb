"""Real Kafka brokers for tests and benchmarks: KRaft nodes on free loopback ports, each with a temporary folder.

`with kafka_server() as server` starts one node, `kafka_cluster` three; `make kafka` fetches the jars. A broker that was
stopped or killed can be started again with the same ports and folder and still has its topics. The test needs the
marker `kafka`, see `tests.support.servers`.
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
RECORD_BYTES = 48 * 2**20  # a check-in of 32 MB with the overhead of its batch
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"  # any 16 bytes in base 64
JAVA_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # quick to start, small

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

# Sizes and waits are small, for quick starts; a client sees no difference to a broker in production.
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


def java_command() -> list[str]:
    program = require_program("java", "openjdk-17-jre-headless")
    if not any(JARS.glob("kafka_2.13-*.jar")):
        raise RuntimeError(f"the jars of Kafka are missing in {JARS}: `make kafka` fetches them with Maven")
    return [program, *JAVA_OPTIONS]


@dataclass(frozen=True, kw_only=True)
class BrokerSecurity:
    """How clients authenticate: TLS, SASL with user and password, or both. With users, only `admin` is a super user."""

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
            users = "".join(f' user_{name}="{password}"' for name, password in self.users.items())
            users = "" if self.mechanism.startswith("SCRAM") else users
            yield f"sasl.enabled.mechanisms={self.mechanism}"
            prefix = f"listener.name.clients.{self.mechanism.lower()}"
            yield f"{prefix}.sasl.jaas.config=org.apache.kafka.common.security.{module} required{users};"
            yield "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            yield "super.users=User:admin;User:ANONYMOUS"  # nodes connect to each other anonymously

    def format_options(self) -> Iterator[str]:
        if self.mechanism.startswith("SCRAM"):
            for name, password in self.users.items():
                yield from ("--add-scram", f"{self.mechanism}=[name={name},password={password}]")


NO_SECURITY = BrokerSecurity()


@dataclass
class KafkaServer(ServerProcess):
    """One node, broker and controller in one. After `stop` or `kill`, `start` starts it again with its data."""

    stop_seconds = 20.0  # a node of a cluster hands over its partitions first

    folder: Path
    node: int
    port: int
    voters: Sequence[tuple[int, int]]  # node id and controller port of every node
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
        done = subprocess.run([*command, *self.security.format_options()], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(
                f"the folder of a broker could not be formatted\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )

    def _command(self, name: str, *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return [*java_command(), logging, "-cp", f"{JARS}/*", name, *arguments, str(self.folder / "server.properties")]

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
    """Nodes that each hold a replica of every partition; with three, one may be down."""

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
            server.kill()  # its data is deleted next, no need for a clean shutdown
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kafka_server(*, security: BrokerSecurity = NO_SECURITY) -> Iterator[KafkaServer]:
    with kafka_cluster(1, security=security) as cluster:
        yield cluster.servers[0]


@dataclass(frozen=True)
class TopicFactory:
    """Creates topics and names groups; names are unique and contain the name of the test."""

    brokers: str
    test: str

    def name(self, kind: str) -> str:
        return f"{re.sub(r'[^A-Za-z0-9]+', '-', self.test)[:60]}.{kind}.{uuid.uuid4().hex[:8]}"

    def group(self) -> str:
        return self.name("group")

    def create(self, kind: str = "topic", *, partitions: int = 1, copies: int = 1, **settings: str) -> str:
        """Create a topic and wait until it is usable. Settings with `_` for `.`: `max_message_bytes="1000"`.

        In a thread with an event loop of its own, so that coroutines may call it too.
        """
        name = self.name(kind)
        configs = {key.replace("_", "."): value for key, value in settings.items()}
        topic = NewTopic(name, partitions, copies, topic_configs=configs)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, create_topic(self.brokers, topic)).result()
        return name


async def create_topic(brokers: str, topic: NewTopic) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=brokers)
    await admin.start()
    try:
        response = await admin.create_topics([topic])
        assert all(code == 0 for _, code, _ in response.topic_errors), response
        # The response comes before every broker knows the topic.
        while any(
            state["error_code"] or any(partition["error_code"] for partition in state["partitions"])
            for state in await admin.describe_topics([topic.name])
        ):
            await asyncio.sleep(0.02)
    finally:
        await admin.close()
