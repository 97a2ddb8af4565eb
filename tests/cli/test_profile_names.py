"""The names of the built-in profiles, as help and completion know them without the profiles."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gate.cli.profile_names import FOR_USE, FROM_PAPERS
from gate.core.builtin_profiles import BUILT_IN


def test_every_built_in_profile_has_one_line_and_no_other_has() -> None:
    assert sorted([*FOR_USE, *FROM_PAPERS]) == sorted(BUILT_IN)


def test_the_default_profile_is_named_first() -> None:
    assert next(iter(FOR_USE)) == "standard"


@pytest.mark.parametrize("name", FROM_PAPERS)
def test_a_profile_of_a_paper_names_the_paper_and_its_year(name: str) -> None:
    author = FROM_PAPERS[name].partition(" ")[0]
    assert FROM_PAPERS[name].partition(":")[0].split()[-1] in {"2009", "2011", "2013", "2014", "2018"}
    assert author in {"Roth", "Bergillos", "Azgomi", "Cherkasova"}


@pytest.mark.parametrize("text", [*FOR_USE.values(), *FROM_PAPERS.values()])
def test_a_line_fits_beside_the_names_and_ends_without_a_full_stop(text: str) -> None:
    assert len(text) <= 120 - 16
    assert not text.endswith(".")


def test_the_names_are_loaded_without_the_profiles() -> None:
    code = "import sys, gate.cli.profile_names; print(*(name for name in sys.modules if name in ('numpy', 'msgspec')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
