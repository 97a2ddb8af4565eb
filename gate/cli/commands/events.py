"""Commands that judge streams of events: from files, standard input, archives and topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gate.cli.commands.shared import content_root, field_names, file_selection, reading, report_files, verbose
from gate.cli.common import brokers, common


@click.command()
@click.argument(
    "inputs",
    metavar="[FILES...]",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write verdicts to this file, from its beginning, and not to stdout.",
)
@click.option(
    "--dead-letters",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Append messages that cannot be judged to this file, with their originals. Default: a summary on stderr.",
)
@content_root
@field_names
@reading
@click.option("--quiet", is_flag=True, help="No progress, and no counts at the end.")
@verbose
@click.option("--kafka", "kafka_brokers", metavar="HOST:PORT,...", help="Read topics of these brokers, not files.")
@click.option("--redis", metavar="URL", help="The same as --index, for an index that many workers share.")
@click.option("--workers", metavar="N", type=int, help="With --kafka: number of worker processes. Default: 1.")
@click.option(
    "--http-port", metavar="PORT", type=int, help="With --kafka: serve /healthz, /readyz and /metrics on this port."
)
@click.option(
    "--new-index",
    is_flag=True,
    help="With --kafka: accept the index as it is, new or incomplete, in place of the one that the group worked on.",
)
@common()
def run(**arguments: Any) -> None:
    """Judge a stream of events: JSON Lines in, one verdict per line out; or topics of Kafka, until stopped.

    \b
      gate run events.jsonl -o verdicts.jsonl --index gate.sqlite
      gate run posts.jsonl --id-field id --text-field body -o verdicts.jsonl
      zcat archive.jsonl.gz | gate run --dead-letters dead.jsonl > verdicts.jsonl
      gate run --kafka localhost:9092 --redis redis://localhost:6379/0 --workers 2 --http-port 9400

    \b
    An event is one object per line, a check-in or a delete:
      {"document_id": "a", "text": "...", "version": "2"}
      {"document_id": "b", "content_uri": "file:docs/b.txt"}
      {"document_id": "a", "type": "delete"}

    Verdicts come in the order of the check-ins; a delete gets no line. Where the input pauses, the events read so far
    are answered. A line that cannot be judged is dead-lettered and the rest goes on; the exit code is then 1. Without
    FILES, or with -, standard input is read. With --json, everything on stderr is JSON too.

    With --index a run may be stopped and started again at any time: a document judged before gets the same verdict.

    With --kafka (or kafka_brokers in the settings, and no FILES), events are read from topics by a consumer group, and
    verdicts, dead letters and, where topics are named for them, accepted and quarantined documents go to topics.
    `gate topics create` creates them, `gate config` shows the settings (kafka_..., delivery, on_index_unavailable).
    SIGTERM finishes the batches in flight, commits, and ends.

    The group keeps with its offsets which index it has worked on. A gate that finds none, another one, or one that lost
    a part is not ready and judges nothing: `gate index rebuild --from-topic --recover` fills it again. With --new-index
    what is gone is given up instead, and copies of those documents pass. Leave the option out of later starts.
    """
    from gate.cli.run import run

    run(**arguments)


@click.command()
@click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, readable=False, allow_dash=True),
)
@brokers
@click.option("--rate", metavar="N", type=click.FloatRange(0, min_open=True), help="At most N documents per second.")
@click.option("--dry-run", is_flag=True, help="Read everything, count it, and send nothing.")
@click.option("--resume", is_flag=True, help="Continue a replay that was interrupted.")
@click.option(
    "--journal",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file that records what is done. Default: one for these sources and this target, in the state folder.",
)
@click.option(
    "--into-generation",
    metavar="NAME",
    help="Fill a generation of an index in Redis aside of its live traffic; `gate index promote NAME` makes it live.",
)
@click.option("--source", metavar="NAME", help="The source of documents that name none, for the metrics.")
@content_root
@field_names
@reading
@file_selection
@report_files
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="How long to wait for the next verdict once everything is sent; 0: not at all.",
)
@click.option("--quiet", is_flag=True, help="No progress, and no summary at the end.")
@verbose
@common()
def replay(**arguments: Any) -> None:
    """Send an archive through the gate: folders, files and archives of any format, compressed or not, standard input.

    \b
      gate replay archive/ --kafka localhost:9092
      gate replay 2019.jsonl.gz 2020.jsonl.zst --index notes.sqlite
      gate replay archive/ --kafka localhost:9092 --rate 500 --resume
      zcat *.gz | gate replay - --kafka localhost:9092
      gate replay archive/ --index redis://localhost:6379/0 --into-generation 2019
      gate replay archive/ --index notes.sqlite --html report.html --csv results.csv
      gate replay archive/ --dry-run

    A file is a document: a text, a page, a mail, PDF, Word and the like. Its id is its path relative to the folder, or
    the path as given where several sources are named. In JSON Lines each line is an event, as `gate run` takes them; in
    CSV and Parquet each row is a document, in WARC each record, in mbox each mail, in tar and ZIP each file. Any of
    them may be compressed by gzip, bzip2, xz or zstd. The time of a document is its own, or that of its file. The
    oldest file comes first; a file of events is as old as its first event. Hidden files are left out; a symbolic link,
    and any further hard link of a file, is no document. Both are counted.

    A replay may be stopped at any time, by force too: with --resume and the same sources it continues behind the last
    document that is known to be safe. Some may be sent twice then, which get the same verdict twice. Files and lines
    that cannot be read are skipped and summarised by reason. The exit code is 1 if a line cannot be read, and, with
    --strict, if a file cannot.

    With --kafka the documents go to the first topic of check-ins, and their verdicts are counted as they come. With
    --index they are judged here. With --into-generation they are judged among each other only, and live traffic does
    not meet them until `gate index promote NAME`; until then, --resume continues and `gate index drop NAME` gives up.
    """
    from gate.cli.replay import replay

    replay(**arguments)
