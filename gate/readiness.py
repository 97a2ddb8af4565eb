"""Whether a worker can process check-ins, and if not, why: what /readyz reports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping


class Readiness:
    """The parts of a worker (consumer, index, broker), each ready or with the reason why it is not. Thread-safe;
    `on_change` is called with all reasons after every change."""

    REQUIRED = "consumer"  # a worker that has not reported it yet has no partitions, and is not ready

    def __init__(self, on_change: Callable[[Mapping[str, str]], None] | None = None) -> None:
        self._lock = threading.RLock()  # held during `on_change`, so that changes are reported in their order
        self._reasons: dict[str, str | None] = {self.REQUIRED: "starting"}
        self._on_change = on_change

    def set(self, part: str, reason: str | None) -> None:
        """Report a part: `reason` says why it is not ready; None: it is."""
        with self._lock:
            is_same = part in self._reasons and self._reasons[part] == reason
            self._reasons[part] = reason
            if not is_same and self._on_change is not None:
                self._on_change(self.reasons())

    def reasons(self) -> dict[str, str]:
        """Why parts are not ready, by part; empty when the worker is ready."""
        with self._lock:
            return {part: reason for part, reason in self._reasons.items() if reason is not None}

    @property
    def ready(self) -> bool:
        return not self.reasons()
