"""Which files an archive has, in which order, and their ids."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate.archive.files import FileSelection, FoundFile, Link, Order, find_files, modified_at
from gate.archive.parts import ArchivedEvent, SourceOptions
from gate.archive.readers import archive_files
from tests.archive.archive_samples import NOON, documents, line, read, rejections, write


def ids(*paths: Path, **selection: object) -> list[str]:
    return [file.document_id for file in find_files(paths, FileSelection(**selection)).files]  # type: ignore[arg-type]


def dated(path: Path, day: int) -> Path:
    """A file that was modified so many days after the others."""
    write(path, path.name)
    seconds = NOON.timestamp() + 86_400 * day
    os.utime(path, (seconds, seconds))
    return path


def test_files_of_one_date_come_in_the_order_of_their_names_with_their_paths_as_ids(tmp_path: Path) -> None:
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
    assert [one.event.document_id for one in read(tmp_path) if isinstance(one, ArchivedEvent)] == ["a.txt"]


def test_the_oldest_file_comes_first_unless_another_order_is_chosen(tmp_path: Path) -> None:
    last, middle, first = dated(tmp_path / "a", 9), dated(tmp_path / "b/x", 5), dated(tmp_path / "c", 1)
    assert ids(tmp_path) == ["c", "b/x", "a"]
    assert ids(tmp_path, order=Order.NAME) == ["a", "b/x", "c"]
    assert ids(middle, first, last, order=Order.GIVEN) == [str(middle), str(first), str(last)]
    assert ids(middle, first, last) == [str(first), str(middle), str(last)]


def test_a_file_of_events_is_as_old_as_its_first_event(tmp_path: Path) -> None:
    dated(tmp_path / "text.txt", 2)
    write(tmp_path / "a.jsonl", line("a", checked_in_at="2020-05-20T12:00:00Z"))
    write(tmp_path / "b.jsonl.gz", gzip.compress(line("b", checked_in_at="2020-05-18T12:00:00").encode()))
    write(tmp_path / "c.jsonl", line("c"))
    write(tmp_path / "d.jsonl", "no json")
    names = [file.name for file in archive_files([Path("-"), tmp_path], SourceOptions())]
    assert [Path(name).name for name in names] == ["c.jsonl", "d.jsonl", "b.jsonl.gz", "text.txt", "a.jsonl", "-"]


def test_a_pipe_is_not_read_to_date_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    assert [file.name for file in archive_files([tmp_path / "events.jsonl"], SourceOptions())] == [
        f"{tmp_path}/events.jsonl"
    ]


def test_a_symbolic_link_to_a_file_that_is_found_is_a_link_to_its_document(tmp_path: Path) -> None:
    dated(tmp_path / "z.txt", 3)
    (tmp_path / "a.txt").symlink_to("z.txt")
    found = find_files([tmp_path])
    assert [file.document_id for file in found.files] == ["z.txt"]
    assert found.links == [Link(document_id="a.txt", target="z.txt", kind="symbolic")]


def test_of_hard_links_the_first_is_the_document_and_the_others_are_links_to_it(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "text")
    for name in ("c.txt", "a.txt"):
        os.link(tmp_path / "b.txt", tmp_path / name)
    found = find_files([tmp_path])
    assert [file.document_id for file in found.files] == ["a.txt"]
    assert found.links == [
        Link(document_id="b.txt", target="a.txt", kind="hard"),
        Link(document_id="c.txt", target="a.txt", kind="hard"),
    ]


def test_links_out_of_the_folder_are_followed_only_by_choice_and_after_all_other_files(tmp_path: Path) -> None:
    dated(tmp_path / "outside.txt", 0)
    dated(tmp_path / "folder/a.txt", 9)
    for name in ("first", "second"):
        (tmp_path / "folder" / name).symlink_to("../outside.txt")
    (tmp_path / "folder/up").symlink_to("..")
    found = find_files([tmp_path / "folder"])
    assert [file.document_id for file in found.files] == ["a.txt"]
    assert {link.document_id: link.target for link in found.links} == {
        "first": "../outside.txt",
        "second": "../outside.txt",
        "up": "..",
    }
    followed = find_files([tmp_path / "folder"], FileSelection(follow_links=True))
    assert [file.document_id for file in followed.files] == ["a.txt", "first"]
    assert {link.document_id: link.target for link in followed.links} == {"second": "first", "up": ".."}


def test_a_link_to_a_file_of_the_folder_that_is_not_found_itself_is_read_last(tmp_path: Path) -> None:
    dated(tmp_path / ".data/x.txt", 0)
    dated(tmp_path / "y.txt", 5)
    (tmp_path / "a.txt").symlink_to(".data/x.txt")
    assert ids(tmp_path) == ["y.txt", "a.txt"]


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    file = write(tmp_path / "folder/a.txt", "text")
    assert ids(file, file) == [str(file)]
    assert ids(tmp_path / "folder", tmp_path / "folder" / ".." / "folder") == ["a.txt"]
    assert ids(tmp_path / "folder", file) == [str(file)]
    assert ids(tmp_path, tmp_path / "folder") == [str(file)]
    assert find_files([tmp_path / "folder", file]).links == []


def test_hidden_files_and_folders_are_counted_and_read_by_choice(tmp_path: Path) -> None:
    for name in (".git/config", ".git/head", ".env", "a.txt"):
        write(tmp_path / name, name)
    assert find_files([tmp_path]).hidden == 2
    found = find_files([tmp_path], FileSelection(hidden=True))
    assert [file.document_id for file in found.files] == [".env", ".git/config", ".git/head", "a.txt"]
    assert found.hidden == 0


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        (("*.txt",), (), ["a.txt", "drafts/b.txt", "drafts/old/c.txt"]),
        (("drafts/*",), (), ["drafts/b.txt", "drafts/d.md", "drafts/old/c.txt"]),
        ((), ("drafts",), ["a.txt"]),
        ((), ("drafts/old/",), ["a.txt", "drafts/b.txt", "drafts/d.md"]),
        (("*.txt", "*.md"), ("[ac].*", "*.md"), ["drafts/b.txt"]),
    ],
)
def test_globs_choose_the_files_of_a_folder(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], left: list[str]
) -> None:
    for name in ("a.txt", "drafts/b.txt", "drafts/d.md", "drafts/old/c.txt"):
        write(tmp_path / name, name)
    assert ids(tmp_path, include=include, exclude=exclude) == left


def test_a_file_that_is_named_by_itself_is_read_whatever_the_globs_say(tmp_path: Path) -> None:
    file = write(tmp_path / ".a.md", "text")
    assert ids(file, include=("*.txt",), exclude=("*.md",)) == [str(file)]


def test_a_file_is_dated_by_its_last_change_and_an_impossible_time_is_none() -> None:
    file = FoundFile(document_id="a", path=Path("a"), modified_ns=1_772_600_000_000_000_000)
    assert modified_at(file) == datetime(2026, 3, 4, 4, 53, 20, tzinfo=UTC)
    assert modified_at(FoundFile(document_id="a", path=Path("a"))) is None
    assert modified_at(FoundFile(document_id="a", path=Path("a"), modified_ns=1 << 70)) is None
