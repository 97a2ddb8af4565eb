"""Settings of the HTTP service: address, tokens, TLS, and what requests may take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from gate.config.sources import Setting, convert_setting, quote
from gate.http.settings import ServiceSettings

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]

SERVICE: dict[str, Any] = {
    "api_host": Annotated[str, Meta(min_length=1, max_length=255)],
    "api_port": Annotated[int, Meta(ge=0, le=65535)],
    "api_allowed_hosts": str,
    "api_max_body_bytes": Count,
    "api_max_documents": Count,
    "api_max_compare_chars": Count,
    "api_extract_processes": Count,
    "api_max_requests": Count,
    "api_max_client_requests": Count,
    "api_max_pending_bytes": Count,
    "api_max_connections": Annotated[int, Meta(ge=4)],
    "api_catalogue_documents": Count,
    "api_feed_verdicts": Annotated[int, Meta(ge=1, le=100_000)],
    "api_receive_seconds": Seconds,
    "api_answer_seconds": Seconds,
}
SERVICE_FILES = ("api_tokens_file", "api_cert_file", "api_key_file")

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


def load_service_settings(
    raw: Mapping[str, Setting], paths: Mapping[str, Path | None], problems: list[str]
) -> ServiceSettings:
    values = {key: convert_setting(key, raw[key], kind, problems) for key, kind in SERVICE.items() if key in raw}
    fields = {_field(key): value for key, value in values.items() if value is not None}
    if "allowed_hosts" in fields:
        names = [name.strip() for name in str(fields["allowed_hosts"]).split(",")]
        for name in names:
            if not _HOST.fullmatch(name):
                source = raw["api_allowed_hosts"].source
                problems.append(
                    f"api_allowed_hosts ({source}): {quote(name)} is not the name of a host; give names without ports, "
                    "several separated by commas"
                )
        fields["allowed_hosts"] = tuple(names)
    fields |= {_field(key): str(path) for key in SERVICE_FILES if (path := paths.get(key)) is not None}
    settings = ServiceSettings(**fields)
    if settings.key_file and not settings.cert_file:
        problems.append(f"api_key_file ({raw['api_key_file'].source}): is not used without an api_cert_file; name both")
    return settings


def _field(key: str) -> str:
    return key.removeprefix("api_")


def effective_service_values(settings: ServiceSettings) -> dict[str, object]:
    """The value in force of every key of `SERVICE`."""
    values: dict[str, object] = {key: getattr(settings, _field(key)) for key in SERVICE}
    return values | {"api_allowed_hosts": ",".join(settings.allowed_hosts) or None}
