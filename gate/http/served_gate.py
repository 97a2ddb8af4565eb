"""What the service asks of a gate."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from gate.index.scan import ScannableStore
from gate.model import CheckIn, LookUpResult, Verdict

T = TypeVar("T")


class ServedGate(Protocol):
    """What the service asks of a gate; `gate.async_api.AsyncGate` is one."""

    async def check_in(self, documents: Iterable[CheckIn]) -> list[Verdict]: ...

    async def preview(self, documents: Iterable[CheckIn]) -> list[Verdict]: ...

    async def look_up(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> LookUpResult: ...

    async def explain(self, document_ids: Iterable[str]) -> list[list[Verdict]]: ...

    async def delete(self, document_ids: Iterable[str]) -> list[bool]: ...

    async def info(self) -> dict[str, int]: ...

    async def with_store(self, work: Callable[[ScannableStore], Coroutine[Any, Any, T]]) -> T: ...
