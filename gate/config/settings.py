"""Load the settings: every layer, which one wins, and all problems in one error.

    defaults  <  gate.toml (or --config)  <  GATE_* in the environment  <  flags

The environment's name of `limits.max_matches` is GATE_LIMITS_MAX_MATCHES. A path in a file is relative to that file,
elsewhere to the working directory. A secret comes from the environment (GATE_SECRET, GATE_REDIS_PASSWORD,
GATE_KAFKA_PASSWORD) or from a file that is named (`secret_file`, `redis_password_file`) only, and is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from gate.archive.bounds import ArchiveLimits
from gate.config.index import MEMORY, OWN, REDIS, effective_index_values, load_index_settings
from gate.config.profiles import find_profile
from gate.config.service import SERVICE, SERVICE_FILES, effective_service_values, load_service_settings
from gate.config.sources import Layer, Setting, convert_setting, quote, read_bytes, read_toml, suggest
from gate.config.stream import KAFKA_FILES, STREAM, effective_stream_values, load_stream_settings
from gate.core.native import loader
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.extract.limits import ExtractLimits
from gate.http.settings import ServiceSettings
from gate.index.redis.url import RedisSettings, is_redis_url
from gate.limits import Limits
from gate.stream.settings import KafkaSettings, ServerSettings, WorkerSettings

DEFAULT_FILE = Path("gate.toml")
MAX_SECRET_BYTES = 64  # the longest key that BLAKE2b takes; a longer one would count in part only

REDIS_SECRETS = ("redis_password", "redis_sentinel_password")
KAFKA_SECRETS = ("kafka_password", "kafka_key_password")
SECRETS = ("secret", *REDIS_SECRETS, *KAFKA_SECRETS)  # each has a setting `..._file` too
FILES = tuple(f"{name}_file" for name in SECRETS)
PATHS = (
    "index",
    "dead_letters",
    "content_root",
    "profiles_file",
    "stop_words_file",
    "redis_ca_file",
    *KAFKA_FILES,
    *SERVICE_FILES,
    *FILES,
)
LIMITS = {f"limits.{field.name}": field for field in structs.fields(Limits)}
# The length of a text is limited by limits.max_document_chars, wherever it comes from.
EXTRACT = {f"extract.{field.name}": field for field in structs.fields(ExtractLimits) if field.name != "max_chars"}
ARCHIVE = {f"archive.{field.name}": field for field in structs.fields(ArchiveLimits)}
TABLES = ("limits", "extract", "archive")
KEYS = ("profile", *PATHS, *OWN, *REDIS, *STREAM, *SERVICE, *LIMITS, *EXTRACT, *ARCHIVE)
FLAGS = {"kafka_brokers": "--kafka"}  # flags whose name is not that of the setting

# Variables that are no settings: which file is read; what signs, decided once in a process and without a result.
_NO_SETTINGS = ("GATE_CONFIG", loader.VARIABLE)

# Kubernetes sets these in every container beside a Service called "gate", so they are not misspelled settings.
_KUBERNETES = re.compile(r"GATE_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_.*)?)")


class Secret:
    """Bytes that no repr, log line or encoder shows; a plain class, so that msgspec refuses to encode it."""

    __slots__ = ("value",)

    def __init__(self, value: bytes = b"") -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Secret({'set' if self.value else 'not set'})"

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a process, converted and checked."""

    profile: Profile
    index: str = MEMORY  # or the path of a SQLite file, or a Redis URL
    redis: RedisSettings = RedisSettings()
    sign_threads: int = 1  # that sign the documents of one batch, in each process
    keep_details: bool = True  # of documents, in the index: title, source, URI, size, MIME type, time, metadata
    dead_letters: Path | None = None
    content_root: Path | None = None
    secret: Secret = Secret()
    limits: Limits = Limits()
    extract: ExtractLimits = ExtractLimits()
    archive: ArchiveLimits = ArchiveLimits()
    kafka: KafkaSettings | None = None  # None: no brokers were named
    worker: WorkerSettings = WorkerSettings()
    server: ServerSettings = ServerSettings()
    service: ServiceSettings = ServiceSettings()


class EffectiveSetting(NamedTuple):
    """The value of a setting that is in force, and its source: `default`, a file, GATE_..., or --flag."""

    value: object
    source: str


