"""`gate profiles`: every built-in profile in one line."""

from __future__ import annotations

import json

from click.testing import CliRunner

from gate.cli import main
from gate.cli.profile_names import FOR_USE, FROM_PAPERS
from gate.core.builtin_profiles import BUILT_IN


def test_every_built_in_profile_is_listed_once_with_those_for_use_first() -> None:
    assert [*FOR_USE, *FROM_PAPERS] == sorted(BUILT_IN, key=[*FOR_USE, *FROM_PAPERS].index)
    assert set(FOR_USE) | set(FROM_PAPERS) == set(BUILT_IN)
    lines = CliRunner().invoke(main, ["profiles"]).stdout.splitlines()
    names = [line.split()[0] for line in lines if line]
    assert names == ["for", *FOR_USE, "from", *FROM_PAPERS]


def test_programs_get_the_profiles_in_json() -> None:
    rows = [json.loads(line) for line in CliRunner().invoke(main, ["profiles", "--json"]).stdout.splitlines()]
    assert {row["name"]: row["group"] for row in rows} == {
        **dict.fromkeys(FOR_USE, "for use"),
        **dict.fromkeys(FROM_PAPERS, "from the papers"),
    }
    assert all(row["description"] for row in rows)
