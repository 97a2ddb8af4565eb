"""The tree of errors; each class carries the policy of whoever catches it.

    GateError
    ├── ConfigError        exit before any input or output; every problem at once
    ├── BadDocument        dead-letter this one document and go on
    └── Unavailable        pause, back off, try again: nothing was decided
        └── Stale          the index changed underneath: claim the batch again, at once

Anything else that is raised is a bug: crash, with the input unacknowledged.
Messages name the place and the remedy and never quote a document's text.
"""

from __future__ import annotations


class GateError(Exception):
    """The root: `code` is a stable word for machines, `retriable` says whether trying again may help."""

    code = "error"
    retriable = False


class ConfigError(GateError):
    """A setting, a profile or an index that this process cannot work with."""

    code = "config"

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class BadDocument(GateError):
    """One document cannot be judged; `code` is the reason that its dead letter carries."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Unavailable(GateError):
    """The index or the stream does not answer now."""

    code = "unavailable"
    retriable = True


class Stale(Unavailable):
    """What was read of the index is no longer what it is: begin again."""

    code = "stale"
