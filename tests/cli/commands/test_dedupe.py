"""The options of `gate dedupe`."""

from __future__ import annotations

from gate.archive.dedupe_state import KEEP_ORDERS
from gate.cli.commands.dedupe import ORDERS


def test_every_rule_can_be_named() -> None:
    assert set(ORDERS) == set(KEEP_ORDERS)
