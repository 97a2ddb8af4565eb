"""Where the index is kept: in memory, in a file, or in Redis, and how to talk to that.

A password may be part of the URL in the environment or in a flag, but not in a settings file; it is taken out of the
URL, so that whatever shows the URL shows no password.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from gate.config.sources import Given, Layer, checked
from gate.errors import ConfigError
from gate.index.redis.url import RedisSettings, is_redis_url, split_credentials

MEMORY = "memory"
DAY_SECONDS = 86_400.0

REDIS: dict[str, Any] = {
    "redis_username": str,
    "redis_sentinel_username": str,
    "redis_timeout_seconds": Annotated[float, Meta(gt=0)],
    "redis_connections": Annotated[int, Meta(ge=1)],
    "redis_window_days": Annotated[float, Meta(gt=0)],
    "redis_allow_eviction": bool,
}


class Kept(NamedTuple):
    """Where the index is: `memory`, the path of a file, or a URL without user and password."""

    place: str
    redis: RedisSettings


def find_index(
    given: Mapping[str, Given], paths: Mapping[str, Path | None], passwords: Mapping[str, bytes], problems: list[str]
) -> Kept:
    values = {_field(key): checked(key, given[key], kind, problems) for key, kind in REDIS.items() if key in given}
    values |= {_field(key): word.decode(errors="surrogateescape") for key, word in passwords.items() if word}
    if paths.get("redis_ca_file"):
        values["ca_file"] = str(paths["redis_ca_file"])
    if days := values.pop("window_days", None):
        values["window_seconds"] = days * DAY_SECONDS
    redis = RedisSettings(**{name: value for name, value in values.items() if value is not None})
    place = given.get("index")
    if place is None or place.value == MEMORY:
        return Kept(MEMORY, redis)
    if not is_redis_url(str(place.value)):
        return Kept(str(paths.get("index")), redis)
    # Imported here: it takes a good part of the time in which a command starts, and few need it.
    from gate.index.redis.connect import make_client

    try:
        url, username, password = split_credentials(str(place.value))
        if password and place.layer is Layer.FILE:
            raise ConfigError("no password in a settings file; set GATE_REDIS_PASSWORD, or name a redis_password_file")
        redis = replace(redis, username=redis.username or username, password=redis.password or password)
        make_client(url, redis)
    except ConfigError as exc:
        problems.extend(f"index ({place.source}): {problem.removeprefix('index: ')}" for problem in exc.problems)
        return Kept(MEMORY, redis)
    return Kept(url, redis)


def _field(key: str) -> str:
    return key.removeprefix("redis_")


def in_force(redis: RedisSettings) -> dict[str, object]:
    """The settings of `REDIS` that lead to this."""
    window = redis.window_seconds
    days = {"window_days": None if window is None else window / DAY_SECONDS}
    return {key: days[name] if (name := _field(key)) in days else getattr(redis, name) for key in REDIS}
