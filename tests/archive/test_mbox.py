"""Mailboxes: each mail is a document, named by its Message-ID."""

from __future__ import annotations

from pathlib import Path

from gate.archive.parts import ArchivedEvent
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ReadOptions
from gate.wire import CheckInEvent
from tests.archive.archive_samples import NOON, documents, read, rejections, write
from tests.archive.packed_samples import mail_of, mbox_of, tar_of


def test_each_mail_is_a_document(tmp_path: Path) -> None:
    path = write(
        tmp_path / "inbox", mbox_of(mail_of("1@x", "one text"), mail_of("2@x", "two\n>From here\nIn From there"))
    )
    assert {name: text and text.strip() for name, text in documents(path).items()} == {
        "1@x": "one text",
        "2@x": "two\nFrom here\nIn From there",
    }
    [first, _] = read(path)
    assert isinstance(first, ArchivedEvent)
    assert isinstance(first.event, CheckInEvent)
    assert (first.event.title, first.event.checked_in_at) == ("A subject", NOON)


def test_two_copies_of_a_mail_are_two_documents(tmp_path: Path) -> None:
    mail = mail_of("1@x", "text")
    assert list(documents(write(tmp_path / "inbox", mbox_of(mail, mail, mail_of(None, "text"))))) == [
        "1@x",
        "1@x#2",
        "3",
    ]


def test_mails_of_two_boxes_have_the_names_of_their_boxes(tmp_path: Path) -> None:
    for name in ("a.mbox", "b.mbox"):
        write(tmp_path / "in" / name, mbox_of(mail_of("1@x", "text")))
    assert list(documents(tmp_path / "in")) == ["a.mbox/1@x", "b.mbox/1@x"]
    assert list(documents(write(tmp_path / "all.tar", tar_of({"c": mbox_of(mail_of("1@x", "text"))})))) == ["c/1@x"]


def test_a_mail_that_is_too_large_costs_itself_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "inbox", mbox_of(mail_of("1@x", "x\n" * 5000), mail_of("2@x", "text")))
    read_options = ReadOptions(limits=ExtractLimits(max_file_bytes=5000))
    assert [code for code, _ in rejections(path, read=read_options)] == ["too_large"]
    assert len(read(path, read=read_options)) == 2


def test_a_maildir_names_its_mails_without_their_flags(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "mail" / name).mkdir(parents=True)
    write(tmp_path / "mail" / "cur" / "1.x.host:2,RS", mail_of("1@x", "one"))
    write(tmp_path / "mail" / "new" / "2.x.host", mail_of("2@x", "two"))
    write(tmp_path / "mail" / "tmp" / "3.x.host", mail_of("3@x", "half"))
    assert list(documents(tmp_path / "mail")) == ["1.x.host", "2.x.host"]
    assert sorted(documents(tmp_path)) == ["mail/1.x.host", "mail/2.x.host"]


def test_a_text_that_begins_with_from_is_no_mailbox(tmp_path: Path) -> None:
    assert len(documents(write(tmp_path / "a", "From here on we go by boat.\nAnd so on."))) == 1