def load_settings(
    flags: Mapping[str, object], environ: Mapping[str, str], config_path: Path | None = None
) -> tuple[Settings, dict[str, EffectiveSetting]]:
    """Load the settings, and say of each where it came from. A flag that is None was not given.

    ConfigError holds every problem, not just the first.
    """
    problems: list[str] = []
    raw: dict[str, Setting] = {}
    raw |= _file_layer(config_path, environ.get("GATE_CONFIG"), problems)
    raw |= _environment_layer(environ, problems)
    raw |= _flag_layer(flags, problems)
    problems += loader.problems(environ.get(loader.VARIABLE, ""))

    paths = {key: _path(key, raw[key], problems) for key in PATHS if key in raw}
    limits = {
        field.name: convert_setting(key, raw[key], field.type, problems) for key, field in LIMITS.items() if key in raw
    }
    extract = {
        field.name: convert_setting(key, raw[key], field.type, problems) for key, field in EXTRACT.items() if key in raw
    }
    archive = {
        field.name: convert_setting(key, raw[key], field.type, problems) for key, field in ARCHIVE.items() if key in raw
    }
    own = {key: convert_setting(key, raw[key], kind, problems) for key, kind in OWN.items() if key in raw}
    secrets = {name: _secret(name, environ, raw, paths, problems) for name in SECRETS}
    if len(secrets["secret"].value) > MAX_SECRET_BYTES:
        size, source = len(secrets["secret"].value), secrets["secret"].source
        problems.append(f"secret ({source}): has {size} bytes; at most {MAX_SECRET_BYTES} are used")
    index = load_index_settings(raw, paths, {name: secrets[name].value for name in REDIS_SECRETS}, problems)
    stream = load_stream_settings(raw, paths, {name: secrets[name].value for name in KAFKA_SECRETS}, problems)
    service = load_service_settings(raw, paths, problems)
    profile = find_profile(raw, paths, problems)
    root = paths.get("content_root")
    if root is not None and not root.is_dir():
        problems.append(f"content_root ({raw['content_root'].source}): {root} is not a folder; name one that exists")
    if problems or profile is None:
        raise ConfigError(*problems)

    settings = Settings(
        profile=profile,
        index=index.location,
        redis=index.redis,
        **own,
        dead_letters=paths.get("dead_letters"),
        content_root=root,
        secret=Secret(secrets["secret"].value),
        limits=Limits(**limits),
        extract=ExtractLimits(max_chars=Limits(**limits).max_document_chars, **extract),
        archive=ArchiveLimits(**archive),
        kafka=stream.kafka if "kafka_brokers" in raw else None,
        worker=stream.worker,
        server=stream.server,
        service=service,
    )
    return settings, _effective(settings, effective_stream_values(stream), raw, paths, secrets)


def _effective(
    settings: Settings,
    stream: Mapping[str, object],
    raw: Mapping[str, Setting],
    paths: Mapping[str, Path | None],
    secrets: Mapping[str, _SecretValue],
) -> dict[str, EffectiveSetting]:
    values: dict[str, object] = {"profile": settings.profile.ref}
    values |= {key: None if (path := paths.get(key)) is None else str(path) for key in PATHS}
    values["index"] = settings.index
    values |= {key: getattr(settings, key) for key in OWN}
    values |= {**effective_index_values(settings.redis), **stream, **effective_service_values(settings.service)}
    if settings.kafka is None:
        values["kafka_brokers"] = None
    values |= {key: getattr(settings.limits, field.name) for key, field in LIMITS.items()}
    values |= {key: getattr(settings.extract, field.name) for key, field in EXTRACT.items()}
    values |= {key: getattr(settings.archive, field.name) for key, field in ARCHIVE.items()}
    rows = {key: EffectiveSetting(value, raw[key].source if key in raw else "default") for key, value in values.items()}
    rows |= {name: EffectiveSetting("set" if one.value else None, one.source) for name, one in secrets.items()}
    for name, value in (("redis_username", settings.redis.username), ("redis_password", settings.redis.password)):
        if value and rows[name].source == "default":  # it was part of the URL
            rows[name] = EffectiveSetting("set" if name in SECRETS else value, raw["index"].source)
    return rows


def default_values() -> dict[str, object]:
    """The default of every setting; None where it is not set."""
    problems: list[str] = []
    stream = load_stream_settings({}, {}, {}, problems)
    profile = find_profile({}, {}, problems)
    if profile is None or problems:
        raise ConfigError(*problems)
    secrets = {name: _SecretValue(b"", "default") for name in SECRETS}
    rows = _effective(Settings(profile=profile), effective_stream_values(stream), {}, {}, secrets)
    return {key: row.value for key, row in rows.items()} | {"profile": profile.name}


