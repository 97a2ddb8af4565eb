"""URLs of an index in Redis are read without the library that talks to it, and shown without passwords."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gate.errors import ConfigError
from gate.index.redis.url import hide_credentials, is_redis_url, parse_hosts, parse_url, split_credentials

SECRET = "open-sesame"


@pytest.mark.slow
def test_a_command_starts_without_the_library_of_redis() -> None:
    code = "import sys, gate.cli, gate.api; print([name for name in sys.modules if name.split('.')[0] == 'redis'])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def test_a_url_is_shown_without_user_and_password() -> None:
    assert hide_credentials(f"redis://user:{SECRET}@host:6379/0") == "redis://host:6379/0"
    assert hide_credentials(f"redis://:{SECRET}/@@host?password={SECRET}") == "redis://host"
    assert hide_credentials("unix:///run/redis.sock?db=1") == "unix:///run/redis.sock"


def test_credentials_are_split_from_a_url_and_decoded() -> None:
    assert split_credentials("redis://a%2Fb:p%40ss@host:1/2") == ("redis://host:1/2", "a/b", "p@ss")
    assert split_credentials("redis+cluster://one,two:7") == ("redis+cluster://one,two:7", None, None)


def test_hosts_have_the_port_of_their_kind_unless_they_name_one() -> None:
    assert parse_hosts(parse_url("redis+sentinel://u:p@one,two:7,[::1]:8,[::2]/master"), 26379) == [
        ("one", 26379),
        ("two", 7),
        ("::1", 8),
        ("::2", 26379),
    ]


@pytest.mark.parametrize(("text", "expected"), [("redis://host", True), ("redsi://host", True), ("a/b.gate", False)])
def test_an_unknown_scheme_is_a_mistake_and_no_file(text: str, expected: bool) -> None:
    assert is_redis_url(text) is expected


def test_the_error_of_an_unknown_scheme_has_no_password() -> None:
    with pytest.raises(ConfigError, match="redsi:// is no scheme") as caught:
        parse_url(f"redsi://:{SECRET}@host")
    assert SECRET not in str(caught.value)
