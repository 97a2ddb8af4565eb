"""Mails."""

from __future__ import annotations

from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS, words
from tests.extract.office_samples import (
    mail,
)


def test_of_alternatives_the_plain_text_is_read_and_attachments_are_not() -> None:
    body = (
        "--x\nContent-Type: multipart/alternative; boundary=y\n\n"
        "--y\nContent-Type: text/html\n\n<p>page</p>\n--y\nContent-Type: text/plain\n\nplain\n--y--\n"
        "--x\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nattached\n--x--\n"
    )
    file = mail(body, subject="=?utf-8?q?Caf=C3=A9?=", headers="Content-Type: multipart/mixed; boundary=x\n")
    extracted = extract_text(file, OPTIONS)
    assert (extracted.text.split(), extracted.title) == (["plain"], "Café")


def test_a_mail_that_is_a_page_is_read_as_its_text() -> None:
    file = mail("<html><body><p>seen</p></body></html>", headers="Content-Type: text/html\n")
    assert words(extract_text(file, OPTIONS)) == ["seen"]


def test_a_wrong_charset_does_no_harm() -> None:
    file = mail("Grüße", headers="Content-Type: text/plain; charset=klingon\n")
    assert words(extract_text(file, OPTIONS)) == ["Grüße"]
