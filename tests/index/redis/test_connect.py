"""An index is opened by its URL: every kind of server, every kind of refusal, and never a password in a message."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gate.api import Gate
from gate.core.profile import Profile
from gate.errors import ConfigError, GateError, Unavailable
from gate.index.redis.client import RIGHTS
from gate.index.redis.connect import make_client
from gate.index.redis.url import RedisSettings, RetryPolicy
from gate.model import CheckIn, Relation
from tests.support.servers import (
    MASTER_NAME,
    Certificates,
    RedisServer,
    Sentinel,
    certificates,
    free_ports,
    redis_cluster,
    redis_server,
    redis_with_sentinels,
    wait_until,
)

NUMBERS = count()
SECRET = "open-sesame"  # wherever a password is needed, and nowhere else
QUICK = RetryPolicy(retries=0)
TEXT = "The quick brown fox jumps over a lazy dog while the band plays on and the river runs to the sea."


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as started:
        yield started


@pytest.fixture(scope="module")
def locked() -> Iterator[RedisServer]:
    """Its default user has a password, and there are others."""
    with redis_server(password=SECRET) as started, started.client() as client:
        for name, rights in {
            "able": RIGHTS.partition(",")[0],
            "reader": "~gate:* +@read +@scripting +info +time +client|setname",
            "writer": "~gate:* +@read +@scripting +info +time +client|setname +set",
            "other": "~other:* +@all",
            "powerless": "-@all",
        }.items():
            client.execute_command("ACL", "SETUSER", name, "on", f">{SECRET}", *rights.split())
        yield started


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def over_tls(trusted: Certificates) -> Iterator[int]:
    [port] = free_ports()
    with redis_server("--tls-port", str(port), *trusted.options):
        yield port


def profile() -> Profile:
    """Of an index that no other test has."""
    return Profile(name=f"connect-{next(NUMBERS)}")


def open_gate(url: str, chosen: Profile | None = None, **settings: Any) -> Gate:
    return Gate(chosen or profile(), index=url, redis=RedisSettings(retry=QUICK, **settings))


def works(url: str, **settings: Any) -> bool:
    """Whether what one process checks in there, another one knows."""
    chosen = profile()
    with open_gate(url, chosen, **settings) as gate:
        [first] = gate.check_in([CheckIn(document_id="a", text=TEXT)])
    with open_gate(url, chosen, **settings) as gate:
        [again, copy] = gate.check_in([CheckIn(document_id="a", text=TEXT), CheckIn(document_id="b", text=TEXT)])
    return first.relation is Relation.NEW and again == first and copy.relation is Relation.EXACT


def refusal(kind: type[GateError], url: str, **settings: Any) -> str:
    """What is said where an index does not open. It names no password, in whatever way it is looked at."""
    with pytest.raises(kind) as caught:
        open_gate(url, **settings).close()
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error!r} {error.args}"
        error = error.__cause__ or error.__context__
    return str(caught.value)


@pytest.mark.redis
class TestAddresses:
    def test_one_server(self, server: RedisServer) -> None:
        assert works(server.url)
        assert works(f"redis://localhost:{server.port}")

    @pytest.mark.parametrize("ending", ["/3", "?db=3", "/?db=3"])
    def test_another_database(self, server: RedisServer, ending: str) -> None:
        chosen = profile()
        with open_gate(f"redis://127.0.0.1:{server.port}{ending}", chosen) as gate:
            gate.check_in([CheckIn(document_id="a", text=TEXT)])
        with server.client() as client:
            assert not client.keys(f"gate:{chosen.ref}:*")
            client.select(3)
            assert client.keys(f"gate:{chosen.ref}:*")

    def test_a_socket(self, tmp_path: Path) -> None:
        path = tmp_path / "redis.sock"
        with redis_server("--unixsocket", str(path)):
            assert works(f"unix://{path}")
            assert works(f"unix://{path}?db=2")

    def test_tls(self, over_tls: int, trusted: Certificates) -> None:
        assert works(f"rediss://127.0.0.1:{over_tls}", ca_file=str(trusted.authority))

    def test_a_cluster(self) -> None:
        with redis_cluster(3) as cluster:
            assert works(cluster.url)
            assert works(f"redis+cluster://127.0.0.1:{cluster.servers[2].port}/0")
            assert "redis+cluster" in refusal(ConfigError, cluster.servers[0].url)

    def test_a_cluster_over_tls(self, trusted: Certificates) -> None:
        [port] = free_ports()
        options = ("--tls-port", str(port), "--cluster-enabled", "yes", "--tls-cluster", "yes", *trusted.options)
        with redis_server(*options) as node, node.client() as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", "it is no cluster")
            assert works(f"rediss+cluster://127.0.0.1:{port}", ca_file=str(trusted.authority))

    def test_sentinels(self) -> None:
        with redis_with_sentinels() as watched:
            assert works(watched.url)
            assert works(watched.url.removesuffix("/0"))
            assert "redis+sentinel" in refusal(ConfigError, watched.sentinels[0].url)
            assert "of that name" in refusal(Unavailable, watched.url.replace(MASTER_NAME, "other"))
            assert "read-only replica" in refusal(Unavailable, watched.replica.url)

    def test_sentinels_over_tls_with_passwords(self, tmp_path: Path, trusted: Certificates) -> None:
        master_port, sentinel_port, plain = free_ports(3)
        lines = [f"tls-port {sentinel_port}", "tls-replication yes", f"sentinel auth-pass {MASTER_NAME} {SECRET}"]
        pairs = zip(trusted.options[::2], trusted.options[1::2], strict=True)
        lines += [f"{name.removeprefix('--')} {value}" for name, value in pairs] + [f"requirepass {SECRET}"]
        sentinel = Sentinel(tmp_path / "sentinel", plain, lines, SECRET, master=master_port)
        with redis_server("--tls-port", str(master_port), *trusted.options, password=SECRET):
            try:
                sentinel.start()
                secrets = {"password": SECRET, "sentinel_password": SECRET, "ca_file": str(trusted.authority)}
                url = f"rediss+sentinel://127.0.0.1:{sentinel_port}/{MASTER_NAME}"
                assert works(url, **secrets)
                assert "sentinel_password" in refusal(ConfigError, url, **secrets | {"sentinel_password": None})
            finally:
                sentinel.stop()


@pytest.mark.redis
class TestUsers:
    def test_a_password_in_the_url_or_in_the_settings(self, locked: RedisServer) -> None:
        at = f"127.0.0.1:{locked.port}"
        assert works(f"redis://:{SECRET}@{at}")
        assert works(f"redis://{at}", password=SECRET)

    def test_a_user_with_no_more_rights_than_the_message_asks_for(self, locked: RedisServer) -> None:
        at = f"127.0.0.1:{locked.port}"
        assert works(f"redis://able:{SECRET}@{at}")
        assert works(f"redis://{at}", username="able", password=SECRET)

    def test_what_a_url_cannot_hold_is_percent_encoded(self, locked: RedisServer) -> None:
        with locked.client() as client:
            client.execute_command("ACL", "SETUSER", "o/dd", "on", ">p@ss/w#rd", *RIGHTS.partition(",")[0].split())
        assert works(f"redis://o%2Fdd:p%40ss%2Fw%23rd@127.0.0.1:{locked.port}")

    @pytest.mark.parametrize("user", ["", "default:wrong@", "other:wrong@", f"unknown:{SECRET}@"])
    def test_an_unknown_user_is_refused(self, locked: RedisServer, user: str) -> None:
        error = refusal(ConfigError, f"redis://{user}127.0.0.1:{locked.port}/0")
        assert error.startswith(f"redis://127.0.0.1:{locked.port}/0: ")
        assert "user or the password" in error

    @pytest.mark.parametrize("user", ["powerless", "other", "reader"])
    def test_a_user_without_enough_rights_is_refused_with_those_needed(self, locked: RedisServer, user: str) -> None:
        assert RIGHTS in refusal(ConfigError, f"redis://{user}:{SECRET}@127.0.0.1:{locked.port}")

    def test_a_user_without_enough_rights_in_a_script_is_refused_too(self, locked: RedisServer) -> None:
        gate = open_gate(f"redis://writer:{SECRET}@127.0.0.1:{locked.port}")
        with gate, pytest.raises(ConfigError, match="does not let this user") as caught:
            gate.check_in([CheckIn(document_id="a", text=TEXT)])
        assert RIGHTS in str(caught.value)

    def test_a_cluster_that_refuses_the_password_says_so(self) -> None:
        with redis_server("--cluster-enabled", "yes", password=SECRET) as node:
            assert "user or the password" in refusal(ConfigError, f"redis+cluster://:wrong@127.0.0.1:{node.port}")


class TestWrongUrls:
    @pytest.mark.parametrize(
        ("url", "error"),
        [
            (f"redsi://:{SECRET}@host", "redsi:// is no scheme"),
            (f"http://{SECRET}@host", "choose one of redis"),
            (f"redis://:{SECRET}@", "missing or wrong"),
            (f"redis://:{SECRET}@host:port", "missing or wrong"),
            (f"redis://:{SECRET}@host:70000", "below 65536"),
            (f"redis://:{SECRET}/@host", "write %2F for /"),
            (f"redis://:{SECRET}#1@host", "%23 for #"),
            (f"redis://:1?{SECRET}@host", "%3F for ?"),
            (f"redis://:{SECRET}@[::1", "cannot be read"),
            (f"redis://:{SECRET}@one,two", "one host"),
            (f"redis://:{SECRET}@host/zero", "number of a Redis database"),
            (f"redis://host?password={SECRET}", "settings"),
            ("redis://host#1", "settings"),
            ("redis+sentinel://host:26379", "names its master"),
            ("redis+cluster://host/3", "one database only"),
            ("unix://", "names its path"),
        ],
    )
    def test_the_error_of_a_wrong_url_says_what_is_wrong(self, url: str, error: str) -> None:
        assert error in refusal(ConfigError, url)

    @pytest.mark.parametrize("kind", ["redis", "rediss", "redis+cluster", "redis+sentinel"])
    def test_no_password_is_in_what_a_client_or_its_settings_look_like(self, kind: str) -> None:
        settings = RedisSettings(password=SECRET, sentinel_password=SECRET)
        client = make_client(f"{kind}://user:{SECRET}@host/{MASTER_NAME if 'sentinel' in kind else 0}", settings)
        assert SECRET not in f"{settings!r} {client!r} {getattr(client, 'connection_pool', None)!r}"


class TestServersThatWillNotDo:
    def test_a_server_that_is_not_there(self) -> None:
        [port] = free_ports()
        at = f"127.0.0.1:{port}"
        error = refusal(Unavailable, f"redis://:{SECRET}@{at}/0")
        assert error.startswith(f"redis://{at}/0: ")
        assert "check that it runs" in error
        assert "check that it runs" in refusal(Unavailable, f"redis+cluster://:{SECRET}@{at}")
        assert "Sentinel" in refusal(Unavailable, f"redis+sentinel://:{SECRET}@{at}/{MASTER_NAME}")
        assert "check that it runs" in refusal(Unavailable, "unix:///nowhere/redis.sock")

    @pytest.mark.redis
    def test_a_server_that_is_no_cluster(self, server: RedisServer) -> None:
        assert "not part of a Redis Cluster" in refusal(ConfigError, f"redis+cluster://127.0.0.1:{server.port}")

    @pytest.mark.redis
    def test_a_certificate_of_an_unknown_authority(self, over_tls: int, tmp_path: Path) -> None:
        url = f"rediss://127.0.0.1:{over_tls}"
        assert "redis_ca_file" in refusal(ConfigError, url)
        (tmp_path / "other").mkdir()
        assert "redis_ca_file" in refusal(ConfigError, url, ca_file=str(certificates(tmp_path / "other").authority))
        assert "there is no file" in refusal(ConfigError, url, ca_file=str(tmp_path / "missing"))

    @pytest.mark.parametrize("version", ["2.8.24", "5.0.14", "6.0.20"])
    def test_a_redis_that_is_too_old(self, version: str) -> None:
        with claiming(f"redis_version:{version}\r\nredis_mode:standalone\r\nrole:master\r\n") as url:
            assert f"Redis {version} is too old; 6.2 or later" in refusal(ConfigError, url)

    @pytest.mark.redis
    def test_a_redis_that_drops_keys_when_memory_ends_is_refused_unless_that_is_wanted(self) -> None:
        with redis_server("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru") as evicting:
            error = refusal(ConfigError, evicting.url)
            assert "allkeys-lru" in error
            assert "redis_allow_eviction" in error
            assert works(evicting.url, allow_eviction=True)
        with redis_server("--maxmemory", "50mb", "--maxmemory-policy", "noeviction") as full:
            assert works(full.url)
        with redis_server("--maxmemory-policy", "allkeys-lru") as unlimited:
            assert works(unlimited.url)


@pytest.mark.redis
class TestMeaning:
    def test_a_profile_with_another_digest_is_refused_with_the_way_to_migrate(self, server: RedisServer) -> None:
        first = profile()
        changed = Profile(name=first.name, gram=4)
        with open_gate(server.url, first) as gate:
            gate.check_in([CheckIn(document_id="a", text=TEXT)])
        with pytest.raises(ConfigError) as caught:
            open_gate(server.url, changed)
        for words in (f"gate:{first.ref}", first.digest(), changed.digest(), "new version", "gate index rebuild"):
            assert words in str(caught.value)
        with open_gate(server.url, first) as gate:  # the old one is as it was
            assert gate.explain(["a"])[0][0].relation is Relation.NEW

    @pytest.mark.parametrize(
        ("field", "value", "said"),
        [
            ("resemblance", 0.8, "resemblance 0.65, and this profile has 0.8"),
            ("containment", 0.9, "containment none, and this profile has 0.9"),
            ("index", "all", "index originals, and this profile has all"),
            ("revisions", "replace", "revisions keep, and this profile has replace"),
        ],
    )
    def test_two_gates_that_decide_differently_do_not_share_an_index(
        self, server: RedisServer, field: str, value: object, said: str
    ) -> None:
        first = profile()
        with open_gate(server.url, first) as working:
            with pytest.raises(ConfigError) as caught:
                open_gate(server.url, msgspec.structs.replace(first, **{field: value}))
            for words in (f"gate:{first.ref}", said, "gate index export"):
                assert words in str(caught.value)
            [verdict] = working.check_in([CheckIn(document_id="a", text=TEXT)])
        assert verdict.relation is Relation.NEW

    def test_another_version_of_a_profile_is_another_index(self, server: RedisServer) -> None:
        first = profile()
        second = Profile(name=first.name, version=2, gram=4)
        with open_gate(server.url, first) as gate, open_gate(server.url, second) as other:
            gate.check_in([CheckIn(document_id="a", text=TEXT)])
            assert other.explain(["a"]) == [[]]

    def test_another_secret_is_another_meaning(self, server: RedisServer) -> None:
        chosen = profile()
        open_gate(server.url, chosen).close()
        with pytest.raises(ConfigError, match="or its secret changed"):
            Gate(chosen, index=server.url, secret=SECRET.encode())

    def test_a_key_of_another_program_in_the_place_of_an_index_is_left_alone(self, server: RedisServer) -> None:
        chosen = profile()
        with open_gate(server.url, chosen), server.client() as client:
            views = cast("list[bytes]", client.keys(f"gate:{chosen.ref}:*:v"))
            for key in views:
                client.set(key, "mine")
            with pytest.raises(ConfigError, match="not an index of this program"):
                open_gate(server.url, chosen)
            assert {client.get(key) for key in views} == {b"mine"}


@contextmanager
def claiming(info: str) -> Iterator[str]:
    """A server that answers INFO with the given text, and OK to all else."""

    class Conversation(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self.rfile.readline():
                words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]
                replies: dict[bytes, Callable[[], bytes]] = {
                    b"INFO": lambda: f"${len(info)}\r\n{info}\r\n".encode(),
                    b"HELLO": lambda: b"-ERR unknown command `HELLO`\r\n",
                }
                self.wfile.write(replies.get(words[0].upper(), lambda: b"+OK\r\n")())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Conversation) as listener:
        listener.daemon_threads = True
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield f"redis://127.0.0.1:{listener.socket.getsockname()[1]}"
        finally:
            listener.shutdown()
            thread.join()
