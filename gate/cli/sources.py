"""The documents of sources, batch by batch for a command, and what it says of those that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
from rich.progress import Progress

from gate.archive.parts import ArchivedEvent, ArchiveFile, SourceItem, SourceOptions
from gate.archive.source import Source
from gate.cli.common import emit
from gate.cli.gone_files import FileUris
from gate.cli.progress import ProblemLog
from gate.cli.reports import RunReport
from gate.errors import BadDocument
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import chunked
from gate.wire import CheckInEvent, RejectedMessage


class SourceDocument(NamedTuple):
    """A document, and the file that holds it; None: it is the file."""

    document: CheckIn
    place: str | None


class DocumentReader:
    """Use it in a `with` block: problems are summarised at its end."""

    def __init__(
        self,
        paths: Sequence[Path],
        options: SourceOptions,
        *,
        own: frozenset[Path] = frozenset(),
        uris: FileUris | None = None,
        bar: Progress,
        report: RunReport | None,
        verbose: bool,
        json: bool,
    ) -> None:
        self.source = Source(paths, options)
        self.source.files = [file for file in self.source.files if file.path is None or file.path.absolute() not in own]
        self.unreadable = ProblemLog("skipped", verbose=verbose, bar=bar, quiet=json)
        self.without_text = ProblemLog("no text", verbose=verbose, bar=bar, quiet=json)
        self._uris = uris
        self._limits: Limits = options.limits
        self._report = report
        self._json = json
        self._resources = ExitStack()

    def batches(self) -> Iterator[list[SourceDocument]]:
        return chunked(
            self._documents(),
            size=lambda one: len(one.document.text),
            max_items=self._limits.batch_documents,
            max_size=self._limits.batch_chars,
        )

    def _documents(self) -> Iterator[SourceDocument | None]:
        for item in self.source:
            if item is None:
                yield None
            elif isinstance(item.result, RejectedMessage):
                self.reject(str(item.result.origin), item.result.error)
            elif isinstance(item.result, ArchivedEvent):
                yield from self._check_in(item, item.result)

    def _check_in(self, item: SourceItem, archived: ArchivedEvent) -> Iterator[SourceDocument]:
        if isinstance(archived.event, CheckInEvent):
            if archived.problem is not None:
                self._complain(self.without_text, str(archived.origin), archived.problem)
            place = item.file.name if item.position is not None else None
            yield SourceDocument(self._with_uri(archived.event.check_in(), item.file), place)

    def _with_uri(self, document: CheckIn, file: ArchiveFile) -> CheckIn:
        """A document that names no URI gets that of its file, unless that would be too long to be kept."""
        if self._uris is None or file.path is None or document.uri is not None:
            return document
        uri = self._uris.of(file.path)
        return document if len(uri) > self._limits.max_uri_chars else msgspec.structs.replace(document, uri=uri)

    def reject(self, name: str, error: BadDocument) -> None:
        """Report a document that is not judged."""
        if self._report is not None:
            self._report.add_unreadable(name, error.code, str(error))
        self._complain(self.unreadable, name, error)

    def _complain(self, log: ProblemLog, name: str, error: BadDocument) -> None:
        if self._json:
            emit({"document_id": name, "reason": error.code, "message": str(error)}, err=True)
        log.add(error.code, str(error))

    def __enter__(self) -> Self:
        for resource in (self.unreadable, self.without_text, self.source):
            self._resources.enter_context(resource)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.__exit__(kind, error, trace)
