"""One text in all formats is one document, and an edited copy of it is found in any."""

from __future__ import annotations

from pathlib import Path

from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from tests.cli.command import done, lines
from tests.extract.office_samples import docx, html, mail, odt, paragraph, pdf, rtf

EDITED = LIGHTHOUSE.replace("three summers", "four winters")


def in_all_formats(text: str) -> dict[str, bytes]:
    return {
        "a.txt": text.encode(),
        "b.html": html(f"<p>{text}</p>").encode(),
        "c.docx": docx(paragraph(text)),
        "d.pdf": pdf([text]),
        "e.rtf": rtf(text),
        "f.eml": mail(text),
        "g.odt": odt(f"<text:p>{text}</text:p>"),
    }


def relations(folder: Path) -> dict[str, tuple[str, str | None]]:
    verdicts = lines(done("check", folder, "--order", "name", "--json").stdout)
    return {
        one["document_id"]: (one["relation"], one["matches"][0]["document_id"] if one["matches"] else None)
        for one in verdicts
    }


def test_one_text_in_all_formats_is_exact_or_near(tmp_path: Path) -> None:
    for name, content in in_all_formats(LIGHTHOUSE).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "other.txt").write_text(BRIDGE)
    found = relations(tmp_path)
    assert found.pop("a.txt") == ("new", None)
    assert found.pop("other.txt") == ("new", None)
    assert {relation for relation, _ in found.values()} <= {"exact", "near"}
    assert len(found) == 6


def test_edited_copies_are_found_in_any_format(tmp_path: Path) -> None:
    for name, content in in_all_formats(LIGHTHOUSE).items():
        (tmp_path / name).write_bytes(content)
    for name, content in in_all_formats(EDITED).items():
        (tmp_path / f"z-{name}").write_bytes(content)
    (tmp_path / "other.docx").write_bytes(docx(paragraph(BREAD)))
    found = relations(tmp_path)
    copies = {name: found[f"z-{name}"] for name in in_all_formats(EDITED)}
    assert {relation for relation, _ in copies.values()} <= {"exact", "near", "contains"}
    assert None not in {match for _, match in copies.values()}
    assert found["other.docx"] == ("new", None)
