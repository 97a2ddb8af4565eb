"""Bounds on all that comes out of one file, and copies of streams that cannot go back."""

from __future__ import annotations

import io

import pytest

from gate.archive.bounds import FREE_BYTES, ArchiveLimits, MemberStream, Unpacking, seekable
from gate.errors import BadDocument


def test_what_comes_out_is_bounded_by_the_size_of_the_outermost_file() -> None:
    unpacking = Unpacking(ArchiveLimits(max_ratio=10), packed_bytes=100)
    unpacking.add_bytes(FREE_BYTES + 1000)
    unpacking.check()
    with pytest.raises(BadDocument, match=r"more than 10 times its size; raise archive\.max_ratio"):
        unpacking.add_bytes(1)


def test_members_are_counted_on_all_levels_together() -> None:
    unpacking = Unpacking(ArchiveLimits(max_members=2))
    unpacking.add_member()
    unpacking.add_member()
    with pytest.raises(BadDocument, match=r"more than 2 files; raise archive\.max_members"):
        unpacking.add_member()
    with pytest.raises(BadDocument, match="2 files"):
        unpacking.check()


def test_depth_refuses_one_branch_and_not_the_rest() -> None:
    unpacking = Unpacking(ArchiveLimits(max_depth=1))
    unpacking.check_depth(1)
    with pytest.raises(BadDocument, match="more than 1 deep"):
        unpacking.check_depth(2)
    unpacking.check()


def test_an_error_of_a_library_is_that_of_a_document() -> None:
    def fail(size: int) -> bytes:
        raise EOFError

    with pytest.raises(BadDocument, match="is cut off") as caught:
        MemberStream(fail, Unpacking(), (EOFError,), "is cut off").read()
    assert caught.value.code == "damaged"


class OneWay(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_a_stream_that_cannot_go_back_is_copied() -> None:
    with seekable(OneWay(b"content"), Unpacking()) as copy:
        copy.seek(3)
        assert copy.read() == b"tent"
    whole = io.BytesIO(b"content")
    with seekable(whole, Unpacking()) as same:
        assert same is whole


def test_a_copy_has_a_bound() -> None:
    limits = ArchiveLimits(max_spooled_bytes=6)
    with (
        pytest.raises(BadDocument, match=r"archive\.max_spooled_bytes"),
        seekable(OneWay(b"content"), Unpacking(limits)),
    ):
        pass
