"""A near-duplicate check-in gate: is there something like this document already, and which of the two was first?

    from gate import CheckIn, Gate

    with Gate(index="documents.sqlite") as gate:
        for verdict in gate.check_in([CheckIn(document_id="a", text="...")]):
            print(verdict.document_id, verdict.relation, [match.document_id for match in verdict.matches])

`Gate` says what it can do; `AsyncGate` does the same for coroutines.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gate.api import Gate, RefusedDocument
    from gate.async_api import AsyncGate
    from gate.core.builtin_profiles import BUILT_IN
    from gate.core.compare import Comparison
    from gate.core.method_parameters import BswN, Hybrid, MinHash, MinN, ModN, SimHash, SimilarityIndex, SketchN
    from gate.core.passages import Passage
    from gate.core.profile import Profile
    from gate.errors import (
        BadDocument,
        ConfigError,
        GateError,
        IndexLost,
        NoIndex,
        NotReplicated,
        Unavailable,
        UnknownDocument,
        UsageError,
    )
    from gate.limits import Limits
    from gate.model import CheckIn, Degraded, LookUpResult, Match, Relation, Subject, Verdict

__version__ = "0.1.0"

__all__ = [
    "BUILT_IN",
    "AsyncGate",
    "BadDocument",
    "BswN",
    "CheckIn",
    "Comparison",
    "ConfigError",
    "Degraded",
    "Gate",
    "GateError",
    "Hybrid",
    "IndexLost",
    "Limits",
    "LookUpResult",
    "Match",
    "MinHash",
    "MinN",
    "ModN",
    "NoIndex",
    "NotReplicated",
    "Passage",
    "Profile",
    "RefusedDocument",
    "Relation",
    "SimHash",
    "SimilarityIndex",
    "SketchN",
    "Subject",
    "Unavailable",
    "UnknownDocument",
    "UsageError",
    "Verdict",
]

# What a name is imported from when it is first used: `gate --version` and shell completion start without numpy.
_HOMES = {
    "gate.api": ("Gate", "RefusedDocument"),
    "gate.async_api": ("AsyncGate",),
    "gate.core.builtin_profiles": ("BUILT_IN",),
    "gate.core.compare": ("Comparison",),
    "gate.core.method_parameters": (
        "BswN",
        "Hybrid",
        "MinHash",
        "MinN",
        "ModN",
        "SimHash",
        "SimilarityIndex",
        "SketchN",
    ),
    "gate.core.passages": ("Passage",),
    "gate.core.profile": ("Profile",),
    "gate.errors": (
        "BadDocument",
        "ConfigError",
        "GateError",
        "IndexLost",
        "NoIndex",
        "NotReplicated",
        "Unavailable",
        "UnknownDocument",
        "UsageError",
    ),
    "gate.limits": ("Limits",),
    "gate.model": ("CheckIn", "Degraded", "LookUpResult", "Match", "Relation", "Subject", "Verdict"),
}

if not TYPE_CHECKING:  # a type checker reads the imports above, and knows a name that is not there

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names:
                value = getattr(import_module(module), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
