"""`gate dedupe`: a corpus without its near-duplicates. Sources are read, and nothing in them is changed."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path

import click
import msgspec

from gate.archive.dedupe_output import FileCopies
from gate.archive.dedupe_state import DedupeJob, DedupeState
from gate.archive.files import FileSelection
from gate.archive.parts import ArchiveFile, SourceOptions
from gate.archive.readers import STDIN
from gate.archive.replay import Replay
from gate.archive.replay_stats import ReplayStats
from gate.archive.source import Source
from gate.cli.common import SOME_FAILED, Options, emit, set_resume_hint
from gate.cli.dedupe_results import DedupeOutput, summarise, write_results
from gate.cli.dedupe_target import DedupeTarget
from gate.cli.own_files import own_files
from gate.cli.progress import ProblemLog
from gate.cli.replay import ReplayBar
from gate.cli.session import load, open_gate, read_options
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.extract.text_of import HtmlPart
from gate.index.redis.url import hide_credentials
from gate.stream.field_names import FieldNames
from gate.wire import RejectedMessage

PATH_PREFIX = "path:"


def dedupe(
    paths: tuple[Path, ...],
    *,
    output: DedupeOutput,
    keep: str,
    against: str | None,
    on_disk: bool,
    resume: bool,
    state_folder: Path | None,
    field_names: FieldNames,
    selection: FileSelection,
    html_text: HtmlPart,
    encoding: str | None,
    file_format: str | None,
    content_root: Path | None,
    strict: bool,
    quiet: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Judge all documents, choose one of each family, and write those."""
    settings = load(options, content_root=content_root)
    output.check()
    if any(str(path) == STDIN for path in paths):
        raise click.UsageError("standard input can be read only once; write it to a file first")
    source_options = SourceOptions(
        limits=settings.limits,
        read=read_options(settings, html=html_text, encoding=encoding),
        archive=settings.archive,
        selection=selection,
        format=file_format,
        field_names=field_names,
        content_root=settings.content_root,
        number_records=True,
    )
    job = DedupeJob(
        sources=tuple(str(path.resolve()) for path in paths),
        profile=f"{settings.profile.ref} {settings.profile.digest(settings.secret.value)}",
        against=None if against is None else hide_credentials(against),
        options=f"{file_format} {html_text} {encoding} {on_disk} {field_names}",
    )
    folder = state_folder or _state_folder(output.out, job)
    stats = ReplayStats()
    is_shown = not (quiet or options.json)
    with ExitStack() as stack:
        source = stack.enter_context(Source(paths, source_options))
        source.files = _own_left_out(source.files, paths, output, folder, settings)
        copies = None
        if output.out is not None and not output.is_records:
            copies = FileCopies(output.out, link=output.link)
            copies.prepare(resume=resume)
        state = stack.enter_context(DedupeState(folder, job, source.files, resume=resume))
        set_resume_hint("what was judged is noted; continue with", option="--resume")
        with ExitStack() as judging:
            gate = judging.enter_context(
                open_gate(
                    msgspec.structs.replace(settings, keep_details=False),
                    index=str(folder / "index.sqlite") if on_disk else MEMORY,
                )
            )
            known = against and judging.enter_context(open_gate(settings, index=against, create=False))
            target = DedupeTarget(gate, state, stats, against=known or None, keeps_claims=not on_disk)
            if resume:
                target.restore()
            _judge(
                judging, target, state, source, stats, settings, is_shown=is_shown, verbose=verbose, json=options.json
            )
        stats.links, stats.hidden = len(source.found.links), source.hidden
        state.choose(*_order_of(keep))
        not_files = write_results(state, output, copies, source, is_shown=is_shown)
        if is_shown or options.json:
            summarise(state, stats, not_files, json=options.json, is_list=output.list_of is not None)
        state.remove()
    if stats.bad_lines or stats.dead_lettered or (strict and (stats.unreadable or stats.without_text)):
        sys.exit(SOME_FAILED)


def _judge(
    stack: ExitStack,
    target: DedupeTarget,
    state: DedupeState,
    source: Source,
    stats: ReplayStats,
    settings: Settings,
    *,
    is_shown: bool,
    verbose: bool,
    json: bool,
) -> None:
    bar = ReplayBar(stats, shown=is_shown)
    problems = stack.enter_context(ProblemLog("skipped", verbose=verbose, bar=bar.bar, quiet=json))
    textless = stack.enter_context(ProblemLog("no text", verbose=verbose, bar=bar.bar, quiet=json))

    def report(rejected: RejectedMessage) -> None:
        if json:
            reason = {"reason": rejected.error.code, "message": str(rejected.error)}
            emit({"origin": str(rejected.origin), **reason}, err=True)
        problems.add(rejected.error.code, str(rejected.error))

    stack.enter_context(bar.opened(source.total_bytes))
    Replay(
        target,
        stats=stats,
        limits=settings.limits,
        journal=state,
        clock=time.monotonic,
        on_rejected=report,
        on_without_text=lambda problem: textless.add(problem.code, str(problem)),
        on_progress=bar.update,
    ).run(source)


def _state_folder(out: Path | None, job: DedupeJob) -> Path:
    """Beside what is written, or else in the user's state folder, by a name for this job alone."""
    if out is not None:
        return out.with_name(f"{out.name}.dedupe")
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    name = hashlib.blake2b(msgspec.json.encode(job), digest_size=8).hexdigest()
    return Path(state).expanduser() / "gate" / f"dedupe-{name}"


def _own_left_out(
    files: Sequence[ArchiveFile], paths: Sequence[Path], output: DedupeOutput, folder: Path, settings: Settings
) -> list[ArchiveFile]:
    """The files without those that the run writes itself. ConfigError: they could not be told apart."""
    out = output.out
    if out is not None and not output.is_records:
        for path in paths:
            if path.is_dir() and out.resolve().is_relative_to(path.resolve()):
                raise ConfigError(f"--out: {out} is in a folder that is read; name another one")
    own = own_files(settings, (out if output.is_records else None, output.csv))
    state = folder.absolute()
    return [
        file
        for file in files
        if file.path is not None and file.path.absolute() not in own and state not in file.path.absolute().parents
    ]


def _order_of(keep: str) -> tuple[str, Callable[[str], bool] | None]:
    if not keep.startswith(PATH_PREFIX):
        return keep, None
    pattern = keep.removeprefix(PATH_PREFIX)
    return "first", lambda document_id: fnmatchcase(
        document_id if "/" in pattern else document_id.rpartition("/")[2], pattern
    )
