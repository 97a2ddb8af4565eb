"""`gate replay`: archives of real files, into an index and through a real broker; killed, interrupted and resumed."""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import re
import shlex
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.archive.replay_stats import ReplayStats
from gate.cli import main
from gate.cli.replay import PROGRESS_SECONDS, ReplayBar
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from gate.limits import Limits
from gate.model import Relation
from gate.stream.records import Record, decode_record
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import open_topic_reader
from gate.wire import CheckInEvent, DecodedMessage
from tests.support.brokers import KafkaServer, TopicFactory
from tests.support.servers import wait_until

CANARY = "marmalade"
EDITED = LIGHTHOUSE.replace("three summers", "four summers")


@pytest.fixture(autouse=True)
def state(empty_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def gate(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


def summary(*arguments: str | Path, code: int = 0, stdin: bytes | None = None) -> dict[str, Any]:
    result = gate("replay", *arguments, "--json", stdin=stdin)
    assert result.exit_code == code, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def event(document_id: str, text: str, **more: Any) -> bytes:
    return json.dumps({"document_id": document_id, "text": text, **more}).encode() + b"\n"


@pytest.fixture
def archive() -> Path:
    folder = Path("archive")
    (folder / "letters").mkdir(parents=True)
    (folder / "bread.txt").write_text(BREAD)
    (folder / "letters" / "light.txt").write_text(LIGHTHOUSE)
    (folder / "letters" / "wide.txt").write_text(EDITED, encoding="utf-16")
    (folder / "more.jsonl.gz").write_bytes(
        gzip.compress(event("copy", BREAD.upper()) + event("bridge", BRIDGE) + CANARY.encode() + b"\n")
    )
    (folder / "photo.png").write_bytes(b"\x89PNG\0\0" + CANARY.encode())
    (folder / "sub.jsonl").write_bytes(b'{"document_id": "bridge", "type": "delete"}\n' + event("again", BRIDGE))
    return folder


# Into an index


def test_an_archive_is_judged_in_the_order_of_its_names(archive: Path) -> None:
    report = summary(archive, "--index", "kept.sqlite", code=1)
    assert report["relations"] == {"new": 4, "exact": 1, "near": 1, "unreadable": 1}
    assert report["groups"] == [
        {"original": "bread.txt", "documents": 2},
        {"original": "letters/light.txt", "documents": 2},
    ]
    assert report["unreadable"] == {"bad_json": {"count": 1, "examples": ["more.jsonl.gz:3"]}}
    assert report["without_text"] == {"binary": {"count": 1, "examples": ["photo.png"]}}
    assert (report["read"], report["deletes"], report["sent"]) == (8, 1, 8)
    [verdict] = [
        json.loads(line) for line in gate("explain", "again", "--index", "kept.sqlite", "--json").stdout.splitlines()
    ]
    assert verdict["relation"] == "new"  # the delete came before it


def test_the_summary_for_people_has_the_same_counts_and_no_text(archive: Path) -> None:
    result = gate("replay", archive, "--index", "kept.sqlite")
    assert result.exit_code == 1
    assert "no text: photo.png: is not a text file" in result.stderr
    assert "near" in result.stdout
    assert "letters/light.txt          2" in result.stdout
    assert CANARY not in result.output
    assert gate("replay", archive, "--index", "kept.sqlite", "--quiet", "--set", "limits.max_matches=3").stdout == ""


def test_a_replay_ends_with_the_report_that_a_check_writes(archive: Path) -> None:
    report = summary(archive, "--index", "kept.sqlite", "--html", "report.html", "--csv", archive / "all.csv", code=1)
    rows = list(csv.DictReader((archive / "all.csv").read_text().splitlines()))
    assert Counter(row["verdict"] for row in rows if row["verdict"] != "not judged") == report["relations"]
    [wide] = [row for row in rows if row["document"] == "letters/wide.txt"]
    assert wide["original"] == "letters/light.txt"
    page = Path("report.html").read_text()
    assert "Near-duplicates in archive/" in page
    assert "Judged against kept.sqlite." in page
    assert "more.jsonl.gz:3" in page
    [data] = re.findall('<script type="application/json" id="data">(.*?)</script>', page)
    assert "four" in json.dumps(json.loads(data)["pairs"])  # the passages of a pair: what was edited
    resumed = gate("replay", archive, "--index", "kept.sqlite", "--resume", "--html", "report.html")
    assert resumed.exit_code == 0
    assert "Without what was done before: 6 files." in Path("report.html").read_text()


@pytest.mark.parametrize("more", [("--dry-run",), ("--kafka", "localhost:1", "--wait", "0")])
def test_a_report_of_no_verdicts_is_refused(archive: Path, more: tuple[str, ...]) -> None:
    result = gate("replay", archive, "--html", "report.html", *more)
    assert result.exit_code == 2
    assert "a report needs verdicts" in result.stderr
    assert not Path("report.html").exists()


def test_a_dry_run_reads_everything_and_leaves_nothing(archive: Path, state: Path) -> None:
    report = summary(archive, "--index", "kept.sqlite", "--dry-run", code=1)
    assert (report["read"], report["sent"], report["relations"]) == (8, 0, {})
    assert report["without_text"]["binary"]["count"] == 1
    assert not Path("kept.sqlite").exists()
    assert not state.exists()


def test_files_that_are_done_are_left_out_by_resume_and_judged_alike_without(archive: Path) -> None:
    before = summary(archive, "--index", "kept.sqlite", code=1)
    assert summary(archive, "--index", "kept.sqlite", "--resume", "--strict")["read"] == 0
    (archive / "bread.txt").write_text(BRIDGE)
    resumed = summary(archive, "--index", "kept.sqlite", "--resume", "--strict")
    assert (resumed["read"], resumed["done_before"]) == (1, 5)
    (archive / "bread.txt").write_text(BREAD)
    assert summary(archive, "--index", "kept.sqlite", code=1)["judged"] == before["judged"]


def test_standard_input_is_replayed_and_resumed_by_its_lines() -> None:
    lines = [event(f"{n}", f"{BREAD} {n}") for n in range(5)]
    lines[2] = b"no json\n"
    assert summary("-", "--index", "kept.sqlite", stdin=gzip.compress(b"".join(lines[:3])), code=1)["read"] == 2
    resumed = summary("-", "--index", "kept.sqlite", "--resume", stdin=b"".join(lines))
    assert (resumed["read"], resumed["unreadable"]) == (2, {})  # a line that was reported before is not reported again


def test_an_index_beside_the_documents_is_none_of_them(archive: Path) -> None:
    report = summary(archive, "--index", archive / "kept.sqlite", "--journal", archive / "notes", code=1)
    assert report["without_text"]["binary"] == {"count": 1, "examples": ["photo.png"]}
    assert report["read"] == 8


def test_a_replay_without_a_target_is_refused(archive: Path) -> None:
    for options in ((), ("--index", "memory")):
        result = gate("replay", archive, *options)
        assert result.exit_code == 2
        assert "--kafka HOST:PORT or --index PATH|URL" in result.stderr
        assert result.stdout == ""


def test_a_file_that_cannot_be_read_fails_only_a_strict_replay(archive: Path) -> None:
    (archive / "more.jsonl.gz").unlink()
    assert summary(archive, "--index", "kept.sqlite")["without_text"]["binary"]["count"] == 1
    summary(archive, "--index", "kept.sqlite", "--strict", code=1)


def test_what_is_no_document_is_counted(archive: Path) -> None:
    (archive / ".hidden").write_text(BREAD)
    (archive / "link").symlink_to("bread.txt")
    report = summary(archive, "--dry-run", code=1)
    assert (report["read"], report["links"], report["hidden"]) == (8, 1, 1)
    shown = gate("replay", archive, "--dry-run").stdout
    assert "links" in shown
    assert "hidden" in shown


def test_a_journal_is_private(archive: Path, state: Path) -> None:
    summary(archive, "--index", "kept.sqlite", code=1)
    [journal] = state.glob("gate/*.journal")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (journal, Path("kept.sqlite"))] == [0o600, 0o600]


def test_a_target_is_one_and_a_source_is_there(archive: Path) -> None:
    both = gate("replay", archive, "--index", "a.sqlite", "--kafka", "localhost:1")
    assert "give --kafka or --index, not both" in both.stderr
    assert gate("replay", "nowhere", "--index", "a.sqlite").exit_code == 2
    Path("text").write_text("text")
    other = gate("replay", archive, "--index", "a.sqlite", "--journal", "text", "--resume")
    assert other.exit_code == 2
    assert "is not a replay journal" in other.stderr


def test_fields_of_other_names_are_mapped_and_a_file_of_prose_is_reported_once() -> None:
    Path("posts.jsonl").write_bytes(b"".join(b'{"id": %d, "body": "%d"}\n' % (n, n) for n in range(30)))
    Path("prose.jsonl").write_text("A line of prose.\n" * 100)
    report = summary("posts.jsonl", "prose.jsonl", "--index", "kept.sqlite", "--id-field", "id", "--text-field", "body")
    assert (report["read"], report["judged"]) == (30, 30)
    assert report["unreadable"] == {"not_json_lines": {"count": 1, "examples": ["prose.jsonl"]}}
    assert gate("explain", "17", "--index", "kept.sqlite").exit_code == 0


def test_progress_has_the_rate_the_time_left_and_the_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    moments = iter(
        [100.0, 100.0, 100.0, 100.0 + PROGRESS_SECONDS / 2, 100.0 + PROGRESS_SECONDS, 101.0 + PROGRESS_SECONDS]
    )
    tally = ReplayStats(read=500)
    tally.count_verdict(Relation.NEAR, "a", similar=True)
    bar = ReplayBar(tally, shown=True, clock=lambda: next(moments))
    with bar.opened(4_000_000):
        for _ in range(3):
            bar.update(1_000_000)
    assert capsys.readouterr().err == "500 documents, 50/s: 1 near, 0:00:30 left\n"


# Through a topic


class Topic:
    """The topics of one test, and what is in that of check-ins."""

    def __init__(self, brokers: str, topic_factory: TopicFactory) -> None:
        self.brokers = brokers
        self.names = {
            "kafka_topics": topic_factory.create("in", partitions=3),
            "kafka_verdict_topic": topic_factory.create("out"),
            "kafka_dead_letter_topic": topic_factory.create("dead"),
            "kafka_group": topic_factory.group(),
        }

    @property
    def options(self) -> tuple[str, ...]:
        return ("--kafka", self.brokers, *(w for key, name in self.names.items() for w in ("--set", f"{key}={name}")))

    def records(self) -> list[Record]:
        async def read() -> list[Record]:
            async with open_topic_reader(KafkaSettings(brokers=self.brokers), [self.names["kafka_topics"]]) as found:
                return [record async for batch in found.batches() for record in batch]

        return asyncio.run(read())

    def events(self) -> list[Any]:
        arrived = [decode_record(record, limits=Limits()) for record in self.records()]
        return [one.event for one in arrived if isinstance(one, DecodedMessage)]


@pytest.fixture
def topic(kafka: KafkaServer, topic_factory: TopicFactory) -> Topic:
    return Topic(kafka.brokers, topic_factory)


@pytest.fixture
def worker(topic: Topic) -> Iterator[None]:
    """A gate at work on the topics."""
    command = [sys.executable, "-m", "gate", "run", *topic.options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def test_documents_go_to_the_topic_with_their_ids_as_keys_and_their_dates(archive: Path, topic: Topic) -> None:
    report = summary(archive, *topic.options, "--wait", "0", "--source", "old shelf", code=1)
    assert (report["sent"], report["unanswered"]) == (8, 0)  # with --wait 0 no verdict is awaited
    texts = {b"bread.txt", b"letters/light.txt", b"letters/wide.txt", b"copy", b"bridge", b"again"}
    assert {record.key for record in topic.records()} == texts | {b"photo.png"}
    events = [event for event in topic.events() if isinstance(event, CheckInEvent)]
    assert {event.document_id: event.text for event in events}["letters/wide.txt"] == EDITED
    assert [event.document_id for event in events if event.content_sha256] == ["photo.png"]
    assert all(event.checked_in_at is not None and event.source == "old shelf" for event in events)


def test_documents_without_a_verdict_are_counted_as_waiting(topic: Topic) -> None:
    Path("e.jsonl").write_bytes(event("a", BREAD) + event("b", BRIDGE))
    assert summary("e.jsonl", *topic.options, "--wait", "0.1")["unanswered"] == 2
    assert "without a verdict so far" in gate("replay", "e.jsonl", *topic.options, "--wait", "0.1").stdout


@pytest.mark.usefixtures("worker")
def test_verdicts_on_the_documents_sent_are_counted(archive: Path, topic: Topic) -> None:
    (archive / "sub.jsonl").write_bytes(event("same", BREAD))
    report = summary(archive, *topic.options, "--wait", "60", "--csv", "all.csv", code=1)
    assert report["judged"] == 7
    rows = list(csv.DictReader(Path("all.csv").read_text().splitlines()))
    assert Counter(row["verdict"] for row in rows if row["verdict"] != "not judged") == report["relations"]
    assert all(row["original"] and row["like"] for row in rows if row["verdict"] in ("exact", "near"))
    assert report["relations"]["unreadable"] == 1  # the picture, by its bytes
    assert report["unanswered"] == 0
    assert sum(group["documents"] for group in report["groups"]) == 5  # which was first depends on the partitions
    again = summary(archive, *topic.options, "--wait", "60", code=1)
    assert again["relations"] == report["relations"]  # a document does not match itself


def journal_lines(state: Path) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in state.glob("gate/*.journal"))


def started(*arguments: str | Path, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gate", "replay", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)


def large(count: int) -> Path:
    Path("large").mkdir()
    for n in range(count // 2):
        Path("large", f"{n:04}.txt").write_text(f"{n} {BREAD[:40]}")
    Path("large", "more.jsonl").write_bytes(b"".join(event(f"line {n}", BREAD[:40]) for n in range(count // 2)))
    return Path("large")


@pytest.mark.parametrize("to_topic", [True, False])
def test_a_killed_replay_resumes_without_gaps(topic: Topic, state: Path, to_topic: bool) -> None:
    archive = large(1000)
    target = (*topic.options, "--wait", "0") if to_topic else ("--index", "kept.sqlite")
    for kill in range(3):
        before = journal_lines(state)
        process = started(archive, *target, "--rate", "200", *(["--resume"] if kill else []))
        try:
            wait_until(lambda before=before: journal_lines(state) > before + 2, "nothing was noted")  # type: ignore[misc]
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()
    report = summary(archive, *target, "--resume")
    assert 0 < report["read"] < 1000
    wanted = {f"{n:04}.txt" for n in range(500)} | {f"line {n}" for n in range(500)}
    if to_topic:
        sent = Counter(event.document_id for event in topic.events())
        assert set(sent) == wanted
        assert sent.total() < 2000  # and not all of it again and again
    else:
        [info] = [json.loads(gate("index", "info", "--index", "kept.sqlite", "--json").stdout)]
        assert info["documents"] == 1000
    assert summary(archive, *target, "--resume")["read"] == 0


def test_an_interrupted_replay_records_the_batch_in_flight_before_it_ends(topic: Topic, state: Path) -> None:
    archive = large(1000)
    arguments: tuple[str | Path, ...] = (archive, *topic.options, "--wait", "0", "--rate", "100")
    process = started(*arguments, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: journal_lines(state) > 2, "nothing was noted")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
    assert process.stderr is not None
    with process.stderr as stream:
        message = stream.read().decode()
    command_line = shlex.join(["gate", "replay", *map(str, arguments), "--resume"])
    assert message.endswith(f"interrupted\nwhat was sent is recorded; continue with:\n  {command_line}\n")
    sent = len(topic.records())
    left = summary(archive, *topic.options, "--wait", "0", "--resume")["read"]
    assert 1000 - sent <= left <= 1000 - sent + 10  # a batch, if the signal came between its last record and its note
    assert len({record.key for record in topic.records()}) == 1000


def test_a_document_that_the_topic_refuses_is_reported_and_the_others_are_sent(
    topic: Topic, topic_factory: TopicFactory
) -> None:
    topic.names["kafka_topics"] = topic_factory.create("small", max_message_bytes="2000")
    lines = (
        event("a", "text")
        + event("b", "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(3000)))
        + event("c", "text")
    )
    Path("e.jsonl").write_bytes(lines)
    report = summary("e.jsonl", *topic.options, "--wait", "0", code=1)
    assert report["dead_lettered"] == {"too_large_for_topic": 1}
    assert [record.key for record in topic.records()] == [b"a", b"c"]
