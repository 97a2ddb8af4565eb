"""A client of the HTTP service, for programs that do not hold an index themselves.

    from gate import CheckIn
    from gate.client import Client

    with Client("http://localhost:8400") as client:
        verdict = client.check_in(CheckIn(document_id="a", text="..."))

`AsyncClient` does the same for coroutines. It needs nothing but the standard library and what the gate needs itself.
"""

from __future__ import annotations

from gate.client.async_client import AsyncClient
from gate.client.client import Client
from gate.client.retries import ResendPolicy, ServiceRefused

__all__ = ["AsyncClient", "Client", "ResendPolicy", "ServiceRefused"]
