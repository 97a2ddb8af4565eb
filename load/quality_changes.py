"""What `standard`, `containment` and `scans` find of copies, by what was done to them, and across file formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import permutations
from textwrap import wrap

import numpy as np

from gate.core.judge import verify
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ExtractedText
from gate.lab.experiment import Proportion
from gate.lab.scores import sign
from gate.lab.truth import Corpus
from gate.lab.tune_changes import built_in, change_copies, changes_table, measure_changes
from load.quality_sweep import StepTimer
from load.quality_tables import Row, ScoreTable
from tests.extract.office_samples import docx_of, pdf

SAVED = 50  # documents of a set that are saved in each format
COLUMNS, LINES = 95, 64  # of a page of the PDF


def change_tables(sets: Sequence[Corpus], timer: StepTimer, *, seed: int = 1) -> list[ScoreTable]:
    tables = []
    for documents in sets:
        rng = np.random.default_rng(seed)
        with timer(f"{documents.name}: copies"):
            changed = change_copies(documents, rng)
        found = {}
        for profile in built_in():
            with timer(f"{documents.name}: {profile.ref}"):
                found[profile.ref] = measure_changes(changed, profile)
        copied, works = len(changed.copied), len(changed.originals)
        title = f"{documents.name}: copies of {copied} documents, found among {works}"
        tables.append(ScoreTable(title, [dict(row) for row in changes_table(found).rows]))
        with timer(f"{documents.name}: formats"):
            texts = [changed.originals.texts[i] for i in changed.copied[:SAVED].tolist()]
            tables.append(format_table(documents.name, texts))
    return tables


def html_of(text: str) -> bytes:
    body = "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n"))
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("Home", "Archive", "About", "Contact"))
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>Archive</title></head><body><nav><ul>{menu}</ul></nav>"
        f"<main><article>{body}</article></main><footer>All rights reserved.</footer></body></html>"
    ).encode()


def pdf_of(text: str) -> bytes:
    lines = [line for part in text.splitlines() for line in (wrap(part, COLUMNS) or [""])]
    pages = ["\n".join(lines[begin : begin + LINES]) for begin in range(0, len(lines), LINES)]
    return pdf([page.encode("cp1252", "replace").decode("cp1252") for page in pages])


FORMATS: Mapping[str, Callable[[str], bytes]] = {
    "TXT": str.encode,
    "HTML": html_of,
    "DOCX": docx_of,
    "PDF": pdf_of,
}


def format_table(name: str, texts: Sequence[str]) -> ScoreTable:
    """Each text in each format, looked up by each other format: how many are alike."""
    read: dict[str, list[str]] = {}
    with ExtractorPool() as pool:
        for kind, save in FORMATS.items():
            results = [pool.submit(save(text)) for text in texts]
            read[kind] = [
                result.text if isinstance(result := future.result(), ExtractedText) else "" for future in results
            ]
    rows: list[Row] = []
    profiles = built_in()
    bodies = {(profile.ref, kind): sign(method_of(profile), own) for profile in profiles for kind, own in read.items()}
    for first, second in permutations(FORMATS, 2):
        if first > second:
            continue
        row: Row = {"saved as": f"{first} and {second}"}
        for profile in profiles:
            row[profile.ref] = alike_share(profile, bodies[profile.ref, first], bodies[profile.ref, second])
        rows.append(row)
    return ScoreTable(f"{name}: the same text in two formats, called alike", rows)


def alike_share(profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Proportion:
    likenesses = verify(method_of(profile), profile, lefts, rights)
    return Proportion(sum(likeness is not None for likeness in likenesses), len(likenesses))
