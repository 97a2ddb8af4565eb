"""Files of archives: decompressed however often they were compressed, up to a depth."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.archive.archive_samples import COMPRESS, documents, line, rejections, write


def test_a_file_may_be_compressed_several_times(tmp_path: Path) -> None:
    data = line("a", "one").encode()
    for suffix, pack in COMPRESS.items():
        data = pack(data)
        del suffix
    assert documents(write(tmp_path / "events.jsonl.gz", data)) == {"a": "one"}


def test_a_file_that_is_compressed_too_often_is_rejected(tmp_path: Path) -> None:
    data = b"text"
    for _ in range(20):
        data = gzip.compress(data)
    [(code, message)] = rejections(write(tmp_path / "a.gz", data))
    assert code == "bomb"
    assert "more than 8 deep" in message
