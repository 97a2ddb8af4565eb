"""What a command works with: its settings, and the gate on an index that exists, may exist, or has to be empty."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from gate import wire
from gate.api import Gate
from gate.cli.common import Options
from gate.config.index import MEMORY
from gate.config.settings import EffectiveSetting, Settings, load_settings
from gate.errors import ConfigError, NoIndex
from gate.extract.encodings import is_known_encoding
from gate.extract.text_of import HtmlPart, ReadOptions
from gate.index.redis.url import hide_credentials, is_redis_url
from gate.index.tools.transfer import is_empty
from gate.model import Verdict


def load(options: Options, **flags: object) -> Settings:
    """The settings in force; a command adds the flags that it alone has."""
    return load_with_origins(options, **flags)[0]


def load_with_origins(options: Options, **flags: object) -> tuple[Settings, dict[str, EffectiveSetting]]:
    own = {key: value for key, value in flags.items() if value is not None}
    return load_settings({**options.flags, **own}, os.environ, options.config)


def read_options(settings: Settings, *, html: HtmlPart = "main", encoding: str | None = None) -> ReadOptions:
    """How files are read that are no plain text. ConfigError: there is no such encoding."""
    if encoding is not None and not is_known_encoding(encoding):
        raise ConfigError(f"--encoding: {encoding!r} is not known; give one such as utf-8, cp1252 or shift_jis")
    return ReadOptions(html=html, encoding=encoding, limits=settings.extract)


def verdict_line(verdict: Verdict, gone: Collection[str] = ()) -> bytes:
    """A verdict as a line of JSON. A match has "gone": true if it is one of the documents whose files are gone."""
    line = wire.encode(wire.VerdictEvent.of(verdict))
    if not any(match.document_id in gone for match in verdict.matches):
        return line
    fields = msgspec.json.decode(line)
    fields["matches"] = [
        match | {"gone": True} if match["document_id"] in gone else match for match in fields["matches"]
    ]
    return msgspec.json.encode(fields)


@contextmanager
def open_gate(settings: Settings, *, index: str, create: bool = True) -> Iterator[Gate]:
    """The gate under these settings, closed at the end whatever happens. NoIndex: there is no index, and `create` is
    False."""
    with Gate(
        settings.profile,
        index=None if index == MEMORY else index,
        secret=settings.secret.value,
        limits=settings.limits,
        redis=settings.redis,
        create=create,
        keep_details=settings.keep_details,
        sign_threads=settings.sign_threads,
    ) as gate:
        yield gate


@contextmanager
def open_index(settings: Settings) -> Iterator[Gate]:
    """The gate on an index that exists already."""
    require_index(settings)
    with ExitStack() as stack:
        try:
            gate = stack.enter_context(open_gate(settings, index=settings.index, create=False))
        except NoIndex as exc:
            raise NoIndex(
                f"{exc}; `gate check` and `gate run` make one. If it was lost, `gate index rebuild --from-topic "
                "--recover` fills it again"
            ) from exc
        yield gate


def require_index(settings: Settings) -> None:
    if settings.index == MEMORY:
        raise ConfigError("index: this command needs one; name it with --index PATH|URL, or in gate.toml")


@contextmanager
def open_empty(settings: Settings, *, resume: bool) -> Iterator[Gate]:
    """The gate on a new index; to resume what was interrupted, on one that holds something already."""
    require_index(settings)
    with open_gate(settings, index=settings.index) as gate:
        if not resume and not gate.with_store(is_empty):
            raise ConfigError(
                f"index: {index_name(settings)} holds documents already: name a new one, or continue what was "
                "interrupted with --resume"
            )
        yield gate


def index_name(settings: Settings) -> str:
    """The name of the index, for people."""
    return hide_credentials(settings.index) if is_redis_url(settings.index) else settings.index
