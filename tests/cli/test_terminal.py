"""The command as a process of its own: on a terminal, in a pipe, interrupted."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from gate.demo import BREAD, LIGHTHOUSE

pytestmark = pytest.mark.usefixtures("empty_folder")

COMMAND = [sys.executable, "-m", "gate"]
COLUMNS = 100


def event(document_id: str, text: str) -> str:
    return json.dumps({"document_id": document_id, "text": text}) + "\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(event(f"d{n}", f"{BREAD} {n} {n * n}") for n in range(2000)))
    return path


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    left, right = tmp_path / "left.txt", tmp_path / "right.txt"
    left.write_text(LIGHTHOUSE)
    right.write_text(LIGHTHOUSE.replace("two goats", "seven geese"))
    return left, right


def on_terminal(
    *arguments: str | Path, output: Path | None = None, columns: int = COLUMNS, **environ: str
) -> tuple[int, str]:
    """Run with a terminal for stderr, and for stdout unless that goes to a file; the exit code and what was shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    with (output or Path(os.devnull)).open("wb") as file:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=file if output else theirs,
            stderr=theirs,
            env={**known, "TERM": "xterm-256color", **environ},
        )
    os.close(theirs)
    shown = bytearray()
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError as exc:
        if exc.errno != errno.EIO:  # the other end is closed: that is how a terminal ends
            raise
    os.close(ours)
    return process.wait(), shown.decode()


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


@pytest.mark.slow
def test_a_terminal_gets_colours_and_rules_and_a_pipe_plain_columns() -> None:
    code, shown = on_terminal("demo")
    assert code == 0
    assert "\x1b[1;33mnear" in shown
    assert "─" in shown
    piped = subprocess.run([*COMMAND, "demo"], capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    assert "─" not in piped
    assert all(line == line.rstrip() for line in piped.splitlines())
    # The same cells, whichever way they are shown.
    words = [line.split() for line in plain(shown).splitlines() if line.strip() and "─" not in line]
    assert words == [line.split() for line in piped.splitlines() if line.strip()]


@pytest.mark.slow
def test_no_colour_where_none_is_wanted() -> None:
    _, shown = on_terminal("demo", NO_COLOR="1")
    assert "\x1b[1;33m" not in shown


@pytest.mark.slow
def test_shared_and_differing_passages_have_colours_of_their_own_and_are_side_by_side_on_a_wide_terminal(
    texts: tuple[Path, Path],
) -> None:
    _, shown = on_terminal("compare", *texts, columns=100)
    assert "\x1b[1;33mtwo goats" in shown
    assert "\x1b[1;33mseven geese" in shown
    assert "\x1b[32mThe lighthouse on the northern rock" in shown
    assert not any("left.txt" in line and "right.txt" in line for line in shown.splitlines())
    _, wide = on_terminal("compare", *texts, columns=180)
    assert any("left.txt" in line and "right.txt" in line for line in wide.splitlines())


@pytest.mark.slow
def test_work_on_an_index_shows_its_progress_on_a_terminal(events: Path, tmp_path: Path) -> None:
    one, other, file = tmp_path / "one.sqlite", tmp_path / "other.sqlite", tmp_path / "index.jsonl"
    for does, arguments in {
        "rebuilding": ("rebuild", events, "--index", one),
        "exporting": ("export", "--index", one, "-o", file),
        "importing": ("import", file, "--index", other),
        "verifying": ("verify", "--index", other),
        "counting": ("info", "--index", other),
    }.items():
        code, shown = on_terminal("index", *arguments)
        assert code == 0, shown
        assert does in shown
        assert does not in plain(shown).splitlines()[-1]


@pytest.mark.slow
def test_a_long_run_shows_its_progress_on_a_terminal_and_takes_it_away(events: Path, tmp_path: Path) -> None:
    code, shown = on_terminal("run", events, output=tmp_path / "out.jsonl")
    assert code == 0
    assert "judging" in shown
    assert "documents" in shown
    assert plain(shown).rstrip().splitlines()[-1].startswith("done: 1 new, 1,999 near")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2000


@pytest.mark.slow
def test_verdicts_on_a_terminal_are_not_disturbed_by_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(event("a", LIGHTHOUSE))
    _, shown = on_terminal("run", path)
    verdict, summary = shown.splitlines()
    assert json.loads(verdict)["document_id"] == "a"
    assert summary == "done: 1 new"


@pytest.mark.slow
def test_a_dead_letter_is_reported_whole_beside_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(event("a", LIGHTHOUSE) + "no json\n" + event("b", LIGHTHOUSE))
    code, shown = on_terminal("run", path, output=tmp_path / "out.jsonl")
    assert code == 1
    assert "events.jsonl:2: the line is not JSON" in " ".join(plain(shown).split())
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


ROW = re.compile(r"\d{3}\.txt +(new|near) +(-|\d{3}\.txt) +[-\d]+.*")


@pytest.mark.slow
def test_rows_appear_batch_by_batch_and_neither_bar_nor_files_without_text_are_among_them(tmp_path: Path) -> None:
    for number in range(700):
        (tmp_path / f"{number:03}.txt").write_text(f"{BREAD} {number}" if number % 100 else "\0")
    code, shown = on_terminal("check", tmp_path, "--all")
    assert code == 0
    lines = plain(shown).replace("\r", "\n").splitlines()
    assert sum(ROW.fullmatch(line.rstrip()) is not None for line in lines) == 693
    # The bar is taken away for each batch of rows, and is back while the next one is judged.
    bars = [number for number, line in enumerate(lines) if line.startswith("checking")]
    rows = [number for number, line in enumerate(lines) if ROW.fullmatch(line.rstrip())]
    assert any(rows[0] < number < rows[-1] for number in bars)
    assert [line.rstrip() for line in lines if line.strip()][-5:] == [
        *(f"no text: {number}00.txt: is not a text file" for number in range(3)),
        "no text: 7 in all for the reason binary; -v reports each",
        "700 documents: 1 new, 6 exact, 692 near, 1 unreadable.",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--index", "kept.sqlite"), "what was judged is in the index, and gets the same verdict again; continue with"),
        ((), "nothing was kept; start again with"),
    ],
)
def test_an_interrupted_check_prints_the_command_that_continues_it(options: tuple[str, ...], hint: str) -> None:
    os.mkfifo("pipe")  # a read of it waits until it has a writer
    arguments = ["check", "pipe", *options]
    with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        with Path("pipe").open("wb"):  # opened when the command has begun to read
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        assert process.stderr.read() == f"interrupted\n{hint}:\n  gate {' '.join(arguments)}\n"


