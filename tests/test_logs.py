"""What reaches a log: events in one form, libraries from WARNING on, no secret, and never a document's text."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
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


def test_the_console_form_is_for_people(stream: io.StringIO) -> None:
    configure_logging("info", "console", stream=stream)
    get_logger().warning("index.away", code="unavailable")
    assert "index.away" in stream.getvalue()
    assert "code=unavailable" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_below_the_level_nothing_is_logged(stream: io.StringIO) -> None:
    configure_logging("warning", "json", stream=stream)
    get_logger().info("worker.started")
    assert stream.getvalue() == ""


def test_called_again_it_replaces_itself(stream: io.StringIO) -> None:
    configure_logging("info", "json", stream=stream)
    configure_logging("info", "json", stream=stream)
    get_logger().info("worker.started")
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize(("level", "form", "named"), [("loud", "json", "log_level"), ("info", "xml", "log_format")])
def test_an_unknown_level_or_format_names_the_setting(level: str, form: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        configure_logging(level, form)


@pytest.mark.parametrize("name", ["aiokafka", "aiokafka.conn", "kafka.client", "redis.asyncio", "asyncio"])
def test_libraries_are_heard_from_warning_on_even_at_debug(lines: Lines, name: str) -> None:
    logger = logging.getLogger(name)
    logger.debug("record %s", CANARY)
    logger.info("record %s", CANARY)
    logger.warning("the broker is gone")
    [line] = lines()
    assert (line["event"], line["level"], line["logger"]) == ("the broker is gone", "warning", name)


def test_a_warning_that_quotes_an_unknown_error_tells_its_type_alone(lines: Lines) -> None:
    logging.getLogger("aiokafka").error("User provided listener failed: %s", ValueError(CANARY))
    [line] = lines()
    assert line["event"] == "User provided listener failed: ValueError"


def test_errors_of_the_broker_are_told_in_full(lines: Lines) -> None:
    from aiokafka.errors import RequestTimedOutError

    logging.getLogger("aiokafka").error("Heartbeat failed: %s", RequestTimedOutError())
    [line] = lines()
    assert "RequestTimedOutError" in line["event"]
    assert "[Error 7]" in line["event"]


def test_an_exception_is_told_by_type_and_place_and_not_by_its_message(lines: Lines) -> None:
    try:
        int(CANARY)
    except ValueError:
        logging.getLogger("aiokafka").exception("Unexpected error in fetcher routine")
        get_logger().exception("worker.crashed")
    for line in lines():
        assert line["error"] == "ValueError"
        assert "test_logs.py" in line["frames"][-1]
        assert CANARY not in json.dumps(line)


def test_an_error_of_the_gate_is_told_with_its_message_and_its_cause(lines: Lines) -> None:
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


def test_of_a_lost_task_only_the_first_line_is_told(lines: Lines) -> None:
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: <Task exception=%r>", CANARY)
    [line] = lines()
    assert line["event"] == "Task exception was never retrieved"


def test_the_password_in_a_url_is_hidden(lines: Lines) -> None:
    WorkerMetrics().log_started(index="redis://gate:sesame@localhost:6379/0")
    [line] = lines()
    assert line["index"] == "redis://***@localhost:6379/0"
