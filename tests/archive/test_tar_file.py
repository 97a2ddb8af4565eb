"""Tar archives: every regular file is a document, and damage is said."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate.archive.bounds import ArchiveLimits
from gate.archive.files import FileSelection
from gate.archive.parts import ArchivedEvent
from gate.wire import CheckInEvent
from tests.archive.archive_samples import COMPRESS, documents, line, read, rejections, write
from tests.archive.packed_samples import tar_of, zip_of

FILES = {"a.txt": "one text", "b/c.txt": "another text"}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_each_file_is_a_document_named_by_its_path(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"all.tar{suffix}", COMPRESS[suffix](tar_of(FILES)))
    assert documents(path) == FILES


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_kind_of_tar_is_recognised_without_a_suffix(tmp_path: Path, format: int) -> None:
    names = {"a" * 90 + "/" + "b" * 90: "text"}
    assert documents(write(tmp_path / "backup", tar_of(names, format=format))) == names


def test_beside_other_sources_ids_have_the_name_of_the_archive(tmp_path: Path) -> None:
    write(tmp_path / "in" / "all.tar", tar_of(FILES))
    write(tmp_path / "in" / "z.txt", "text")
    assert list(documents(tmp_path / "in")) == ["all.tar/a.txt", "all.tar/b/c.txt", "z.txt"]


def test_archives_in_archives_are_read(tmp_path: Path) -> None:
    inner = tar_of({"deep.txt": "deep"})
    content: dict[str, bytes | str] = {
        "a.tar.gz": COMPRESS[".gz"](inner),
        "b.zip": zip_of({"c.tar": inner}),
        "d.jsonl": line("x") + line("y"),
    }
    assert list(documents(write(tmp_path / "all.tar", tar_of(content)))) == [
        "a.tar.gz/deep.txt",
        "b.zip/c.tar/deep.txt",
        "x",
        "y",
    ]


def test_a_document_has_the_date_of_its_member(tmp_path: Path) -> None:
    [result] = read(write(tmp_path / "all.tar", tar_of({"a": "text"})))
    assert isinstance(result, ArchivedEvent)
    assert isinstance(result.event, CheckInEvent)
    assert result.event.checked_in_at == datetime(2020, 5, 17, 12, tzinfo=UTC)
    assert str(result.origin) == f"{tmp_path}/all.tar/a"


def test_links_and_folders_are_no_documents_and_paths_lead_nowhere(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("pipe", tarfile.FIFOTYPE)):
            header = tarfile.TarInfo(name)
            header.type, header.linkname = kind, "/etc/passwd"
            archive.addfile(header)
        header = tarfile.TarInfo("../../escaped.txt")
        header.size = 4
        archive.addfile(header, io.BytesIO(b"text"))
    before = sorted(tmp_path.rglob("*"))
    assert documents(write(tmp_path / "in" / "all.tar", packed.getvalue())) == {"../../escaped.txt": "text"}
    assert sorted(tmp_path.rglob("*")) == [*before, tmp_path / "in", tmp_path / "in" / "all.tar"]


def test_the_selection_of_files_holds_in_archives_too(tmp_path: Path) -> None:
    path = write(tmp_path / "all.tar", tar_of({"a.txt": "a", "b.md": "b", ".git/c.txt": "c", "old/d.txt": "d"}))
    assert list(documents(path, selection=FileSelection(include=("*.txt",), exclude=("old",)))) == ["a.txt"]
    assert ".git/c.txt" in documents(path, selection=FileSelection(hidden=True))


def test_a_name_that_is_no_unicode_is_escaped(tmp_path: Path) -> None:
    packed = tar_of({"caf\udce9.txt": "text"}, format=tarfile.GNU_FORMAT)
    assert documents(write(tmp_path / "all.tar", packed)) == {"caf\\xe9.txt": "text"}


@pytest.mark.parametrize("cut", [600, 1800, 2100])
def test_an_archive_that_is_cut_off_is_damaged_and_not_short(tmp_path: Path, cut: int) -> None:
    packed = tar_of({"a": "x" * 600, "b": "y" * 600}, format=tarfile.USTAR_FORMAT)
    found = rejections(write(tmp_path / "all.tar", packed[:cut]))
    assert found
    assert {code for code, _ in found} == {"damaged"}


def test_damage_in_the_middle_is_not_taken_for_the_end(tmp_path: Path) -> None:
    packed = bytearray(tar_of({"a": "x", "b": "y", "c": "z"}, format=tarfile.USTAR_FORMAT))
    packed[1024:1034] = b"?" * 10
    results = read(write(tmp_path / "all.tar", bytes(packed)))
    assert [isinstance(one, ArchivedEvent) for one in results] == [True, False]


def test_a_sparse_file_and_an_endless_header_are_refused(tmp_path: Path) -> None:
    for kind, size in ((tarfile.GNUTYPE_SPARSE, 10), (tarfile.XHDTYPE, 1 << 30), (tarfile.GNUTYPE_LONGNAME, 1 << 30)):
        header = tarfile.TarInfo("a")
        header.type, header.size = kind, size
        packed = header.tobuf() + b"0" * 4096
        [(code, _)] = rejections(write(tmp_path / "all.tar", packed))
        assert code == "bomb"


def test_headers_nested_in_headers_are_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 5
    packed = (header.tobuf(tarfile.GNU_FORMAT) + b"name".ljust(512, b"\0")) * 3000
    [(code, _)] = rejections(write(tmp_path / "all.tar", packed))
    assert code in ("bomb", "damaged")


def test_too_many_members_end_the_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "all.tar", tar_of({str(number): "text" for number in range(5)}))
    results = read(path, archive=ArchiveLimits(max_members=3))
    assert [isinstance(one, ArchivedEvent) for one in results] == [True, True, True, False]
    assert rejections(path, archive=ArchiveLimits(max_members=3))[0][0] == "bomb"


def test_archives_nested_too_deep_are_refused_and_what_is_beside_them_is_read(tmp_path: Path) -> None:
    packed = b"text"
    for _ in range(5):
        packed = tar_of({"in": packed})
    path = write(tmp_path / "all.tar", tar_of({"deep": packed, "beside": "text"}))
    assert [code for code, _ in rejections(path, archive=ArchiveLimits(max_depth=3))] == ["bomb"]
    assert len(read(path, archive=ArchiveLimits(max_depth=3))) == 2
    assert list(documents(path)) == ["deep/in/in/in/in/in", "beside"]


def test_reading_goes_on_behind_what_is_done(tmp_path: Path) -> None:
    path = write(tmp_path / "all.tar", tar_of({str(number): "text" for number in range(5)}))
    assert list(documents(path, after=3)) == ["3", "4"]


MANY = 100_000
READ_MANY = """
import resource, sys
from pathlib import Path
from gate.archive.parts import ArchivedEvent, SourceOptions
from gate.archive.source import Source

def read(path):
    with Source([Path(path)], SourceOptions()) as source:
        count = sum(item is not None and isinstance(item.result, ArchivedEvent) for item in source)
    return count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

few, before = read(sys.argv[1])
many, after = read(sys.argv[2])
print(few, many, (after - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)  # ten seconds on a machine that does nothing else
def test_a_tar_of_100_000_documents_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """The headers alone would be 50 MB, if they were kept."""
    block = tar_of({"x": "The boat is red."}, format=tarfile.USTAR_FORMAT)[:1024]
    for name, count in (("few", 1000), ("many", MANY)):
        with (tmp_path / name).open("wb") as packed:
            packed.writelines([block] * count)
    command = [sys.executable, "-c", READ_MANY, str(tmp_path / "few"), str(tmp_path / "many")]
    few, many, grown = map(int, subprocess.run(command, capture_output=True, check=True).stdout.split())
    assert (few, many) == (1000, MANY)
    assert grown < 8e6