def closed_pipe() -> int:
    """The writing end of a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize(
    "command", [("demo",), ("demo", "--json"), ("plan",), ("config",), ("compare", "LEFT", "RIGHT")], ids=" ".join
)
def test_a_reader_that_closes_its_end_ends_the_command_quietly(
    command: tuple[str, ...], texts: tuple[Path, Path]
) -> None:
    named = {"LEFT": str(texts[0]), "RIGHT": str(texts[1])}
    stdout = closed_pipe()
    result = subprocess.run(
        [*COMMAND, *(named.get(one, one) for one in command)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(stdout)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.slow
def test_a_run_whose_reader_takes_only_the_first_verdict_ends_quietly(events: Path) -> None:
    with subprocess.Popen([*COMMAND, "run", events], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["document_id"] == "d0"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_run_that_is_stopped_by_a_signal_sums_up_what_it_did_and_can_be_continued(
    tmp_path: Path, number: signal.Signals, name: str
) -> None:
    index = str(tmp_path / "gate.sqlite")
    with subprocess.Popen(
        [*COMMAND, "run", "--index", index],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(event("a", LIGHTHOUSE))
        first = json.loads(process.stdout.readline())
        process.send_signal(number)
        assert process.wait(60) == 128 + number
        assert process.stderr.read() == (
            "stopped: 1 new\n"
            f"{name}\n"
            "what was judged is in the index, and gets the same verdict again; continue with:\n"
            f"  gate run --index {index}\n"
        )
    again = subprocess.run(
        [*COMMAND, "run", "--index", index], input=event("a", LIGHTHOUSE), capture_output=True, text=True, check=True
    )
    assert {**json.loads(again.stdout), "judged_at": None} == {**first, "judged_at": None}


@pytest.mark.slow
def test_a_letter_that_the_terminal_lacks_becomes_an_escape(tmp_path: Path) -> None:
    (tmp_path / "漢.txt").write_text(LIGHTHOUSE)
    shown = subprocess.run(
        [*COMMAND, "check", str(tmp_path)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert b"\\u6f22.txt" in shown.stdout


@pytest.mark.slow
def test_a_full_output_is_reported_and_can_be_tried_again(events: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run([*COMMAND, "run", events], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 3
    assert result.stderr.startswith("error: standard output: cannot be written: No space left on device; try again")
