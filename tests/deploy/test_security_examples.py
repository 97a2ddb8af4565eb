"""The examples in deploy/security, started as they are written: only ports, folders and certificates are the test's."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import NoPermissionError, RedisError
from redis.retry import Retry

from tests.cli.command import EVENTS, event, gate
from tests.deploy.deploy_files import DEPLOY, ROOT
from tests.support.servers import Certificates, RedisServer, certificates, free_ports, require_program

ACL = DEPLOY / "security" / "redis.acl"
CONFIGURATION = DEPLOY / "security" / "redis-tls.conf"
PASSWORDS = dict(re.findall(r"^user (\S+) on >(\S+) ", ACL.read_text(), re.MULTILINE))
USERS = ("gate-worker", "gate-reader", "gate-operator")
CODE = "".join(path.read_text() for path in sorted((ROOT / "gate/index/redis").rglob("*.py")))
SCRIPTS = "".join(path.read_text() for path in sorted((ROOT / "gate/index/redis/lua").glob("*.lua")))
CALLED_BY_SCRIPTS = {name.lower() for name in re.findall(r"redis\.call\('([A-Z]+)'", SCRIPTS)}
ONCE = Retry(NoBackoff(), 0)
BY_THE_LIBRARY = {"select", "client|setname"}  # of a connection, by its settings

# A refused connection over TLS is left half closed by the library: what is collected here must not disturb later tests.
pytestmark = [pytest.mark.redis, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@dataclass
class GuardedRedis(RedisServer):
    """A redis-server with the configuration and the users of the examples."""

    files: Certificates | None = None

    def command(self) -> list[str]:
        assert self.files is not None
        program = require_program("redis-server", "redis-server")
        own = ["--tls-port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        own += ["--logfile", str(self.folder / "log"), "--aclfile", str(ACL)]
        own += ["--tls-cert-file", str(self.files.certificate), "--tls-key-file", str(self.files.key)]
        return [program, str(CONFIGURATION), *own, "--tls-ca-cert-file", str(self.files.authority)]

    def client(self) -> Redis:
        return self.connect("admin")

    def connect(self, user: str, *, shown: Certificates | None = None) -> Redis:
        """A connection of a user; `shown`: a certificate for the client."""
        assert self.files is not None
        return Redis(
            host="127.0.0.1",
            port=self.port,
            username=user,
            password=PASSWORDS[user],
            socket_timeout=5,
            retry=ONCE,
            ssl=True,
            ssl_ca_certs=str(self.files.authority),
            ssl_certfile=str(shown.certificate) if shown else None,
            ssl_keyfile=str(shown.key) if shown else None,
        )

    def gate(self, user: str | None, *command: str, stdin: str | None = None, database: int = 0) -> Result:
        """A command of the gate as a user of this server; None: as nobody in particular."""
        assert self.files is not None
        named = f"{user}:{PASSWORDS[user]}@" if user else ""
        index = ("--index", f"rediss://{named}127.0.0.1:{self.port}/{database}")
        return gate(*command, *index, "--set", f"redis_ca_file={self.files.authority}", stdin=stdin)

    def does(self, user: str, *command: str, stdin: str | None = None, database: int = 0) -> str:
        result = self.gate(user, *command, stdin=stdin, database=database)
        assert result.exit_code == 0, (command, result.output)
        return result.stdout

    def refuses(self, user: str, *command: str, stdin: str | None = None) -> None:
        result = self.gate(user, *command, stdin=stdin)
        assert result.exit_code == 2, result.output
        assert "Redis does not let this user do what an index needs" in result.stderr
        assert PASSWORDS[user] not in result.output


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    [port] = free_ports()
    files = certificates(tmp_path_factory.mktemp("certificates"))
    started = GuardedRedis(tmp_path_factory.mktemp("redis"), port, files=files)
    try:
        started.start()
        yield started
    finally:
        started.stop()
        gc.collect()


@pytest.fixture
def profile(request: pytest.FixtureRequest, empty_folder: Path) -> str:
    """The file of a profile that no other test has, and so an index of its own."""
    name = re.sub(r"[^a-z]+", "-", request.node.name)[:60].strip("-")
    path = empty_folder / f"{name}.toml"
    path.write_text('base = "standard"')
    return path.name


@pytest.fixture
def filled(server: GuardedRedis, profile: str) -> GuardedRedis:
    """With some documents in the index of the profile, which the worker checked in."""
    server.does("gate-worker", "run", "--quiet", "--profile", profile, stdin=EVENTS)
    return server


class TestUsers:
    def test_the_worker_creates_an_index_checks_in_and_deletes(self, filled: GuardedRedis, profile: str) -> None:
        options = ("--profile", profile)
        again = filled.does("gate-worker", "run", *options, stdin=event("b", "other text " * 20) + EVENTS)
        assert '"relation":"exact"' in again
        filled.does("gate-worker", "delete", "a", *options)
        assert filled.gate("gate-reader", "explain", "a", *options).exit_code == 2

    def test_the_worker_uses_another_database(self, server: GuardedRedis, profile: str) -> None:
        assert '"new"' in server.does("gate-worker", "run", "--profile", profile, stdin=EVENTS, database=3)

    def test_the_worker_keeps_a_window(self, filled: GuardedRedis, profile: str) -> None:
        for _ in range(3):
            filled.does("gate-worker", "index", "rotate", "--profile", profile)
        assert filled.gate("gate-reader", "explain", "a", "--profile", profile).exit_code == 2

    def test_the_worker_waits_for_replicas_only_where_it_may(self, filled: GuardedRedis, profile: str) -> None:
        waiting = (
            "run",
            "--profile",
            profile,
            "--set",
            "redis_wait_replicas=1",
            "--set",
            "redis_wait_timeout_seconds=0.01",
        )
        filled.refuses("gate-worker", *waiting, stdin=EVENTS)

    def test_the_reader_looks_up_and_changes_nothing(self, filled: GuardedRedis, profile: str) -> None:
        options = ("--profile", profile)
        before = filled.does("gate-operator", "index", "export", *options)
        for command in (("similar", "a"), ("explain", "a"), ("index", "info"), ("index", "documents")):
            filled.does("gate-reader", *command, *options)
        for command in (("index", "pairs"), ("index", "groups"), ("index", "export")):
            filled.does("gate-reader", *command, *options)
        filled.refuses("gate-reader", "run", *options, stdin=event("z", "a text that nobody has sent before " * 9))
        for command in (("delete", "a"), ("index", "verify"), ("index", "rotate")):
            filled.refuses("gate-reader", *command, *options)
        assert filled.does("gate-operator", "index", "export", *options) == before

    def test_the_operator_repairs_and_rotates(self, filled: GuardedRedis, profile: str) -> None:
        options = ("--profile", profile)
        with filled.client() as client:
            [bucket, *_] = client.keys(f"gate:{profile.removesuffix('.toml')}@1:*:0b")
            client.delete(bucket)
        filled.refuses("gate-reader", "index", "verify", "--fix", "--pause", "0", *options)
        assert "missing" in filled.does("gate-operator", "index", "verify", "--fix", "--pause", "0", *options)
        filled.does("gate-operator", "index", "verify", "--pause", "0", *options)
        filled.does("gate-operator", "index", "rotate", *options)

    def test_the_operator_promotes_and_drops_what_was_filled_aside(
        self, filled: GuardedRedis, profile: str, empty_folder: Path
    ) -> None:
        options = ("--profile", profile)
        (empty_folder / "older.jsonl").write_text(event("older", "a text that nobody has sent before " * 9))
        for name in ("first", "second"):
            replay = ("replay", "older.jsonl", "--into-generation", name, "--quiet")
            filled.does("gate-worker", *replay, *options)
        filled.does("gate-operator", "index", "promote", "first", *options)
        filled.does("gate-operator", "index", "drop", "second", *options)
        assert "older" in filled.does("gate-reader", "explain", "older", *options)

    def test_without_a_user_nothing_is_open(self, filled: GuardedRedis, profile: str) -> None:
        result = filled.gate(None, "index", "info", "--profile", profile)
        assert result.exit_code == 2
        assert "user or the password" in result.stderr

    @pytest.mark.parametrize("user", USERS)
    def test_nobody_flushes_configures_or_reaches_foreign_keys(self, server: GuardedRedis, user: str) -> None:
        with server.client() as admin, server.connect(user) as client:
            admin.set("other:key", "private")
            for command in (
                "FLUSHDB",
                "FLUSHALL",
                "KEYS *",
                "CONFIG GET *",
                "ACL LIST",
                "MONITOR",
                "SHUTDOWN NOSAVE",
                "SCRIPT FLUSH",
                "SUBSCRIBE any",
                "FUNCTION LIST",
                "WAIT 0 1",
                "GET other:key",
                "HSET other:hash name value",
                "DUMP gate:any",
                "MIGRATE 127.0.0.1 1 gate:any 0 1",
            ):
                with pytest.raises(NoPermissionError):
                    client.execute_command(*command.split())
            with pytest.raises(RedisError, match="can't access"):
                client.eval("return redis.call('GET', 'other:key')", 0)
            assert admin.get("other:key") == b"private"


class TestCommands:
    def test_what_scripts_call_is_allowed_and_readers_may_do_all_that_only_reads(self, server: GuardedRedis) -> None:
        with server.client() as client:
            described = client.command()
        reading = {name for name in CALLED_BY_SCRIPTS if "readonly" in described[name]["flags"]} | {"time"}
        assert allowed("gate-worker") >= CALLED_BY_SCRIPTS
        assert allowed("gate-operator") >= CALLED_BY_SCRIPTS
        assert allowed("gate-reader") >= reading
        writing = {name for name in allowed("gate-reader") if "write" in described[name.split("|")[0]]["flags"]}
        assert writing == set()

    @pytest.mark.parametrize("user", USERS)
    def test_nothing_is_allowed_that_the_gate_never_calls(self, user: str) -> None:
        called = {
            name for name in allowed(user) if re.search(rf'\.{name}\(|"{name.replace("|", " ")}"', CODE, re.IGNORECASE)
        }
        assert allowed(user) - called - CALLED_BY_SCRIPTS - BY_THE_LIBRARY == set()


def allowed(user: str) -> set[str]:
    [rights] = re.findall(rf"^user {user} (.*)$", ACL.read_text(), re.MULTILINE)
    assert " -@all " in rights
    return set(re.findall(r" \+(\S+)", rights))


class TestTls:
    def test_no_port_is_open_without_tls(self, server: GuardedRedis) -> None:
        with (
            Redis(host="127.0.0.1", port=server.port, socket_timeout=5, retry=ONCE) as plain,
            pytest.raises(Disconnected),
        ):
            plain.ping()
        with server.client() as client:
            assert client.config_get("port") == {"port": "0"}

    def test_a_client_may_show_a_certificate_of_the_authority_and_no_other(
        self, server: GuardedRedis, tmp_path: Path
    ) -> None:
        with server.connect("admin", shown=server.files) as client:
            assert client.ping()
        with server.connect("admin", shown=certificates(tmp_path)) as client, pytest.raises(Disconnected):
            client.ping()
