"""Compressed files: concatenated, damaged, and made to exhaust memory."""

from __future__ import annotations

import io
import lzma
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from gate.archive import compression
from gate.archive.compression import open_decompressed
from gate.archive.parts import ArchivedEvent
from gate.errors import BadDocument
from gate.wire import RejectedMessage
from tests.archive.archive_samples import COMPRESS, documents, line, read, rejections, write


def read_all(packed: bytes) -> bytes:
    return open_decompressed(io.BufferedReader(io.BytesIO(packed))).read()


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_compressed_text_is_a_document_too(tmp_path: Path, suffix: str) -> None:
    assert documents(write(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](b"text"))) == {
        f"{tmp_path}/a.txt{suffix}": "text"
    }


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
@given(parts=st.lists(st.binary(max_size=2000), min_size=1, max_size=4), padding=st.integers(0, 20))
def test_concatenated_compressed_files_are_read_as_one(suffix: str, parts: list[bytes], padding: int) -> None:
    packed = (b"\0" * padding).join(map(COMPRESS[suffix], parts)) + b"\0" * padding
    assert read_all(packed) == b"".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
@given(text=st.binary(min_size=50, max_size=500), cut=st.integers(0, 10**6), flip=st.integers(0, 10**6))
def test_damaged_data_raises_bad_document_and_nothing_else(suffix: str, text: bytes, cut: int, flip: int) -> None:
    packed = bytearray(COMPRESS[suffix](text))
    with pytest.raises(BadDocument) as caught:
        read_all(bytes(packed[: compression.HEAD_BYTES + cut % (len(packed) - compression.HEAD_BYTES)]))
    assert caught.value.code == "bad_compression"
    packed[compression.HEAD_BYTES + flip % (len(packed) - compression.HEAD_BYTES)] ^= 0xFF
    with suppress(BadDocument):  # or the flipped bits were of no weight
        read_all(bytes(packed))


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
def test_other_data_behind_the_compressed_data_is_damage(suffix: str) -> None:
    with pytest.raises(BadDocument, match="damaged"):
        read_all(COMPRESS[suffix](b"text") + b"something else, and long enough")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".zst"])
def test_a_decompression_bomb_is_stopped_early_and_in_little_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "FREE_BYTES", 4 * 2**20)
    bomb = COMPRESS[suffix](bytes(64 * 2**20))
    path = write(tmp_path / f"bomb.jsonl{suffix}", COMPRESS[suffix](line("a").encode()) + bomb)
    tracemalloc.start()
    try:
        results = read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(results[0], ArchivedEvent)  # what came before it is kept
    assert isinstance(results[1], RejectedMessage)
    assert results[1].error.code == "bomb"
    assert peak < 32 * 2**20


@pytest.mark.slow
def test_a_file_that_needs_too_much_memory_is_rejected(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    path = write(tmp_path / "a.jsonl.xz", lzma.compress(line("a").encode(), filters=filters))
    assert [code for code, _ in rejections(path)] == ["bad_compression"]


def test_without_a_zstd_library_the_message_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.jsonl.zst", zstd.compress(line("a").encode()))
    monkeypatch.setitem(__import__("sys").modules, "compression.zstd", None)
    monkeypatch.setitem(__import__("sys").modules, "backports.zstd", None)
    [(code, said)] = rejections(path)
    assert code == "unreadable"
    assert "checkin-gate[zstd]" in said
