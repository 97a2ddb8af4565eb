"""Tokens are kept as hashes, found in constant time, and read again when their file changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gate.errors import ConfigError
from gate.http.tokens import RELOAD_SECONDS, TokenFile, digest_of, new_token, read_tokens, token_table


class FakeClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.toml"


def test_a_new_token_has_256_random_bits_and_a_prefix() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(token.startswith("gate_") and len(token) >= 5 + 43 for token in tokens)


def test_the_file_holds_the_hash_and_not_the_token(path: Path) -> None:
    token = new_token()
    path.write_text(token_table("ingest", token, ("read", "write")))
    assert token not in path.read_text()
    [read] = read_tokens(path)
    assert (read.name, read.digest) == ("ingest", digest_of(token))
    assert sorted(read.scopes) == ["read", "write"]


def test_a_token_is_found_by_its_header(path: Path) -> None:
    tokens = {name: new_token() for name in ("a", "b", "c")}
    path.write_text("".join(token_table(name, token, ("read",)) for name, token in tokens.items()))
    file = TokenFile(path)
    for name, token in tokens.items():
        found = file.find(f"Bearer {token}")
        assert found is not None
        assert found.name == name
        assert file.find(f"bearer  {token} ") == found


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic {}", "Bearer x{}", "Bearer {} {}", "{}", "Bearer é"]
)
def test_another_header_holds_no_token(path: Path, header: str) -> None:
    token = new_token()
    path.write_text(token_table("a", token, ("read",)))
    assert TokenFile(path).find(header.format(token, token)) is None


def test_a_token_is_added_and_revoked_without_a_restart(path: Path) -> None:
    old, new = new_token(), new_token()
    clock, reloads = FakeClock(), list[int]()
    path.write_text(token_table("old", old, ("read",)))
    file = TokenFile(path, clock=clock, on_reload=reloads.append)
    path.write_text(token_table("new", new, ("read",)) + token_table("newer", new_token(), ("write",)))
    assert file.find(f"Bearer {old}")  # the file is not looked at for every request
    clock.now += RELOAD_SECONDS
    assert file.find(f"Bearer {old}") is None
    assert file.find(f"Bearer {new}")
    assert reloads == [2]


def test_a_file_of_the_same_size_and_time_in_its_place_is_read(path: Path) -> None:
    """A mounted secret is replaced as a whole."""
    old, new = new_token(), new_token()
    clock = FakeClock()
    path.write_text(token_table("a", old, ("read",)))
    before = path.stat()
    file = TokenFile(path, clock=clock)
    other = path.with_suffix(".new")
    other.write_text(token_table("a", new, ("read",)))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    clock.now += RELOAD_SECONDS
    assert file.find(f"Bearer {new}")


@pytest.mark.parametrize("content", ["[a", "", None, "[a]\nsha256 = 'x'\nscopes = ['read']\n"])
def test_a_changed_file_that_is_wrong_leaves_the_tokens_as_they_were(path: Path, content: str | None) -> None:
    token, clock, problems = new_token(), FakeClock(), list[ConfigError]()
    path.write_text(token_table("a", token, ("read",)))
    file = TokenFile(path, clock=clock, on_problem=problems.append)
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    clock.now += RELOAD_SECONDS
    assert file.find(f"Bearer {token}")
    [problem] = problems
    assert "api_tokens_file" in str(problem)
    clock.now += RELOAD_SECONDS
    assert file.find(f"Bearer {token}")
    assert len(problems) == 1  # reported once


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[a", "is not TOML"),
        ("", "names no token"),
        ("a = 1", "Expected object"),
        ("[a]\nscopes = ['read']\n", "sha256"),
        (f"[a]\nsha256 = '{'0' * 64}'\nscopes = ['admin']\n", "Invalid enum value"),
        (f"[a]\nsha256 = '{'0' * 64}'\nscopes = []\n", "length >= 1"),
        (f"[a]\nsha256 = '{'0' * 64}'\nscopes = ['read']\nscope = 'x'\n", "unknown field scope"),
        (
            f"[a]\nsha256 = '{'0' * 64}'\nscopes = ['read']\n[b]\nsha256 = '{'0' * 64}'\nscopes = ['read']\n",
            "two names",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_at_the_start(path: Path, content: str, expected: str) -> None:
    path.write_text(content)
    with pytest.raises(ConfigError, match=expected):
        TokenFile(path)


def test_a_file_that_is_not_there_is_refused_at_the_start(path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: no such file"):
        TokenFile(path)
