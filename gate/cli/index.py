"""Commands about an index as a whole: what it holds, whether it is whole, and how it is carried elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.text import Text

from gate.cli import show
from gate.cli.common import SOME_FAILED, Options, common, emit, load, open_empty, open_index, shown_index
from gate.cli.rebuild import rebuild
from gate.core.method_registry import method_of
from gate.errors import ConfigError
from gate.index.scan import ScannableStore
from gate.index.tools import transfer
from gate.index.tools.audit import audit
from gate.index.tools.findings import HARMLESS, Fault, Note, Report
from gate.stream.jsonl import LineFile

MEANINGS: dict[Fault | Note, str] = {
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
    Note.FREED: "copies whose original is gone, to be judged anew at their next check-in",
    Note.UNANSWERED: "check-ins without an answer so far",
}


@click.group(short_help="Look at an index, mend it, carry it elsewhere.")
def index() -> None:
    """Look at an index, mend it, carry it elsewhere.

    \b
      gate index info --index notes.sqlite
      gate index verify --index redis://localhost:6379/0 --fix
      gate index export --index notes.sqlite -o notes.jsonl
      gate index import notes.jsonl --index redis://localhost:6379/0
      gate index rebuild events.jsonl --index new.sqlite
    """


@index.command(short_help="Show how much an index holds.")
@common()
def info(*, options: Options) -> None:
    """Show how much an index holds, and what it weighs.

    \b
      gate index info --index notes.sqlite
      gate index info --index redis://localhost:6379/0 --json

    All of it is walked. In Redis, bytes are estimated from a sample of the keys.
    """
    settings = load(options)
    with open_index(settings) as gate:
        counts = gate.info()
    if options.json:
        emit({"index": shown_index(settings), "profile": settings.profile.ref, **counts})
        return
    out = show.console()
    documents = counts.get("documents", 0)
    shown = show.table(out, "what", "amount", "per document", right=("amount", "per document"))
    for name, count in counts.items():
        is_size = name.startswith("bytes")
        each = f"{count / documents:,.0f} B" if is_size and documents else ""
        shown.add_row(name.replace("_", " "), show.size_of(count) if is_size else f"{count:,}", each)
    out.print(Text(f"{shown_index(settings)}, profile {settings.profile.ref}", style="bold"))
    out.print(shown)


@index.command(short_help="See that an index is whole, and mend it.")
@click.option("--fix", is_flag=True, help="Mend what is wrong.")
@click.option(
    "--pause",
    metavar="SECONDS",
    type=click.FloatRange(0.0),
    default=1.0,
    show_default=True,
    help="How long to wait before looking again at what seems wrong.",
)
@common()
def verify(*, fix: bool, pause: float, options: Options) -> None:
    """See that everything in an index is where it belongs, and mend it with --fix.

    \b
      gate index verify --index notes.sqlite
      gate index verify --index redis://localhost:6379/0 --fix

    Gates may go on working meanwhile: what seems wrong is looked at again after a pause, for it may be somebody's work
    of this moment. To mend is safe beside them too, and may be repeated. The exit code is 1 if problems are left.
    """
    settings = load(options)

    async def wait() -> None:
        time.sleep(pause)  # this process does nothing else

    with open_index(settings) as gate, show.progress(quiet=options.json, what="looked at") as bar:
        task = bar.add_task("verifying", total=None, documents=0)

        def progress(what: str, count: int) -> None:
            bar.update(task, description=f"verifying {what}", documents=count)

        report = gate.with_store(
            lambda store: audit(store, gate.method, gate.profile, fix=fix, pause=wait, progress=progress)
        )
    if options.json:
        emit({"index": shown_index(settings), "profile": settings.profile.ref, **_told(report)})
    else:
        _show(report, fix=fix)
    if report.left:
        sys.exit(SOME_FAILED)


def _told(report: Report) -> dict[str, object]:
    found = {
        fault.value: {
            "found": report.found[fault],
            "mended": report.repaired[fault],
            "harmless": fault in HARMLESS,
            "examples": report.examples.get(fault, []),
        }
        for fault in Fault
        if report.found[fault]
    }
    notes = {note.value: report.notes[note] for note in Note if report.notes[note]}
    return {**report.checked, "faults": found, "notes": notes, "left": report.left}


def _show(report: Report, *, fix: bool) -> None:
    out = show.console()
    looked_at = ", ".join(f"{report.checked[what]:,} {what}" for what in ("entries", "documents", "postings"))
    rows = [(fault, report.found[fault], report.repaired[fault]) for fault in Fault if report.found[fault]]
    if rows:
        shown = show.table(out, "fault", "found", "mended", "meaning", right=("found", "mended"))
        for fault, found, mended in rows:
            shown.add_row(fault.value, f"{found:,}", f"{mended:,}", Text(MEANINGS[fault], style="dim"))
        out.print(shown)
        for fault, _, _ in rows:
            for example in report.examples.get(fault, []):
                show.say(out, f"{fault.value}: {example}", style="dim")
    for note in Note:
        if report.notes[note]:
            show.say(out, f"{MEANINGS[note]}: {report.notes[note]:,}")
    if report.left:
        verdict = f"problems left: {report.left:,}" + ("" if fix else "; mend them with --fix")
    else:
        verdict = "all problems were mended" if report.problems else "everything is where it belongs"
    out.print(Text(f"Looked at {looked_at}: {verdict}.", style="bold"))


@index.command(short_help="Write an index to a file.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, which is there when it is whole, and not to stdout.",
)
@common()
def export(*, output: Path | None, options: Options) -> None:
    """Write all that an index holds to a file of JSON Lines, to be imported into any other.

    \b
      gate index export --index notes.sqlite -o notes.jsonl
      gate index export --index redis://localhost:6379/0 | zstd > index.jsonl.zst

    The file holds document ids, signatures and answers, but no text. What gates change meanwhile is in it or not, a
    part of it maybe: after the import, `gate index verify --fix` mends that.
    """
    settings = load(options)
    part = None if output is None else output.with_name(f"{output.name}.part")
    with (
        open_index(settings) as gate,
        LineFile(part or sys.stdout.buffer) as file,
        show.progress(quiet=options.json or (output is None and sys.stdout.isatty()), what="lines") as bar,
    ):
        task = bar.add_task("exporting", total=None, documents=0)
        digest = settings.profile.digest(settings.secret.value)

        async def written(store: ScannableStore) -> int:
            count = 0
            async for lines in transfer.export(store, profile_ref=settings.profile.ref, digest=digest):
                file.write(lines)
                count += len(lines)
                bar.update(task, documents=count)
            return count - 2  # the first and the last are about the others

        count = gate.with_store(written)
    if part is not None and output is not None:
        part.replace(output)
    if options.json:
        click.echo(f'{{"exported": {count}}}', err=True)
    else:
        click.echo(f"exported {count:,} documents and entries", err=True)


@index.command(name="import", short_help="Fill a new index from a file that was exported.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--resume", is_flag=True, help="Go on with an import that was cut off.")
@common()
def import_(file: Path, *, resume: bool, options: Options) -> None:
    """Fill a new index from a file that `gate index export` wrote, of whatever kind the other index was.

    \b
      gate index import notes.jsonl --index redis://localhost:6379/0

    Every document gets the verdict again that it was given before. The profile has to sign as the exported one did,
    with the same secret; its name and its thresholds may differ. Let no gate work on the index before it is done.
    """
    settings = load(options)
    digest = settings.profile.digest(settings.secret.value)
    try:
        content = file.open("rb")
    except OSError as exc:
        raise ConfigError(f"{file}: cannot be read: {exc.strerror}") from exc
    with content, show.progress(quiet=options.json, what="lines") as bar:
        method = method_of(settings.profile, settings.secret.value)
        task = bar.add_task("checking", total=None, documents=0)
        expected = transfer.inspect(content, str(file), method=method, digest=digest)
        content.seek(0)
        bar.update(task, description="importing", total=sum(expected))
        with open_empty(settings, resume=resume) as gate:
            done = gate.with_store(
                lambda store: transfer.restore(
                    store,
                    content,
                    str(file),
                    method=gate.method,
                    progress=lambda count: bar.update(task, completed=count, documents=count),
                )
            )
    if options.json:
        emit({"index": shown_index(settings), "documents": done.documents, "entries": done.entries})
    else:
        click.echo(f"imported {done.documents:,} documents and {done.entries:,} entries into {shown_index(settings)}")


@index.command(short_help="Begin a new generation of an index in Redis.")
@common()
def rotate(*, options: Options) -> None:
    """Begin a new generation of an index in Redis, and drop the one before the last.

    \b
      gate index rotate --index redis://localhost:6379/0

    Documents are forgotten by this: those that came before the last rotation. With redis_window_days the gates do it by
    themselves; they may go on working meanwhile.
    """
    from gate.index.redis.store import RedisStore  # other commands start without

    settings = load(options)

    async def rotated(store: ScannableStore) -> None:
        if not isinstance(store, RedisStore):
            raise ConfigError("index: only an index in Redis has generations; delete documents from others")
        await store.rotate(now=time.time())

    with open_index(settings) as gate:
        gate.with_store(rotated)
    if options.json:
        emit({"index": shown_index(settings), "rotated": True})
    else:
        click.echo(f"{shown_index(settings)}: a new generation has begun")


index.add_command(rebuild)
