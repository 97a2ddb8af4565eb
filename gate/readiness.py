"""Whether a worker can take work, and if not, why: what /readyz answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping


class Readiness:
    """Whether a worker can take work, and if not, why. Any thread may tell; `changed` hears of every change."""

    NEEDED = "consumer"  # who has not said anything yet has no partitions

    def __init__(self, changed: Callable[[Mapping[str, str]], None] | None = None) -> None:
        self._lock = threading.RLock()  # held while a change is told, so that changes are told in their order
        self._parts: dict[str, str | None] = {self.NEEDED: "starting"}
        self._changed = changed

    def set(self, part: str, reason: str | None) -> None:
        """`reason` says why this part cannot work; None: it can."""
        with self._lock:
            same = part in self._parts and self._parts[part] == reason
            self._parts[part] = reason
            if not same and self._changed is not None:
                self._changed(self.reasons())

    def reasons(self) -> dict[str, str]:
        """By part, why there is no work to be had of it; empty when ready."""
        with self._lock:
            return {part: reason for part, reason in self._parts.items() if reason is not None}

    @property
    def ready(self) -> bool:
        return not self.reasons()
