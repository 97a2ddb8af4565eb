"""What an installation consists of: licences that all can accept, and a wheel that is the same wherever it is built."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import PackageMetadata, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
EXTRAS = ("files", "lab", "parquet")
PERMISSIVE = re.compile(
    r"\b(MIT|MIT-CMU|Apache|BSD|0BSD|ISC|PSF|Python Software Foundation|Zlib|CC0|MPL|Unlicense|HPND)\b", re.IGNORECASE
)
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|SSPL|EUPL|CeCILL|Affero|General Public)", re.IGNORECASE)


def installed_with_the_gate(*extras: str) -> dict[str, PackageMetadata]:
    """All packages that an installation with these extras brings."""
    extras_of: dict[str, frozenset[str]] = {}
    wanted = [("checkin-gate", frozenset(extras))]
    while wanted:
        name, asked = wanted.pop()
        if asked <= extras_of.get(name, frozenset()) and name in extras_of:
            continue
        extras_of[name] = asked | extras_of.get(name, frozenset())
        for requirement in map(Requirement, distribution(name).requires or []):
            environments = [{"extra": extra} for extra in asked] or [{"extra": ""}]
            if requirement.marker is None or any(map(requirement.marker.evaluate, environments)):
                wanted.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return {name: distribution(name).metadata for name in extras_of}


def licence_of(package: PackageMetadata) -> str:
    expressions = package.get_all("License-Expression") or package.get_all("License") or []
    classifiers = [line for line in package.get_all("Classifier") or [] if line.startswith("License ::")]
    return "; ".join([*(expression[:200] for expression in expressions), *classifiers])  # some give the whole text


@pytest.mark.parametrize("name", sorted(installed_with_the_gate(*EXTRAS)))
def test_a_dependency_may_be_used_by_anybody(name: str) -> None:
    licence = licence_of(distribution(name).metadata)
    assert PERMISSIVE.search(licence), f"{name}: {licence or 'no licence'}"
    assert not COPYLEFT.search(licence), f"{name}: {licence}"


def test_an_extra_is_followed_to_the_dependencies_of_its_dependencies() -> None:
    assert {"numpy", "hiredis", "mdurl"} <= installed_with_the_gate().keys()
    assert "pyarrow" not in installed_with_the_gate()
    assert {"pyarrow", "pillow"} <= installed_with_the_gate(*EXTRAS).keys()


@pytest.mark.slow
def test_the_package_is_the_same_to_the_byte_wherever_it_is_built(tmp_path: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    digests = []
    for folder in tmp_path / "one", tmp_path / "another" / "place":
        for name in tracked.decode().rstrip("\0").split("\0"):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", "dist"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=100)
        digests.append({path.name: sha256(path.read_bytes()).hexdigest() for path in (folder / "dist").iterdir()})
    assert digests[0] == digests[1]
    assert [Path(name).suffix for name in digests[0]] == [".whl"]
