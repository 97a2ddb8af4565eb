"""What is read in uploaded files."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gate.http.messages import Problem


class FileText(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded file: its text, or the problem why it has none."""

    name: Annotated[str, Meta(description="Of the file, as the form names it.", examples=["report.pdf"])]
    size_bytes: int
    text: str | None
    title: Annotated[str | None, Meta(description="Title that the file gives itself.")]
    format: Annotated[str | None, Meta(description="Format that it was read as.", examples=["PDF"])]
    mime_type: Annotated[str | None, Meta(examples=["application/pdf"])]
    problem: Problem | None


class FileTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of files, in the order of the form. Nothing of them is kept."""

    files: list[FileText]
