"""What the service asks of a gate is what the library offers."""

from __future__ import annotations

import inspect

from gate import AsyncGate
from gate.http.served_gate import ServedGate
from gate.serve_main import ServedIndex


def test_the_library_and_the_index_of_a_service_take_the_same_arguments() -> None:
    asked = {name: method for name, method in vars(ServedGate).items() if not name.startswith("_")}
    assert len(asked) == 7
    for name, method in asked.items():
        for offered in (AsyncGate, ServedIndex):
            assert inspect.signature(getattr(offered, name)).parameters == inspect.signature(method).parameters, name
