"""The index in Redis keeps the contract of every backend, on one server and on a Cluster."""

from __future__ import annotations

from tests.index.store_contract import StoreContract


class TestRedisStore(StoreContract):
    """One server and a Cluster of three masters keep the contract of every backend."""
