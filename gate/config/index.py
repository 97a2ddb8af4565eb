"""Settings of the index: memory, a SQLite file or Redis, and how to connect to Redis.

A URL in the environment or in a flag may hold a password; one in a settings file may not. The password is removed from
the URL, so that no message or log line that prints the URL can leak it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from gate.config.sources import Layer, Setting, convert_setting
from gate.errors import ConfigError
from gate.index.redis.url import RedisSettings, is_mistyped_url, is_redis_url, split_credentials

MEMORY = "memory"
DAY_SECONDS = 86_400.0

REDIS: dict[str, Any] = {
    "redis_username": str,
    "redis_sentinel_username": str,
    "redis_timeout_seconds": Annotated[float, Meta(gt=0)],
    "redis_connections": Annotated[int, Meta(ge=1)],
    "redis_window_days": Annotated[float, Meta(gt=0)],
    "redis_wait_replicas": Annotated[int, Meta(ge=0)],
    "redis_wait_timeout_seconds": Annotated[float, Meta(gt=0)],
    "redis_allow_eviction": bool,
}


OWN: dict[str, Any] = {"keep_details": bool, "sign_threads": Annotated[int, Meta(ge=1, le=64)]}


class IndexSettings(NamedTuple):
    """`location` is `memory`, the path of a SQLite file, or a Redis URL without user and password."""

    location: str
    redis: RedisSettings


def load_index_settings(
    raw: Mapping[str, Setting], paths: Mapping[str, Path | None], passwords: Mapping[str, bytes], problems: list[str]
) -> IndexSettings:
    values = {_field(key): convert_setting(key, raw[key], kind, problems) for key, kind in REDIS.items() if key in raw}
    values |= {
        _field(key): password.decode(errors="surrogateescape") for key, password in passwords.items() if password
    }
    if paths.get("redis_ca_file"):
        values["ca_file"] = str(paths["redis_ca_file"])
    if days := values.pop("window_days", None):
        values["window_seconds"] = days * DAY_SECONDS
    redis = RedisSettings(**{name: value for name, value in values.items() if value is not None})
    if problem := redis.problem():
        problems.append(problem)
    index = raw.get("index")
    if index is None or index.value == MEMORY:
        return IndexSettings(MEMORY, redis)
    if is_mistyped_url(str(index.value)):
        problems.append(
            f"index ({index.source}): it looks like a URL, but has no ://; write redis://host:6379/0, or ./ before the "
            "path of a file"
        )
        return IndexSettings(MEMORY, redis)
    if not is_redis_url(str(index.value)):
        return IndexSettings(str(paths.get("index")), redis)
    # Imported here: the client library is slow to import, and most commands do not use Redis.
    from gate.index.redis.connect import make_client

    try:
        url, username, url_password = split_credentials(str(index.value))
        if url_password and index.layer is Layer.FILE:
            raise ConfigError("no password in a settings file; set GATE_REDIS_PASSWORD, or name a redis_password_file")
        redis = replace(redis, username=redis.username or username, password=redis.password or url_password)
        make_client(url, redis)
    except ConfigError as exc:
        problems.extend(f"index ({index.source}): {problem.removeprefix('index: ')}" for problem in exc.problems)
        return IndexSettings(MEMORY, redis)
    return IndexSettings(url, redis)


def _field(key: str) -> str:
    return key.removeprefix("redis_")


def effective_index_values(redis: RedisSettings) -> dict[str, object]:
    """The value in force of every key of `REDIS`."""
    window = redis.window_seconds
    days = {"window_days": None if window is None else window / DAY_SECONDS}
    return {key: days[name] if (name := _field(key)) in days else getattr(redis, name) for key in REDIS}