# Layers


def _file_layer(config_path: Path | None, named: str | None, problems: list[str]) -> dict[str, Setting]:
    path = config_path or (Path(named) if named else None)
    if path is None:
        if not DEFAULT_FILE.is_file():
            return {}
        path = DEFAULT_FILE
    flat: dict[str, object] = {}
    for key, value in read_toml(path, "config", problems).items():
        if key in TABLES and isinstance(value, dict):
            flat |= {f"{key}.{name}": one for name, one in value.items()}
        else:
            flat[key] = value
    for name in SECRETS:
        if name in flat:
            del flat[name]
            problems.append(
                f"{name} ({path}): no secret in a settings file; set {variable_name(name)}, or name a {name}_file"
            )
    for key in [key for key in flat if key not in KEYS]:
        del flat[key]
        problems.append(f"{key} ({path}): unknown; {suggest(key, KEYS)}")
    return {key: Setting(value, str(path), Layer.FILE, path.parent) for key, value in flat.items()}


def _environment_layer(environ: Mapping[str, str], problems: list[str]) -> dict[str, Setting]:
    """An empty variable counts as not set: compose files and unit files cannot leave one out."""
    names = {variable_name(key): key for key in KEYS}
    raw = {}
    for variable, value in environ.items():
        if not value or not variable.startswith("GATE_") or variable in (*_NO_SETTINGS, *map(variable_name, SECRETS)):
            continue
        if variable in names:
            raw[names[variable]] = Setting(value, variable, Layer.ENVIRONMENT, Path())
        elif not _KUBERNETES.fullmatch(variable):
            problems.append(
                f"{variable} (environment): unknown; {suggest(variable, (*names, *map(variable_name, SECRETS)))}"
            )
    return raw


def _flag_layer(flags: Mapping[str, object], problems: list[str]) -> dict[str, Setting]:
    """Most settings have no flag of their own and are given by --set, and so are unknown ones."""
    raw = {}
    for key, value in flags.items():
        if value is None:
            continue
        if key not in KEYS:
            problems.append(f"--set {key}: unknown; {suggest(key, KEYS)}")
            continue
        is_set = "." in key or key in STREAM or key in OWN or key.startswith(("redis_", "kafka_", "api_"))
        flag = FLAGS.get(key) or (f"--set {key}" if is_set else "--" + key.replace("_", "-"))
        raw[key] = Setting(value, flag, Layer.FLAG, Path())
    return raw


def variable_name(key: str) -> str:
    """The environment variable of a setting."""
    return "GATE_" + key.replace(".", "_").upper()


# Values


def _path(key: str, setting: Setting, problems: list[str]) -> Path | None:
    if key == "index" and (setting.value == MEMORY or is_redis_url(str(setting.value))):
        return None
    if not isinstance(setting.value, str | Path) or not str(setting.value) or "\0" in str(setting.value):
        problems.append(f"{key} ({setting.source}): {quote(setting.value)} is not allowed; give the path of a file")
        return None
    try:
        return setting.folder / Path(setting.value).expanduser()
    except RuntimeError:
        problems.append(
            f"{key} ({setting.source}): {quote(setting.value)} names the home of an unknown user; give a full path"
        )
        return None


class _SecretValue(NamedTuple):
    value: bytes
    source: str


def _secret(
    name: str,
    environ: Mapping[str, str],
    raw: Mapping[str, Setting],
    paths: Mapping[str, Path | None],
    problems: list[str],
) -> _SecretValue:
    """Read a secret. The higher layer wins; two on one layer are a mistake."""
    variable, key = variable_name(name), f"{name}_file"
    inline = environ.get(variable, "")
    file, path = raw.get(key), paths.get(key)
    if inline and file is not None and file.layer is Layer.ENVIRONMENT:
        problems.append(f"{variable} (environment): {variable}_FILE is set too; set one of them")
    if inline and (file is None or file.layer is Layer.FILE):
        return _SecretValue(inline.encode("utf-8", "surrogateescape"), variable)
    if file is None or path is None:
        return _SecretValue(b"", "default")
    before = len(problems)
    secret = read_bytes(path, f"{key} ({file.source})", problems).rstrip(b"\r\n")
    if not secret and len(problems) == before:
        problems.append(f"{key} ({file.source}): {path} is empty; put the secret in its first line")
    return _SecretValue(secret, file.source)
