"""A worker stays within the memory that its limits promise, whatever it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from load.peak_memory import KINDS, MemoryLimits, bound_bytes, measure
from tests.support.brokers import KafkaServer

LIMITS = MemoryLimits.scaled(0.1)


@pytest.mark.kafka
@pytest.mark.parametrize(("kinds", "records"), [(["bombs", "padded events"], 30), ([*KINDS][2:], 2)])
def test_the_worst_records_take_no_more_memory_than_the_limits_promise(
    kafka: KafkaServer, tmp_path: Path, kinds: list[str], records: int
) -> None:
    peak, bound = measure(kafka, LIMITS, kinds, tmp_path, records=records), bound_bytes(LIMITS)
    assert peak <= bound, f"{peak / 2**20:.0f} MB of {bound / 2**20:.0f} MB"


def test_the_bound_grows_with_every_limit() -> None:
    whole = bound_bytes(LIMITS)
    for name in ("fetch_bytes", "unpacked_bytes", "max_document_chars", "batch_bytes"):
        larger = {field: getattr(LIMITS, field) for field in LIMITS.__slots__} | {name: 100 * 2**20}
        assert bound_bytes(MemoryLimits(**larger)) > whole
    assert bound_bytes(LIMITS, brokers=3) > whole
