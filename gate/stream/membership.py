"""Membership of a worker in its consumer group, and what a static one needs that the library leaves out.

    dynamic   a worker that comes back is a new member; the group waits for the session of the old one to end, and
              until then nobody works
    static    it has an instance id, comes back as the same member within its session, and the group does not notice

Two running workers with one instance id would take the membership from each other at every heartbeat, and commit
nothing. The library does not notice: the broker says only that it does not know the member.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gate.errors import ConfigError
from gate.stream.settings import KafkaSettings

HEARTBEAT_SECONDS = 1.0  # how soon a member notices a rebalance; until it does, the others wait for it
HEARTBEATS_PER_SESSION = 5  # at least
TAKEOVERS = 3  # of its membership within one session: one that ends by itself lasts longer than a session


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceId:
    """The name of a static member. One that no later process has is given up when its worker is stopped."""

    name: str
    is_reused: bool  # after a stop, by the worker that replaces this one

    @classmethod
    def of(cls, kafka: KafkaSettings, *, worker: int, run_id: str | None) -> InstanceId | None:
        """That of a worker with this number; None: a dynamic member. `run_id` names a run of several workers, which
        restarts those that end."""
        if kafka.group_instance_id is not None:
            return cls(name=f"{kafka.group_instance_id}-{worker}", is_reused=True)
        return None if run_id is None else cls(name=f"{run_id}-{worker}", is_reused=False)


def heartbeat_seconds(session_seconds: float) -> float:
    return min(HEARTBEAT_SECONDS, session_seconds / HEARTBEATS_PER_SESSION)


class Membership:
    """The membership of one consumer, from its first assignment until it is stopped."""

    def __init__(
        self,
        kafka: KafkaSettings,
        consumer: Any,
        instance: InstanceId | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kafka = kafka
        self._consumer = consumer
        self._instance = instance
        self._clock = clock
        self._has_joined = False
        self._taken_at: deque[float] = deque(maxlen=TAKEOVERS)

    def record_assigned(self) -> None:
        self._has_joined = True

    def record_revoked(self) -> None:
        """A member that joins a rebalance keeps its id; one that the broker does not know has none any more."""
        if self._instance is not None and self._has_joined and not self._consumer._coordinator.member_id:
            self._taken_at.append(self._clock())
            if self._has_twin():
                self._give_up_instance()  # the library joins once more, which must not take the membership back

    def require_own(self) -> None:
        """ConfigError: another worker has the same instance id, and took over the membership."""
        if self._instance is not None and self._has_twin():
            raise ConfigError(
                f"kafka_group_instance_id: another worker of the group {self._kafka.group} is {self._instance.name} "
                "too: give each `gate run` an id of its own, as the name of its pod"
            )

    def leave(self) -> None:
        """Have the consumer leave the group when it is stopped. The library leaves only as a dynamic member: a static
        one is expected back."""
        if self._instance is not None and not self._instance.is_reused:
            self._give_up_instance()

    def _has_twin(self) -> bool:
        taken = self._taken_at
        return len(taken) == TAKEOVERS and taken[-1] - taken[0] < self._kafka.session_timeout_seconds

    def _give_up_instance(self) -> None:
        """Be a dynamic member from now on."""
        self._consumer._coordinator._group_instance_id = None
