"""The tree of errors; each class says what its handler does.

    GateError
    ├── ConfigError        exit before any input or output; every problem at once
    │   └── NoIndex        there is no index, and none was to be created
    ├── UsageError         correct the call: an argument is wrong, or the gate is closed (a ValueError too)
    ├── UnknownDocument    no document of that id was checked in (a LookupError too)
    ├── BadDocument        dead-letter this one document and go on
    └── Unavailable        pause, back off, retry: nothing was decided
        ├── Stale          the index changed meanwhile: claim the batch again, at once
        ├── NotReplicated  too few replicas have what was written: claim the batch again until they do
        └── IndexLost      the index, or a part of it, is gone: judge nothing until its data is restored

Anything else that is raised is a bug: crash, with the input unacknowledged.
Messages name the place and the remedy and never quote a document's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

# Why a document or a message cannot be judged. The set is closed: dead letters, metrics and their readers know it.
Reason = Literal[
    "bad_compression",
    "bad_encoding",
    "bad_field",
    "bad_json",
    "bad_key",
    "bad_text",
    "bad_utf8",
    "binary",
    "binary_content",
    "bomb",
    "damaged",
    "encrypted",
    "index_unavailable",
    "missing_field",
    "no_content",
    "no_text",
    "not_installed",
    "not_json_lines",
    "other_profile",
    "too_costly",
    "too_large",
    "too_large_to_answer",
    "too_large_to_route",
    "unreadable",
    "unreadable_content",
    "unreadable_record",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
# Why a file has no text that can be judged: it is compared by its bytes then. Indexes store the place of a reason in
# this list, so new ones are only added at its end.
UnreadableReason = Literal[
    "no_text",
    "binary",
    "encrypted",
    "damaged",
    "bomb",
    "too_costly",
    "too_large",
    "bad_encoding",
    "bad_compression",
    "not_installed",
]
UNREADABLE_REASONS: tuple[UnreadableReason, ...] = get_args(UnreadableReason)


class GateError(Exception):
    """The root: `code` is a stable word for programs, `retriable` says whether a retry may help."""

    code: str = "error"
    retriable = False


class ConfigError(GateError):
    """A setting, a profile or an index that this process cannot work with."""

    code = "config"

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class NoIndex(ConfigError):
    """There is no index, where one is needed."""

    code = "no_index"


class UsageError(GateError, ValueError):
    """A call of the library that is wrong by itself, whatever the documents are."""

    code = "usage"


class UnknownDocument(GateError, LookupError):
    """No document of that id was checked in."""

    code = "unknown_document"

    def __init__(self, document_id: str) -> None:
        super().__init__(f"document_id: {document_id!r} is not known; give the id of a document that was checked in")
        self.document_id = document_id


class BadDocument(GateError):
    """One document cannot be judged; `code` is the reason that its dead letter carries."""

    code: Reason

    def __init__(self, code: Reason, message: str) -> None:
        super().__init__(message)
        self.code = code


class Unavailable(GateError):
    """The index or the stream does not answer now."""

    code = "unavailable"
    retriable = True


class Stale(Unavailable):
    """The index changed since it was read: retry the batch at once."""

    code = "stale"


class NotReplicated(Unavailable):
    """What verdicts rest on is written, but a failover might lose it: too few replicas have acknowledged it in time."""

    code = "not_replicated"


class IndexLost(Unavailable):
    """The index was there and is gone: all of it, some of its shards, or another one is in its place.

    To judge on what is there would let copies of accepted documents pass. `missing` names the shards that are gone,
    `shards` says how many there should be.
    """

    code = "index_lost"

    def __init__(self, message: str, *, missing: Sequence[str] = (), shards: int = 0) -> None:
        super().__init__(message)
        self.missing = tuple(missing)
        self.shards = shards
