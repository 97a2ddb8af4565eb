"""Corpora in files: documents as objects of JSON Lines, and what is known of them beside.

A set is a folder with `docs.jsonl`, an object a line with at least `id` (or `document_id`) and `text`, and label files,
`*.tsv` with a line of column names:

    a  b  [jaccard_w3]     two documents that are alike, and how much (more columns may follow)
    id  group              documents that are equal to one of them
    id  cluster            versions of one work
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from gate.errors import ConfigError
from gate.lab.truth import Corpus, PairLabel

DOCUMENTS = "docs.jsonl"


class _Line(msgspec.Struct):
    text: str
    id: str | int | None = None
    document_id: str | None = None


def is_corpus_folder(folder: Path) -> bool:
    return (folder / DOCUMENTS).is_file()


def read_folder(folder: Path) -> Corpus:
    """A set with all its labels."""
    documents = read_json_lines(folder / DOCUMENTS, name=folder.name)
    return add_labels(documents, sorted(folder.glob("*.tsv")))


def read_json_lines(path: Path, *, name: str) -> Corpus:
    """The documents of a file, one object a line."""
    decoder = msgspec.json.Decoder(_Line)
    ids: list[str] = []
    texts: list[str] = []
    for number, line in enumerate(iterate_lines(path), 1):
        if not line.strip():
            continue
        try:
            document = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise ConfigError(f"{path}, line {number}: give an object with `id` and `text`") from exc
        found = document.id if document.id is not None else document.document_id
        if found is None:
            raise ConfigError(f"{path}, line {number}: has no `id`; give every document one")
        ids.append(str(found))
        texts.append(document.text)
    return require_unique_ids(Corpus(name, ids, texts), str(path))


def require_unique_ids(documents: Corpus, where: str) -> Corpus:
    """The same documents, if each has an id of its own."""
    if len(set(documents.ids)) < len(documents.ids):
        raise ConfigError(f"{where}: an id is given twice; every document needs one of its own")
    return documents


def iterate_lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as lines:
            yield next(lines, b"").removeprefix(codecs.BOM_UTF8)
            yield from lines
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc


def add_labels(documents: Corpus, paths: Iterable[Path]) -> Corpus:
    """The documents with what label files say of them."""
    labels: list[PairLabel] = []
    clusters: dict[str, str] = {}
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as exc:
            raise ConfigError(f"{path}: is not UTF-8 at byte {exc.start}; re-encode it as UTF-8") from exc
        except OSError as exc:
            raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
        header, *rows = [line.split("\t") for line in lines] or [[""]]
        if any(len(row) != len(header) for row in rows):
            number = next(n for n, row in enumerate(rows, 2) if len(row) != len(header))
            raise ConfigError(f"{path}, line {number}: has not the {len(header)} columns of the first line")
        if header[:2] == ["a", "b"]:
            labels += _pairs(path, header, rows)
        elif header == ["id", "group"]:
            labels += [PairLabel(row[0], row[1], 1.0) for row in rows if row[0] != row[1]]
        elif header == ["id", "cluster"]:
            clusters |= {row[0]: row[1] for row in rows}
        else:
            raise ConfigError(
                f"{path}: labels have the columns a and b (and jaccard_w3), id and group, or id and cluster, "
                "separated by tabs and named in the first line"
            )
    return replace(documents, labels=labels, clusters=clusters)


def _pairs(path: Path, header: list[str], rows: list[list[str]]) -> Iterator[PairLabel]:
    column = header.index("jaccard_w3") if "jaccard_w3" in header else None
    for number, row in enumerate(rows, 2):
        try:
            jaccard = None if column is None else float(row[column])
        except ValueError as exc:
            raise ConfigError(f"{path}, line {number}: jaccard_w3 is not a number") from exc
        if jaccard is not None and not 0.0 <= jaccard <= 1.0:
            raise ConfigError(f"{path}, line {number}: jaccard_w3 is not between 0 and 1")
        yield PairLabel(row[0], row[1], jaccard)
