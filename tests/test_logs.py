"""Log lines: their format, which of them libraries may write, no secret, and never a document's text."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gate.errors import BadDocument, ConfigError
from gate.logs import configure_logging, get_logger
from gate.metrics import WorkerMetrics

CANARY = "the quick canary of a document"

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    names = ("gate", "aiokafka", "kafka")
    levels = [root.level, *(logging.getLogger(name).level for name in names)]
    handlers = root.handlers[:]
    yield io.StringIO()
    root.handlers[:] = handlers
    for logger, level in zip([root, *map(logging.getLogger, names)], levels, strict=True):
        logger.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    """All that was logged, at DEBUG."""
    configure_logging("debug", "json", stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_time_and_level(lines: Lines) -> None:
    get_logger(worker="3").info("worker.started", group="gate")
    [line] = lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "worker.started", "level": "info", "logger": "gate", "worker": "3", "group": "gate"}


def test_the_console_format_is_one_line_of_time_level_event_and_values(stream: io.StringIO) -> None:
    configure_logging("info", "console", stream=stream)
    get_logger().warning("dependency.went_down", dependency="index", code="unavailable")
    line = stream.getvalue()
    shape = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[warning *\] dependency\.went_down .*dependency=index code=unavailable\n"
    assert re.fullmatch(shape, line)


def test_the_console_format_shows_the_message_of_an_error_before_its_frames(stream: io.StringIO) -> None:
    configure_logging("info", "console", stream=stream)
    WorkerMetrics().log_crashed(ConfigError("workers: too many"))
    assert re.search(r"error=ConfigError message='workers: too many' frames=", stream.getvalue())


def test_auto_is_json_where_the_stream_is_no_terminal(stream: io.StringIO) -> None:
    configure_logging("info", stream=stream)
    get_logger().info("worker.started")
    assert json.loads(stream.getvalue())["event"] == "worker.started"


WORKER_THAT_FAILS: tuple[str | Path, ...] = (
    Path(__file__).parent / "support" / "fake_workers.py",
    "crashes",
    "--workers",
    "1",
)


def on_a_terminal(*command: str | Path, **environment: str) -> str:
    """What a command writes to a stderr that is a terminal."""
    ours, theirs = os.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen([sys.executable, *command], stderr=theirs, env={**inherited, **environment}):
        os.close(theirs)
        written = b""
        with suppress(OSError):  # EIO: the command has closed the terminal
            while received := os.read(ours, 2**16):
                written += received
    os.close(ours)
    return written.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "colors"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_gate_on_a_terminal_logs_for_people_in_colors_unless_these_are_unwanted(
    environment: dict[str, str], colors: bool
) -> None:
    written = on_a_terminal(*WORKER_THAT_FAILS, **environment)
    assert ("\x1b[" in written) is colors
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written)
    assert re.search(r"^[\d-]{10} [\d:]{8} \[error *\] worker\.crashed .*error=ValueError", plain, re.MULTILINE)
    assert CANARY not in written


@pytest.mark.slow
def test_json_can_be_forced_on_a_terminal() -> None:
    written = on_a_terminal(*WORKER_THAT_FAILS, "--log-format", "json")
    assert "worker.crashed" in [json.loads(line)["event"] for line in written.splitlines()]


@pytest.mark.slow
def test_console_can_be_forced_into_a_file_and_has_no_colors_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out:
        command: list[str | Path] = [sys.executable, *WORKER_THAT_FAILS, "--log-format", "console"]
        subprocess.run(command, stderr=out, timeout=60, check=False)
    assert "[error" in log.read_text()
    assert "\x1b" not in log.read_text()


def test_the_console_format_cannot_be_made_to_move_the_cursor_or_start_a_line(stream: io.StringIO) -> None:
    configure_logging("info", "console", stream=stream)
    get_logger().info("worker.started", group="a\x1b[2J\u202eb")
    logging.getLogger("asyncio").warning("one\x1b[1A\rtwo\nthree")
    assert "\x1b" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
    assert "\r" not in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 2


def test_below_the_level_nothing_is_logged(stream: io.StringIO) -> None:
    configure_logging("warning", "json", stream=stream)
    get_logger().info("worker.started")
    assert stream.getvalue() == ""


def test_a_second_configuration_replaces_the_first(stream: io.StringIO) -> None:
    configure_logging("info", "json", stream=stream)
    configure_logging("info", "json", stream=stream)
    get_logger().info("worker.started")
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize(("level", "form", "named"), [("loud", "json", "log_level"), ("info", "xml", "log_format")])
def test_an_unknown_level_or_format_names_the_setting(level: str, form: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        configure_logging(level, form)


@pytest.mark.parametrize("name", ["aiokafka", "aiokafka.conn", "kafka.client", "redis.asyncio", "asyncio"])
def test_libraries_log_from_warning_on_even_at_debug(lines: Lines, name: str) -> None:
    logger = logging.getLogger(name)
    logger.debug("record %s", CANARY)
    logger.info("record %s", CANARY)
    logger.warning("the broker is gone")
    [line] = lines()
    assert (line["event"], line["level"], line["logger"]) == ("the broker is gone", "warning", name)


def test_a_warning_that_quotes_an_unknown_error_shows_only_its_type(lines: Lines) -> None:
    logging.getLogger("aiokafka").error("User provided listener failed: %s", ValueError(CANARY))
    [line] = lines()
    assert line["event"] == "User provided listener failed: ValueError"


def test_errors_of_the_broker_are_logged_in_full(lines: Lines) -> None:
    from aiokafka.errors import RequestTimedOutError

    logging.getLogger("aiokafka").error("Heartbeat failed: %s", RequestTimedOutError())
    [line] = lines()
    assert "RequestTimedOutError" in line["event"]
    assert "[Error 7]" in line["event"]


def test_an_exception_is_logged_by_type_and_place_and_not_by_its_message(lines: Lines) -> None:
    try:
        int(CANARY)
    except ValueError:
        logging.getLogger("aiokafka").exception("Unexpected error in fetcher routine")
        get_logger().exception("worker.crashed")
    for line in lines():
        assert line["error"] == "ValueError"
        assert "test_logs.py" in line["frames"][-1]
        assert CANARY not in json.dumps(line)


def test_an_error_of_the_gate_is_logged_with_its_message_and_its_cause(lines: Lines) -> None:
    try:
        try:
            int(CANARY)
        except ValueError as exc:
            raise BadDocument("bad_field", "field `version` is no number") from exc
    except BadDocument as exc:
        WorkerMetrics().log_crashed(exc)
    [line] = lines()
    assert line["message"] == "field `version` is no number"
    assert line["cause"]["error"] == "ValueError"
    assert CANARY not in json.dumps(line)


def test_of_a_lost_task_only_the_first_line_is_logged(lines: Lines) -> None:
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: <Task exception=%r>", CANARY)
    [line] = lines()
    assert line["event"] == "Task exception was never retrieved"


def test_the_password_in_a_url_is_hidden(lines: Lines) -> None:
    WorkerMetrics().log_started(index="redis://gate:sesame@localhost:6379/0")
    [line] = lines()
    assert line["index"] == "redis://***@localhost:6379/0"
