"""How long to wait before each retry: exponential back-off with jitter. Pure: the caller sleeps.

delay     first, 2 * first, 4 * first ... up to the longest
jitter    each delay is shortened by a random share of itself, so that processes which lost a server
          at the same moment do not all retry at the same moment
"""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """The delays of one series of retries. `reset` starts a new series, after a success."""

    def __init__(
        self,
        *,
        first_seconds: float = 0.1,
        longest_seconds: float = 5.0,
        jitter: float = 0.5,  # the largest share of a delay that is taken off
        draw: Callable[[], float] = random.random,  # uniform in [0, 1); it guards no secret
    ) -> None:
        self._first = first_seconds
        self._longest = longest_seconds
        self._jitter = jitter
        self._draw = draw
        self._next = first_seconds

    def next_seconds(self) -> float:
        """The delay before the next retry; every call lengthens the one after it."""
        delay = min(self._next, self._longest)
        self._next = 2 * delay
        return delay * (1.0 - self._jitter * self._draw())

    def reset(self) -> None:
        self._next = self._first
