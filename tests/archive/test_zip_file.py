"""ZIP archives, hostile ones too, and office documents, which are no archives."""

from __future__ import annotations

import io
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate.archive.bounds import ArchiveLimits
from gate.archive.parts import ArchivedEvent
from gate.archive.zip_file import _directory_bytes
from gate.wire import CheckInEvent
from tests.archive.archive_samples import COMPRESS, documents, problems, read, rejections, write
from tests.archive.packed_samples import encrypted_zip_of, tar_of, zip_of
from tests.extract.office_samples import docx_of

FILES = {"a.txt": "one text", "b/c.txt": "another text"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_each_file_is_a_document_named_by_its_path(tmp_path: Path, method: int) -> None:
    assert documents(write(tmp_path / "all", zip_of(FILES, method=method))) == FILES


def test_an_office_document_stays_one_document_wherever_it_is(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.docx", docx_of("text"))
    write(tmp_path / "in" / "b.zip", zip_of({"c.docx": docx_of("text")}))
    write(tmp_path / "in" / "d.docx.gz", COMPRESS[".gz"](docx_of("text")))
    found = documents(tmp_path / "in")
    assert {name: text and text.strip() for name, text in found.items()} == {
        "a.docx": "text",
        "b.zip/c.docx": "text",
        "d.docx.gz": "text",
    }


def test_a_document_has_the_date_of_its_member(tmp_path: Path) -> None:
    [result] = read(write(tmp_path / "all.zip", zip_of({"a": "text"})))
    assert isinstance(result, ArchivedEvent)
    assert isinstance(result.event, CheckInEvent)
    assert result.event.checked_in_at == datetime(2020, 5, 17, 12, tzinfo=UTC)


def test_a_file_with_a_password_is_unreadable_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "all.zip", encrypted_zip_of({"a.txt": "secret", "b.txt": "secret"}))
    assert rejections(path) == [
        ("encrypted", f"{path}/{name}: is a file in a ZIP archive with a password; save it without one")
        for name in ("a.txt", "b.txt")
    ]


def test_a_damaged_member_costs_itself_alone(tmp_path: Path) -> None:
    packed = bytearray(zip_of({"a": "text " * 100, "b": "fine"}, method=zipfile.ZIP_STORED))
    packed[packed.find(b"text ") + 7] ^= 1
    results = read(write(tmp_path / "all.zip", bytes(packed)))
    assert [isinstance(one, ArchivedEvent) for one in results] == [False, True]


def test_what_only_begins_like_one_is_compared_by_its_bytes(tmp_path: Path) -> None:
    assert [code for code, _ in problems(write(tmp_path / "a", b"PK\x03\x04 and no more"))] == ["damaged"]


def test_links_and_folders_are_no_documents_and_paths_lead_nowhere(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("folder/", "")
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("/../escaped.txt", "text")
    assert documents(write(tmp_path / "in" / "all.zip", packed.getvalue())) == {"/../escaped.txt": "text"}
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "in", tmp_path / "in" / "all.zip"]


def overlapping_zip(members: int, size: int) -> bytes:
    """All members are the same bytes of the file: 1 MB of it is `members` times as much unpacked."""
    packed = zip_of({"a": bytes(size)})
    entry_at, end_at = packed.find(b"PK\x01\x02"), packed.find(b"PK\x05\x06")
    entry = packed[entry_at:end_at]
    directory = entry * members
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, members, members, len(directory), entry_at, 0)
    return packed[:entry_at] + directory + end


def test_members_that_overlap_are_a_bomb(tmp_path: Path) -> None:
    path = write(tmp_path / "all.zip", overlapping_zip(2000, 1 << 20))
    found = rejections(path, archive=ArchiveLimits(max_ratio=10))
    assert found
    assert {code for code, _ in found} <= {"bomb", "damaged"}


def test_zips_in_zips_are_counted_together(tmp_path: Path) -> None:
    packed = zip_of({"a": bytes(20 << 20)})
    for _ in range(2):
        packed = zip_of({str(number): packed for number in range(4)})
    found = rejections(write(tmp_path / "all.zip", packed), archive=ArchiveLimits(max_ratio=50))
    assert found[-1][0] == "bomb"
    assert len(found) <= 4  # of the member and the archives around it, and nothing is read behind it


def test_a_list_of_members_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    packed = bytearray(zip_of(FILES))
    at = packed.rfind(b"PK\x05\x06")
    struct.pack_into("<L", packed, at + 12, 1 << 30)
    [(code, message)] = rejections(write(tmp_path / "all.zip", bytes(packed)))
    assert (code, "1,073,741,824 bytes" in message) == ("bomb", True)


def test_the_size_of_the_list_is_found_in_the_longer_form_and_behind_a_comment() -> None:
    longer = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFF_FFFF, 0xFFFF_FFFF, 3)
    assert _directory_bytes(io.BytesIO(longer + locator + end + b"abc")) == 1 << 40
    assert _directory_bytes(io.BytesIO(b"PK\3\4")) == 0


def test_a_zip_in_a_stream_goes_to_a_temporary_file_within_a_bound(tmp_path: Path) -> None:
    path = write(tmp_path / "all.tar", tar_of({"in.zip": zip_of(FILES), "after": "text"}))
    assert list(documents(path)) == ["in.zip/a.txt", "in.zip/b/c.txt", "after"]
    [(code, _)] = rejections(path, archive=ArchiveLimits(max_spooled_bytes=10))
    assert code == "too_large"
