"""The reference of the settings: of each its description, type, default, variable and flag.

`DESCRIPTIONS` is the one place where a setting is described: `gate config`, shell completion and the page about
settings take it from here. Types and defaults come from the code that checks them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

DESCRIPTIONS: dict[str, str] = {
    "profile": "How documents are signed and compared: the name of a profile, a .toml file, or a table in gate.toml.",
    "profiles_file": "A TOML file with several profiles, each a table.",
    "index": "Where the index is kept: memory, the path of a SQLite file, or the URL of a Redis server.",
    "sign_threads": "Threads that sign the documents of a batch, in each process; they pay with the compiled kernel.",
    "keep_details": "Keep title, source, URI, size, MIME type, time and metadata of documents in the index.",
    "dead_letters": "The file to which `gate run` appends messages that cannot be judged.",
    "content_root": "The only folder that `content_uri` may point into.",
    "stop_words_file": "Stop words, one per line, for a profile that drops them.",
    "secret": "A key for the hash functions, so that an attacker cannot construct texts that collide.",
    "secret_file": "A file with the secret.",
    "redis_username": "The user name for Redis, where it is not part of the URL.",
    "redis_password": "The password for Redis.",
    "redis_password_file": "A file with the password for Redis.",
    "redis_sentinel_username": "The user name for the Sentinels, where they ask for one.",
    "redis_sentinel_password": "The password for the Sentinels.",
    "redis_sentinel_password_file": "A file with the password for the Sentinels.",
    "redis_ca_file": "The certificates to trust, for rediss:// URLs.",
    "redis_timeout_seconds": "How long to wait for one answer of Redis.",
    "redis_connections": "The largest number of connections of one process to each Redis server.",
    "redis_window_days": "How long documents are kept: for one to two windows of so many days.",
    "redis_wait_replicas": "Replicas that must have what a verdict rests on before it is given; 0: none.",
    "redis_wait_timeout_seconds": "How long to wait for them; then the index is unavailable, and the batch is retried.",
    "redis_allow_eviction": "Accept a Redis server whose settings allow it to drop keys, and so parts of the index.",
    "kafka_brokers": "The brokers as host:port, separated by commas; with them `gate run` works on topics.",
    "kafka_group": "The consumer group.",
    "kafka_client_id": "The client id in the logs of the brokers.",
    "kafka_topics": "The topics of check-ins, separated by commas.",
    "kafka_verdict_topic": "The topic that verdicts are sent to.",
    "kafka_dead_letter_topic": "The topic that messages are sent to that cannot be judged.",
    "kafka_accepted_topic": "The topic that documents are sent to that pass.",
    "kafka_quarantine_topic": "The topic that documents are sent to that are similar to a known one.",
    "kafka_security": "The security protocol of the brokers.",
    "kafka_sasl_mechanism": "The SASL mechanism, where the security protocol has one.",
    "kafka_username": "The user name for the brokers.",
    "kafka_password": "The password for the brokers.",
    "kafka_password_file": "A file with the password for the brokers.",
    "kafka_ca_file": "The certificates to trust, for TLS.",
    "kafka_cert_file": "The client certificate, for brokers that ask for one.",
    "kafka_key_file": "The key of the client certificate.",
    "kafka_key_password": "The password of the key of the client certificate.",
    "kafka_key_password_file": "A file with the password of the key of the client certificate.",
    "kafka_group_instance_id": "A name that `gate run` keeps over restarts: its workers are static members.",
    "kafka_session_timeout_seconds": "After so long without a heartbeat a worker loses its partitions.",
    "kafka_request_timeout_seconds": "How long to wait for one answer of a broker.",
    "kafka_max_record_bytes": "The size of the largest record that is sent.",
    "kafka_fetch_bytes": "The size of the largest answer to one fetch.",
    "kafka_unpacked_bytes": "The size that a compressed batch of records may decompress to.",
    "delivery": "The delivery guarantee on topics.",
    "on_index_unavailable": "While the index is unavailable: wait, or let documents pass unchecked and marked so.",
    "on_lost_records": "After records were deleted before they were read: continue behind them, or stop.",
    "batch_bytes": "The size of a batch of records; a larger record is a batch of its own.",
    "trace_header_bytes": "The size of the trace headers that a verdict carries on; what does not fit is left out.",
    "drain_seconds": "How long a worker that is stopped may take to finish its batches in flight.",
    "workers": "The number of worker processes.",
    "http_host": "The address on which health and metrics are served.",
    "http_port": "The port on which /healthz, /readyz and /metrics are served.",
    "http_max_connections": "How many connections to that port are open at once; a further one closes the oldest.",
    "api_host": "The address on which the HTTP service listens.",
    "api_port": "The port on which it listens; unless it is set, `gate serve` takes 8400, and `gate run` serves none.",
    "api_allowed_hosts": "Further names that clients may call the service by, separated by commas.",
    "api_tokens_file": "The tokens that the service accepts; needed unless only this machine can connect.",
    "api_cert_file": "The certificate of the service, for TLS.",
    "api_key_file": "The key of its certificate, where that is in another file.",
    "api_max_body_bytes": "The size of the largest body of a request.",
    "api_max_documents": "How many documents one request may check in.",
    "api_max_compare_chars": "The length of two texts that are compared, together.",
    "api_extract_processes": "How many processes read uploaded files, in each process of the service.",
    "api_max_requests": "How many requests are in progress at once.",
    "api_max_client_requests": "How many of them may be of one token, or of one address where there is none.",
    "api_max_pending_bytes": "The size of the bodies of all requests in progress.",
    "api_max_connections": "How many connections are open at once; a further one closes one that is idle.",
    "api_catalogue_documents": "How many documents can be listed and searched; each takes some 400 bytes of memory.",
    "api_feed_verdicts": "How many of the latest verdicts are kept in memory, to be shown as they come.",
    "api_receive_seconds": "How long the body of a request may take to arrive.",
    "api_answer_seconds": "How long a request may take to be answered.",
    "log_level": "The lowest level of log events that are written.",
    "log_format": "The format of log events; auto is console on a terminal, and JSON lines elsewhere.",
    "limits.max_document_chars": "The length of the longest document; a longer one is refused.",
    "limits.max_features": "How many features of one document are signed.",
    "limits.max_matches": "How many matches a verdict names.",
    "limits.max_candidates": "How many candidates are compared with one document; eight times as many where a profile "
    "looks for parts.",
    "limits.max_bucket": "How many postings of one bucket are read.",
    "limits.max_scanned": "How many fingerprints a look-up scans where it allows more bits to differ than buckets do.",
    "limits.max_postings": "How many postings are read for one document, of all its buckets.",
    "limits.on_capped": "A document of which a limit ended the search may pass, is refused, or is quarantined.",
    "limits.batch_documents": "The largest number of documents in a batch.",
    "limits.batch_chars": "The largest number of characters in a batch.",
    "limits.max_title_chars": "How many characters of a title are kept and repeated.",
    "limits.max_source_chars": "How many characters of a source are kept and repeated.",
    "limits.max_uri_chars": "The length of the longest URI of a document that is kept.",
    "limits.max_metadata_bytes": "The size of the largest metadata of a document that is kept.",
    "limits.long_details": "Cut a title, source, URI or metadata over its limit, or refuse the document.",
    "extract.max_file_bytes": "The size of the largest file whose text is extracted; plain text has limits of its own.",
    "extract.max_pages": "How many pages, slides, sheets or chapters a file may have.",
    "extract.max_unpacked_bytes": "How many bytes may be unpacked out of one document.",
    "extract.max_ratio": "How many times its size a document may unpack to; 16 MiB are free.",
    "extract.max_members": "How many files one document may be made of.",
    "extract.max_depth": "How deep the elements of a document may be nested, and parts of a mail.",
    "extract.cpu_seconds": "How much CPU the extraction of one text may take.",
    "extract.wall_seconds": "How long the extraction of one text may take.",
    "extract.memory_bytes": "How much memory the extraction of one text may take.",
    "archive.max_members": "How many files one archive may hold, those of archives in it included.",
    "archive.max_ratio": "How many times its size an archive may unpack to; 64 MiB are free.",
    "archive.max_depth": "How deep archives may be nested in archives, compression included.",
    "archive.max_spooled_bytes": "The largest ZIP or Parquet file in an archive: it goes to a temporary file.",
}

# What a setting means while it is not set.
_UNSET = {
    "dead_letters": "a summary on stderr",
    "content_root": "none: content_uri is refused",
    "stop_words_file": "English stop words",
    "redis_ca_file": "the system's",
    "redis_window_days": "for good",
    "kafka_ca_file": "the system's",
    "http_port": "not served",
    "api_port": "8400",
    "api_allowed_hosts": "none on a loopback address; elsewhere any name will do",
    "api_tokens_file": "no token is needed, on a loopback address only",
    "api_cert_file": "no TLS",
}

# The settings that have an option of their own; `--set KEY=VALUE` takes any.
FLAGS = {
    "profile": "--profile",
    "index": "--index",
    "dead_letters": "--dead-letters",
    "content_root": "--content-root",
    "kafka_brokers": "--kafka",
    "workers": "--workers",
    "http_port": "--http-port",
}


class SettingRow(NamedTuple):
    """One setting. A secret has no flag and no place in a settings file: it comes from its variable or from a file."""

    key: str
    type: str  # in words: "whole number at least 1", "SSL or SASL_SSL"
    default: str  # as it is written in TOML, or in words where it is not set; may be empty
    variable: str
    flag: str | None
    description: str


def describe_settings() -> list[SettingRow]:
    """One row for each setting, in the order of `DESCRIPTIONS`."""
    from gate.config import settings  # here, so that completion of keys needs none of what settings are checked with

    defaults = settings.default_values()
    return [
        SettingRow(
            key=key,
            type=_type_of(key),
            default=_UNSET.get(key, "") if defaults[key] is None else _in_toml(defaults[key]),
            variable=settings.variable_name(key),
            flag=None if key in settings.SECRETS else FLAGS.get(key, "--set"),
            description=description,
        )
        for key, description in DESCRIPTIONS.items()
    ]


def _type_of(key: str) -> str:
    from gate.config import index, service, settings, stream
    from gate.config.sources import describe_type

    kinds: dict[str, Any] = {
        **index.OWN,
        **index.REDIS,
        **stream.KAFKA,
        **stream.WORKER,
        **stream.SERVER,
        **service.SERVICE,
        **{name: field.type for name, field in (settings.LIMITS | settings.EXTRACT).items()},
    }
    if key in kinds and key != "api_allowed_hosts":
        return describe_type(kinds[key]).removeprefix("give a ").removeprefix("give ").removeprefix("choose one of ")
    if key in settings.SECRETS:
        return "secret"
    if key == "api_allowed_hosts":
        return "host names"
    if key in stream.TOPICS:
        return "topic names" if key == "kafka_topics" else "topic name"
    return {"profile": "name, file or table", "index": "path or URL", "content_root": "folder"}.get(key, "file")


def _in_toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
