"""The index in memory keeps the contract of every backend."""

from __future__ import annotations

from tests.index.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    """One process."""
