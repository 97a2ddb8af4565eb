"""The controlled files of `gate lab roth-2013 --write`: written, checked in, and found again as in Table 20."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.text import Text

from gate.api import Gate
from gate.cli import tables
from gate.cli.common import printable
from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import FINGERPRINT_BITS
from gate.errors import ConfigError, Unavailable
from gate.lab.roth_2013_paper import fingerprint_of, similarity_of
from gate.model import CheckIn
from gate.private_files import create_private

PROFILE = BUILT_IN["roth-2013"]


class SimilarFile(msgspec.Struct, frozen=True):
    """A file that was found for a control document; the first of a control document is itself, without a similarity."""

    control: str
    name: str
    fingerprint: str | None
    similarity: float | None
    paper_fingerprint: str | None
    paper_similarity: float | None


def require_empty(folder: Path) -> None:
    """Files of another run would be checked in along with those of this one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as exc:
        raise ConfigError(f"write: {folder} cannot be written: {exc.strerror}") from exc
    if taken:
        raise ConfigError(f"write: {folder} is not empty; give a new folder")


def write(files: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Write the files; they, read again."""
    texts = {}
    for name, text in files.items():
        path = folder / name
        try:
            create_private(path)
            path.write_text(text, encoding="utf-8", newline="")
            texts[name] = path.read_bytes().decode()
        except OSError as exc:
            raise Unavailable(f"{path}: cannot be written: {exc.strerror}") from exc
    return texts


def check_in(texts: Mapping[str, str]) -> list[SimilarFile]:
    """Check all files in under the paper's profile, and ask for what is similar to each control document."""
    found: list[SimilarFile] = []
    with Gate(PROFILE) as gate:
        verdicts = gate.check_in([CheckIn(document_id=name, text=text) for name, text in texts.items()])
        prints = {verdict.document_id: verdict.fingerprint for verdict in verdicts}
        for control in (name for name in texts if _control_of(name, texts) == name):
            found.append(_file(control, control, prints[control], None))
            found += [
                _file(control, match.document_id, prints[match.document_id], match.distance or 0)
                for match in gate.find_similar(document_id=control)
            ]
    return found


def _control_of(name: str, texts: Mapping[str, str]) -> str:
    """The control document that a file is a variant of: its name is the longest that this one begins with."""
    stem = name.removesuffix(".txt")
    begins = [other for other in texts if stem.startswith(other.removesuffix(".txt") + "_")]
    return min(begins, key=len, default=name)


def _file(control: str, name: str, fingerprint: str | None, distance: int | None) -> SimilarFile:
    stem = control.removesuffix(".txt")
    variant = name.removesuffix(".txt").removeprefix(stem).lstrip("_") if name.startswith(stem) else "another"
    theirs, beside = fingerprint_of(control, variant), fingerprint_of(control, "")
    return SimilarFile(
        control=control,
        name=name,
        fingerprint=fingerprint,
        similarity=None if distance is None else 1.0 - distance / FINGERPRINT_BITS,
        paper_fingerprint=None if theirs is None else f"{int(theirs, 2):016x}",
        paper_similarity=similarity_of(theirs, beside) if theirs and beside and distance is not None else None,
    )


def show(found: Sequence[SimilarFile]) -> None:
    """As Table 20 lists them: each control document, how many files are similar to it, and each of these."""
    out = tables.console()
    table = tables.table(out, "file", "fingerprint", "similarity", "paper", "paper: fingerprint")
    counts = {one.control: sum(other.control == one.control for other in found) - 1 for one in found}
    for one in found:
        is_control = one.control == one.name
        name = Text(printable(one.name), style="bold") if is_control else Text(f"  {printable(one.name)}")
        own = f"{counts[one.control]} similar" if is_control else _share(one.similarity)
        table.add_row(
            name, tables.cell(one.fingerprint), own, _share(one.paper_similarity), tables.cell(one.paper_fingerprint)
        )
    out.print(table)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}".rstrip("0").rstrip(".")
