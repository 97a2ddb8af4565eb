"""A gate whose index can be made unavailable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gate.api import Gate
from gate.errors import IndexLost, Unavailable
from gate.model import Verdict
from gate.pipeline import SignedBatch


class FlakyGate(Gate):
    """Fails the calls whose turn is listed, counted from 1 over check-ins and deletes together."""

    calls = 0
    checked_in = 0  # batches
    failing_calls: Sequence[int] = ()

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        self._fail_in_turn()
        self.checked_in += 1
        return super().check_in_signed(signed)

    def delete(self, document_ids: Iterable[str]) -> list[bool]:
        self._fail_in_turn()
        return super().delete(document_ids)

    def _fail_in_turn(self) -> None:
        self.calls += 1
        if self.calls in self.failing_calls:
            raise Unavailable("the index is unavailable")


class LosingGate(FlakyGate):
    """Loses its index before the first delete."""

    def delete(self, document_ids: Iterable[str]) -> list[bool]:
        raise IndexLost("the index is gone")
