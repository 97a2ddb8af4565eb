"""Which files an archive has, in which order, and their ids."""

from __future__ import annotations

from pathlib import Path

from gate.archive.readers import ArchivedEvent
from tests.archive.archive_samples import documents, read, rejections, write


def test_files_come_in_the_order_of_their_names_with_their_paths_as_ids(tmp_path: Path) -> None:
    for name in ("b/z.txt", "b/a.md", "a.txt", "c", ".hidden", "b/.git/config"):
        write(tmp_path / name, name)
    assert list(documents(tmp_path).items()) == [
        ("a.txt", "a.txt"),
        ("b/a.md", "b/a.md"),
        ("b/z.txt", "b/z.txt"),
        ("c", "c"),
    ]
    assert list(documents(tmp_path / "b", tmp_path / "c")) == [
        f"{tmp_path}/{name}" for name in ("b/a.md", "b/z.txt", "c")
    ]


def test_broken_and_circular_links_are_reported_and_linked_folders_are_not_entered(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "text")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "lost").symlink_to("nowhere")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("a.txt")
    assert [code for code, _ in rejections(tmp_path)] == ["unreadable", "unreadable"]
    assert [one.event.document_id for one in read(tmp_path) if isinstance(one, ArchivedEvent)] == ["a.txt", "link"]
