"""Documents out of uploaded files: texts are extracted in child processes, under limits of their own.

A file without text is compared by its bytes: the reason is in its verdict.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, get_args

import msgspec

from gate.errors import UNREADABLE_REASONS, BadDocument, UnreadableReason
from gate.extract.limits import ExtractLimits
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ExtractedText, ReadOptions
from gate.http import problems
from gate.http.problems import RequestError
from gate.http.uploads import UploadedFile, UploadFields, UploadForm
from gate.model import CheckIn

Hold = Callable[[int], None]


class ReadFile(NamedTuple):
    """An uploaded file, and its text or why there is none; then `sha256` is that of its bytes."""

    file: UploadedFile
    result: ExtractedText | BadDocument
    sha256: str | None


class UploadReader:
    """Reads uploaded files in as many processes as are set; one is started when it is first needed."""

    def __init__(self, limits: ExtractLimits, *, processes: int, max_chars: int) -> None:
        """max_chars: of the texts of one request together."""
        self._pool = ExtractorPool(options=ReadOptions(limits=limits), processes=processes)
        self._max_chars = max_chars

    async def read(self, form: UploadForm, hold: Hold) -> list[ReadFile]:
        """The files of a form in their order. `hold` is called with the size of each text, and may refuse it.

        RequestError: the texts are too long together, or there is no room for them."""
        turns = asyncio.Semaphore(self._pool.processes)
        chars = 0

        async def read_in_turn(file: UploadedFile) -> ReadFile:
            nonlocal chars
            async with turns:
                read = await asyncio.wrap_future(self._pool.run(partial(self._read, file)))
                size = len(read.result.text) if isinstance(read.result, ExtractedText) else 0
                hold(size)
                chars += size
                if chars > self._max_chars:
                    raise RequestError(
                        "too_large",
                        f"the files have over {self._max_chars} characters (api_max_body_bytes); send fewer at once",
                    )
                return read

        try:
            async with asyncio.TaskGroup() as group:
                reading = [group.create_task(read_in_turn(file)) for file in form.files]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in reading]

    def _read(self, file: UploadedFile) -> ReadFile:
        result = self._pool.ask(file.data)
        return ReadFile(
            file, result, None if isinstance(result, ExtractedText) else hashlib.sha256(file.data).hexdigest()
        )

    def close(self) -> None:
        """End the processes. Files in progress end as unreadable."""
        self._pool.close()


def document_of(read: ReadFile, fields: UploadFields) -> CheckIn | RequestError:
    """The document in a file, to be judged."""
    file, result = read.file, read.result
    document_id = fields.document_id or file.name
    if not document_id:
        return RequestError(
            "missing_field", "document_id: is missing, and the file has no name; give one of them", field="document_id"
        )
    shared = CheckIn(
        document_id=document_id,
        text="",
        version=None if fields.version is None else str(fields.version),
        source=fields.source,
        title=fields.title,
        uri=fields.uri,
        size_bytes=len(file.data),
        mime_type=file.mime_type,
        metadata=None if fields.metadata is None else msgspec.Raw(fields.metadata.encode()),
        checked_in_at=fields.checked_in_at,
    )
    if isinstance(result, ExtractedText):
        return msgspec.structs.replace(
            shared,
            text=result.text,
            title=shared.title or result.title,
            mime_type=result.mime_type or shared.mime_type,
        )
    if result.code not in UNREADABLE_REASONS:
        return file_problem(result, file.name)
    reason: UnreadableReason = next(known for known in get_args(UnreadableReason) if known == result.code)
    return msgspec.structs.replace(shared, content_sha256=read.sha256, unreadable_reason=reason)


def file_problem(error: BadDocument, name: str) -> RequestError:
    """Why a file gives no text."""
    problem = problems.of_error(error)
    return RequestError(problem.code, f"{name or 'the file'}: {problem.detail}", field="file")
