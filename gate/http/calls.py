"""What the operations of the service work with: a decoded request, and the parts of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from gate.core.profile import Profile
from gate.http.activity import Activity
from gate.http.catalogue_scan import LiveCatalogue
from gate.http.file_documents import UploadReader
from gate.http.problems import RequestError
from gate.http.served_gate import ServedGate
from gate.http.settings import ServiceSettings
from gate.http.tokens import Token
from gate.limits import Limits
from gate.metrics import WorkerMetrics

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceParts:
    """What a service works with. `gate` raises Unavailable while the index is not open."""

    gate: Callable[[], ServedGate]
    profile: Profile
    secret: bytes = b""
    limits: Limits
    settings: ServiceSettings
    index_kind: str
    not_ready: Callable[[], Mapping[str, str]]
    metrics: WorkerMetrics
    activity: Activity
    catalogue: LiveCatalogue
    files: UploadReader
    process: str  # names this process among those that were and will be
    processes: int = 1
    demo: bool = False
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="gate-http"))

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do work that would hold up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, decoded."""

    path: Mapping[str, str]
    query: Any = None
    body: Any = None
    accept: str = ""
    token: Token | None = None
    hold: Callable[[int], None] = lambda size: None  # count what the request keeps in memory beside its body

    @property
    def document_id(self) -> str:
        """The id in the path; a slash in it is %2F."""
        return self.segment("document_id")

    def segment(self, name: str) -> str:
        """A parameter of the path."""
        try:
            return unquote_to_bytes(self.path[name]).decode()
        except UnicodeDecodeError:
            raise RequestError("bad_path", f"{name}: is not UTF-8; percent-encode its UTF-8", field=name) from None


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is not JSON."""

    body: bytes
    media_type: str
