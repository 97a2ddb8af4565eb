"""Gates on each kind of index for tests of the tools, and a corpus with something of everything in it."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random

import msgspec
import pytest

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import Profile
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from gate.index.store import EntryRecord
from gate.model import CheckIn

NUMBERS = count()
KINDS = (
    "memory",
    "sqlite",
    pytest.param("redis", marks=pytest.mark.redis),
    pytest.param("cluster", marks=pytest.mark.redis),
)


def server_url(request: pytest.FixtureRequest, kind: str) -> str:
    """The URL of the shared server of a kind, or "" for an embedded index."""
    fixture = {"redis": "shared_redis", "cluster": "shared_redis_cluster"}.get(kind)
    return str(request.getfixturevalue(fixture).url) if fixture else ""


def profile_of(base: str = "standard", **changes: object) -> Profile:
    """A profile with a name of its own, and so an index of its own on any server."""
    return msgspec.structs.replace(BUILT_IN[base], name=f"tools-{next(NUMBERS)}", **changes)


def open_gate(kind: str, url: str, folder: Path, profile: Profile) -> Gate:
    where = {"memory": None, "sqlite": folder / f"{profile.name}.gate"}.get(kind, url)
    return Gate(profile, index=where)


def corpus() -> list[CheckIn]:
    """New ones, near and exact copies, revisions, short and empty ones."""
    lighthouse = [LIGHTHOUSE, LIGHTHOUSE.replace("three summers", "four summers"), LIGHTHOUSE.upper()]
    made = [CheckIn(document_id=f"lighthouse-{n}", text=text) for n, text in enumerate(lighthouse)]
    made += [CheckIn(document_id="bread", text=BREAD, version="1")]
    made += [CheckIn(document_id="bread", text=BREAD + " " + BRIDGE, version="2")]
    made += [CheckIn(document_id="short", text="too few words"), CheckIn(document_id="short-2", text="Too few words")]
    made += [CheckIn(document_id="empty", text=""), CheckIn(document_id="empty-2", text=" ")]
    return made + unrelated_documents(20)


def unrelated_documents(number: int, seed: int = 5) -> list[CheckIn]:
    random = Random(seed)
    words = (LIGHTHOUSE + BREAD + BRIDGE).split()
    return [CheckIn(document_id=f"s{seed}-{n}", text=" ".join(random.choices(words, k=60))) for n in range(number)]


def record_of(gate: Gate, document_id: str) -> EntryRecord:
    """The record of the first content of a document."""
    held = gate.with_store(lambda store: store.documents([document_id]))[0][0]
    [entry] = gate.with_store(lambda store: store.contents([held.content]))
    assert entry is not None
    [record] = gate.with_store(lambda store: store.records([entry]))
    assert record is not None
    return record
