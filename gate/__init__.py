"""A near-duplicate check-in gate: is there something like this document already, and which of the two was first?

    from gate import CheckIn, Gate

    with Gate(index="documents.sqlite") as gate:
        for verdict in gate.check_in([CheckIn(document_id="a", text="...")]):
            print(verdict.document_id, verdict.relation, [match.document_id for match in verdict.matches])

`Gate` says what it can do.
"""

from gate.api import Comparison, Gate, Refused
from gate.core.builtin_profiles import BUILT_IN
from gate.core.passages import Passage
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError, GateError, Unavailable
from gate.limits import Limits
from gate.model import CheckIn, Degraded, Match, Relation, Verdict

__version__ = "0.1.0"

__all__ = [
    "BUILT_IN",
    "BadDocument",
    "CheckIn",
    "Comparison",
    "ConfigError",
    "Degraded",
    "Gate",
    "GateError",
    "Limits",
    "Match",
    "Passage",
    "Profile",
    "Refused",
    "Relation",
    "Unavailable",
    "Verdict",
]
