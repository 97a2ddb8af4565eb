"""The operation that reads uploaded files, and keeps nothing of them."""

from __future__ import annotations

from gate.extract.text_of import ExtractedText
from gate.http.calls import Call, ServiceParts
from gate.http.file_documents import ReadFile, file_problem
from gate.http.file_messages import FileText, FileTexts


class FileViews:
    """What is in files."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def texts(self, call: Call) -> FileTexts:
        return FileTexts(files=[_shown(read) for read in await self._parts.files.read(call.body, call.hold)])


def _shown(read: ReadFile) -> FileText:
    file, result = read.file, read.result
    extracted = result if isinstance(result, ExtractedText) else None
    return FileText(
        name=file.name,
        size_bytes=len(file.data),
        text=extracted.text if extracted else None,
        title=extracted.title if extracted else None,
        format=extracted.format if extracted else None,
        mime_type=extracted.mime_type if extracted else file.mime_type,
        problem=None if isinstance(result, ExtractedText) else file_problem(result, file.name).problem(),
    )
