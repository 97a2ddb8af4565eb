"""Settings of the service: where it listens, who may use it, and what one request and all together may take."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

DEFAULT_PORT = 8400


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How the service is run. Every limit answers with a problem that names it."""

    host: str = "127.0.0.1"
    port: int | None = None  # None: not served by `gate run`; `gate serve` takes DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()  # host names that clients may use, beside those of the loopback address
    tokens_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    max_body_bytes: int = 32 * 2**20  # a check-in of 5 million characters fits, however JSON escapes them
    max_documents: int = 1000  # of one request: its answer comes at once, and batches of others wait behind it
    max_compare_chars: int = 1_000_000  # of the texts that one request compares: passages take a second for so many
    extract_processes: int = 2  # that read uploaded files; one takes some 60 MB while there is work for it
    max_requests: int = 512  # in progress
    max_client_requests: int = 256  # in progress of one token, or of one address where there is none
    max_pending_bytes: int = 256 * 2**20  # of the bodies of all requests in progress
    max_connections: int = 2048
    catalogue_documents: int = 200_000  # that can be searched and listed; some 400 bytes of memory each
    feed_verdicts: int = 2000  # the latest ones that are kept in memory to be shown
    receive_seconds: float = 20.0  # for the body of a request to arrive
    answer_seconds: float = 30.0  # until a request that is not answered gets 503

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
