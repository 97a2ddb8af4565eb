"""Settings of an index in Redis: its URL, the connection, and that no password is ever shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gate.config.index import MEMORY, REDIS
from gate.config.settings import load_settings
from gate.index.redis.url import RedisSettings
from tests.config.settings_problems import problems

PASSWORD = "correct-horse"


# Location


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost:6379/0",
        "rediss://host/3",
        "unix:///run/redis.sock?db=2",
        "redis+sentinel://h1:26379,h2/mymaster/0",
        "redis+cluster://h1:6379,h2:6379",
        "redis://[::1]:6379/0",
    ],
)
def test_a_url_may_come_from_every_layer_and_is_not_changed(url: str) -> None:
    Path("gate.toml").write_text(f'index = "{url}"')
    assert load_settings({}, {})[0].index == url
    Path("gate.toml").unlink()
    assert load_settings({}, {"GATE_INDEX": url})[0].index == url
    settings, origins = load_settings({"index": url}, {})
    assert (settings.index, origins["index"]) == (url, (url, "--index"))


def test_a_path_is_still_a_path_and_memory_still_memory(folder: Path) -> None:
    assert load_settings({"index": "redis.sqlite"}, {})[0].index == "redis.sqlite"
    assert load_settings({"index": "memory"}, {"GATE_INDEX": "redis://h"})[0].index == MEMORY
    (folder / "etc").mkdir()
    (folder / "etc" / "gate.toml").write_text('index = "redis://h:1/0"')
    assert load_settings({}, {}, folder / "etc" / "gate.toml")[0].index == "redis://h:1/0"  # not relative to anything


@pytest.mark.parametrize(
    "mistyped",
    [
        f"redis:/u:{PASSWORD}@h",
        f"redis//u:{PASSWORD}@h",
        f"REDIS:u:{PASSWORD}@h:6379/0",
        f"reids:/u:{PASSWORD}@h",
        f"u:{PASSWORD}@h:6379",
        f"//:{PASSWORD}@h",
        f"redis+cluster:/{PASSWORD}",
    ],
)
def test_a_password_in_a_mistyped_url_is_not_shown(mistyped: str) -> None:
    for found in (problems(flags={"index": mistyped}), problems(environ={"GATE_INDEX": mistyped})):
        [problem] = found
        assert "it looks like a URL, but has no ://" in problem
        assert PASSWORD not in problem


def test_a_path_that_only_resembles_a_url_is_a_path(folder: Path) -> None:
    for path in ("./a:b@c.sqlite", "/data/a:b@c.sqlite", "../redis:x", "redis.sqlite", "me@home.sqlite", "a:b.sqlite"):
        assert load_settings({"index": path}, {})[0].index == str(Path(path))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://host", "http:// is no scheme of an index"),
        ("redis://host:port", "write host:port"),
        ("redis://host/zero", "the number of a Redis database is wrong"),
        ("redis+sentinel://host", "names its master"),
        ("redis+cluster://host/1", "one database only"),
    ],
)
def test_a_wrong_url_is_reported_with_its_origin_before_anything_is_opened(url: str, said: str) -> None:
    [problem] = problems(environ={"GATE_INDEX": url})
    assert problem.startswith("index (GATE_INDEX): ")
    assert said in problem


def test_a_wrong_url_is_one_problem_of_several() -> None:
    found = problems(environ={"GATE_INDEX": "redis://:x"}, flags={"redis_connections": "0", "profile": "nope"})
    assert len(found) == 3


# Talking


def test_without_settings_the_defaults_are_in_force() -> None:
    assert load_settings({}, {})[0].redis == RedisSettings()


def test_every_connection_setting_can_be_set_on_every_layer(folder: Path) -> None:
    (folder / "ca.pem").touch()
    Path("gate.toml").write_text('redis_connections = 3\nredis_ca_file = "ca.pem"\nredis_allow_eviction = true\n')
    environ = {"GATE_REDIS_TIMEOUT_SECONDS": "1.5", "GATE_REDIS_USERNAME": "gate", "GATE_REDIS_CONNECTIONS": "4"}
    flags = {"redis_window_days": "7", "redis_sentinel_username": "watch"}
    settings, origins = load_settings(flags, environ)
    assert settings.redis == RedisSettings(
        connections=4,
        ca_file="ca.pem",
        allow_eviction=True,
        timeout_seconds=1.5,
        username="gate",
        window_seconds=7 * 86_400.0,
        sentinel_username="watch",
    )
    assert origins["redis_connections"] == (4, "GATE_REDIS_CONNECTIONS")
    assert origins["redis_allow_eviction"] == (True, "gate.toml")
    assert origins["redis_window_days"] == (7.0, "--set redis_window_days")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("redis_connections = 0", "give a whole number at least 1"),
        ("redis_timeout_seconds = 0", "give a number above 0"),
        ("redis_timeout_seconds = 'long'", "give a number above 0"),
        ("redis_connections = 1.5", "give a whole number at least 1"),
        ("redis_window_days = -1", "give a number above 0"),
        ("redis_allow_eviction = 'yes'", "give true or false"),
        ("redis_username = 7", "give text"),
        ("redis_conections = 7", "did you mean `redis_connections`?"),
    ],
)
def test_a_wrong_value_is_reported_with_what_is_allowed(toml: str, said: str) -> None:
    [problem] = problems(toml)
    assert problem.startswith(toml.partition(" ")[0] + " (gate.toml)")
    assert said in problem


def test_a_wait_for_replicas_that_outlasts_a_call_is_refused() -> None:
    toml = "redis_wait_replicas = 1\nredis_wait_timeout_seconds = 2.0\nredis_timeout_seconds = 2.0\n"
    [problem] = problems(toml)
    assert problem.startswith("redis_wait_timeout_seconds: 2 is not below redis_timeout_seconds (2)")
    assert problems(toml.replace("replicas = 1", "replicas = -1"))[0].startswith("redis_wait_replicas (gate.toml)")


def test_a_missing_certificate_is_reported_if_the_url_uses_tls() -> None:
    toml = 'redis_ca_file = "none.pem"'
    assert "none.pem" in problems(toml, environ={"GATE_INDEX": "rediss://h"})[0]
    assert load_settings({}, {"GATE_INDEX": "redis://h"})[0].redis.ca_file == "none.pem"


# Passwords


def test_a_password_comes_from_the_environment_or_from_a_file(folder: Path) -> None:
    settings, origins = load_settings({}, {"GATE_REDIS_PASSWORD": PASSWORD, "GATE_REDIS_SENTINEL_PASSWORD": "x"})
    assert (settings.redis.password, settings.redis.sentinel_password) == (PASSWORD, "x")
    assert origins["redis_password"] == ("set", "GATE_REDIS_PASSWORD")
    (folder / "hush").write_text(PASSWORD + "\n")
    settings, origins = load_settings({"redis_password_file": "hush"}, {})
    assert settings.redis.password == PASSWORD
    assert origins["redis_password"] == ("set", "--set redis_password_file")


def test_user_and_password_are_removed_from_the_url() -> None:
    settings, origins = load_settings({}, {"GATE_INDEX": f"redis://me:{PASSWORD}%40home@h:1/0?db=2"})
    assert settings.index == "redis://h:1/0?db=2"
    assert (settings.redis.username, settings.redis.password) == ("me", f"{PASSWORD}@home")
    assert origins["redis_username"] == ("me", "GATE_INDEX")
    assert origins["redis_password"] == ("set", "GATE_INDEX")


def test_the_settings_win_over_the_url() -> None:
    environ = {"GATE_INDEX": "redis://me:old@h", "GATE_REDIS_PASSWORD": "new", "GATE_REDIS_USERNAME": "you"}
    settings, origins = load_settings({}, environ)
    assert (settings.redis.username, settings.redis.password) == ("you", "new")
    assert origins["redis_password"] == ("set", "GATE_REDIS_PASSWORD")


def test_a_password_in_a_settings_file_is_refused_in_either_form() -> None:
    found = problems(f'index = "redis://me:{PASSWORD}@h"\nredis_password = "{PASSWORD}"')
    assert len(found) == 2
    assert all("GATE_REDIS_PASSWORD" in problem for problem in found)
    assert PASSWORD not in "".join(found)
    Path("gate.toml").write_text('index = "redis://me@h"')  # a name alone is no secret
    assert load_settings({}, {})[0].redis.username == "me"


def test_two_passwords_on_one_layer_are_a_mistake(folder: Path) -> None:
    (folder / "hush").write_text("x")
    [problem] = problems(environ={"GATE_REDIS_PASSWORD": "x", "GATE_REDIS_PASSWORD_FILE": "hush"})
    assert "set one of them" in problem


def test_no_password_is_ever_shown() -> None:
    for environ in (
        {"GATE_INDEX": f"redis://me:{PASSWORD}@h"},
        {"GATE_REDIS_PASSWORD": PASSWORD, "GATE_REDIS_SENTINEL_PASSWORD": PASSWORD},
    ):
        settings, origins = load_settings({}, environ)
        assert PASSWORD not in f"{settings!r} {settings} {origins!r}"
        with pytest.raises(TypeError):
            msgspec.json.encode(settings)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://me:{PASSWORD}@h:port",
        f"http://me:{PASSWORD}@h",
        f"redis://h/{PASSWORD}@h",
        f"redis://h?password={PASSWORD}",
        f"redis://me:{PASSWORD}",
    ],
)
def test_no_problem_shows_a_password(url: str) -> None:
    assert PASSWORD not in "".join(problems(environ={"GATE_INDEX": url}))


def test_every_setting_of_redis_has_an_origin() -> None:
    _, origins = load_settings({}, {})
    named = {name for name in origins if name.startswith("redis_")}
    assert named == {
        *REDIS,
        "redis_ca_file",
        "redis_password",
        "redis_password_file",
        "redis_sentinel_password",
        "redis_sentinel_password_file",
    }
