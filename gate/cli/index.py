"""Commands about an index as a whole: what it holds, whether it is consistent, and how it is moved elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.text import Text

from gate.cli import tables
from gate.cli.common import SOME_FAILED, Options, emit, set_resume_hint
from gate.cli.progress import progress
from gate.cli.session import index_name, load, open_empty, open_index
from gate.cli.staging import staged_rows
from gate.core.method_registry import method_of
from gate.errors import ConfigError, IndexLost
from gate.index.scan import ScannableStore
from gate.index.tools import transfer
from gate.index.tools.audit import audit
from gate.index.tools.findings import HARMLESS, Fault, Note, Report
from gate.numbers import number
from gate.stream.jsonl import LineFile

MEANINGS: dict[Fault | Note, str] = {
    Fault.MISSING_SHARD: "shards that are gone, with all they held; `gate index rebuild --recover` fills them again",
    Fault.UNFINISHED: "entries whose deletion stopped half-way",
    Fault.BROKEN: "entries whose signature is not whole",
    Fault.UNLISTED: "entries that are missing from some of their buckets",
    Fault.UNREACHABLE: "entries that their content does not lead to",
    Fault.UNHELD: "contents that a document does not know to be its own",
    Fault.TICKETS: "a counter of tickets that fell back",
    Fault.LOST: "documents that passed, and have no entry",
    Fault.ORPHANED: "postings of entries that are gone",
    Fault.MISPLACED: "postings in buckets where they do not belong",
    Fault.SPARE: "postings of refused copies; harmless",
    Note.WAITING: "entries of check-ins that are going on, or stopped half-way",
    Note.FREED: "copies whose original is gone, to be judged again at their next check-in",
    Note.UNANSWERED: "check-ins without an answer so far",
}


def info(*, options: Options) -> None:
    """Show how much an index holds."""
    settings = load(options)
    set_resume_hint("nothing was changed; start again with")
    with open_index(settings) as gate, progress(quiet=options.json) as bar:
        bar.add_task("counting", total=None, documents=None)
        counts, identity, staged = gate.info(), gate.identity, staged_rows(gate)
    if options.json:
        emit(
            {
                "index": index_name(settings),
                "profile": settings.profile.ref,
                "identity": identity,
                **counts,
                "staged": staged,
            }
        )
        return
    out = tables.console()
    documents = counts.get("documents", 0)
    rows = tables.table(out, "what", "amount", "per document", right=("amount", "per document"))
    for name, count in counts.items():
        is_size = name.startswith("bytes")
        each = number(count / documents, "B") if is_size and documents else ""
        rows.add_row(name.replace("_", " "), number(count, "B" if is_size else ""), each)
    title = f"{index_name(settings)}, profile {settings.profile.ref}, identity {identity}"
    out.print(Text(title, style="bold"))
    out.print(rows)
    for generation in staged:
        line = (
            f"generation {generation['name']}, filled aside: {generation['state']}, {generation['documents']} documents"
        )
        out.print(Text(line))


def verify(*, fix: bool, pause: float, options: Options) -> None:
    """Audit an index, and repair it with `fix`."""
    settings = load(options)
    done = (
        "repairs may have begun, and may be repeated; continue with" if fix else "nothing was changed; start again with"
    )
    set_resume_hint(done)

    async def wait() -> None:
        time.sleep(pause)  # this process does nothing else

    with progress(quiet=options.json, unit="read") as bar:
        task = bar.add_task("verifying", total=None, documents=0)

        def update(what: str, count: int) -> None:
            bar.update(task, description=f"verifying {what}", documents=count)

        try:
            with open_index(settings) as gate:
                report = gate.with_store(
                    lambda store: audit(store, gate.method, gate.profile, fix=fix, pause=wait, progress=update)
                )
        except IndexLost as exc:
            if not exc.missing:
                raise
            report = Report.of_missing(exc.missing)
    if options.json:
        emit({"index": index_name(settings), "profile": settings.profile.ref, **_as_json(report)})
    else:
        _print(report, fix=fix)
    if report.left:
        sys.exit(SOME_FAILED)


def _as_json(report: Report) -> dict[str, object]:
    faults = {
        fault.value: {
            "found": report.found[fault],
            "repaired": report.repaired[fault],
            "harmless": fault in HARMLESS,
            "examples": report.examples.get(fault, []),
        }
        for fault in Fault
        if report.found[fault]
    }
    notes = {note.value: report.notes[note] for note in Note if report.notes[note]}
    return {**report.checked, "faults": faults, "notes": notes, "left": report.left}


def _print(report: Report, *, fix: bool) -> None:
    out = tables.console()
    checked = ", ".join(f"{number(report.checked[what])} {what}" for what in ("entries", "documents", "postings"))
    rows = [(fault, report.found[fault], report.repaired[fault]) for fault in Fault if report.found[fault]]
    if rows:
        table = tables.table(out, "fault", "found", "repaired", "meaning", right=("found", "repaired"))
        for fault, found, repaired in rows:
            table.add_row(fault.value, number(found), number(repaired), Text(MEANINGS[fault], style="dim"))
        out.print(table)
        for fault, _, _ in rows:
            for example in report.examples.get(fault, []):
                tables.print_indented(out, f"{fault.value}: {example}", style="dim")
    for note in Note:
        if report.notes[note]:
            tables.print_indented(out, f"{MEANINGS[note]}: {number(report.notes[note])}")
    if report.found[Fault.MISSING_SHARD]:
        line = (
            "The index is incomplete, so nothing else was checked. Fill it: gate index rebuild --from-topic --recover"
        )
        out.print(Text(line, style="bold"))
        return
    if report.left:
        verdict = f"faults left: {number(report.left)}" + ("" if fix else "; repair them with --fix")
    else:
        verdict = "all faults were repaired" if report.problems else "everything is where it belongs"
    out.print(Text(f"Checked {checked}: {verdict}.", style="bold"))


def export(*, output: Path | None, options: Options) -> None:
    """Write an index to a file or to stdout."""
    settings = load(options)
    set_resume_hint("the export is not complete; start again with")
    part = None if output is None else output.with_name(f"{output.name}.part")
    with (
        open_index(settings) as gate,
        LineFile(part or sys.stdout.buffer) as file,
        progress(quiet=options.json or (output is None and sys.stdout.isatty()), unit="lines") as bar,
    ):
        task = bar.add_task("exporting", total=None, documents=0)
        digest = settings.profile.digest(settings.secret.value)

        async def write(store: ScannableStore) -> int:
            count = 0
            async for lines in transfer.export(store, profile_ref=settings.profile.ref, digest=digest):
                file.write(lines)
                count += len(lines)
                bar.update(task, documents=count)
            return count - 2  # without the header and the trailer

        count = gate.with_store(write)
    if part is not None and output is not None:
        part.replace(output)
    if options.json:
        click.echo(f'{{"exported": {count}}}', err=True)
    else:
        click.echo(f"exported {number(count)} documents and entries", err=True)


def import_(file: Path, *, resume: bool, options: Options) -> None:
    """Fill an empty index from an export."""
    settings = load(options)
    digest = settings.profile.digest(settings.secret.value)
    try:
        content = file.open("rb")
    except OSError as exc:
        raise ConfigError(f"{file}: cannot be read: {exc.strerror}") from exc
    with content, progress(quiet=options.json, unit="lines") as bar:
        method = method_of(settings.profile, settings.secret.value)
        task = bar.add_task("checking", total=None, documents=0)
        expected = transfer.inspect(content, str(file), method=method, digest=digest)
        content.seek(0)
        bar.update(task, description="importing", total=sum(expected))
        set_resume_hint("what was imported is in the index; continue with", option="--resume")
        with open_empty(settings, resume=resume) as gate:
            done = gate.with_store(
                lambda store: transfer.restore(
                    store,
                    content,
                    str(file),
                    method=gate.method,
                    keep_details=settings.keep_details,
                    progress=lambda count: bar.update(task, completed=count, documents=count),
                )
            )
    if options.json:
        emit({"index": index_name(settings), "documents": done.documents, "entries": done.entries})
    else:
        contents = f"{number(done.documents)} documents and {number(done.entries)} entries"
        click.echo(f"imported {contents} into {index_name(settings)}")


def rotate(*, options: Options) -> None:
    """Begin a new generation of an index in Redis."""
    from gate.index.redis.store import RedisStore  # other commands start without

    settings = load(options)

    async def rotate_generations(store: ScannableStore) -> None:
        if not isinstance(store, RedisStore):
            raise ConfigError("index: only an index in Redis has generations; delete documents from others")
        await store.rotate(now=time.time())

    with open_index(settings) as gate:
        gate.with_store(rotate_generations)
    if options.json:
        emit({"index": index_name(settings), "rotated": True})
    else:
        click.echo(f"{index_name(settings)}: a new generation has begun")
