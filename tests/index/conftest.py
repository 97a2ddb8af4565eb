"""What the tests of all index backends share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def run() -> Iterator[Callable[..., Any]]:
    """Run a coroutine to its end, in one event loop for the whole test."""
    with asyncio.Runner() as runner:
        yield runner.run
