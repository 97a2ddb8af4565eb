"""How a log line is written: one JSON object, or one line for a person at a terminal; on stderr, without secrets and
without documents' texts.

Events of the gate come from `gate.metrics` alone. Libraries are logged from WARNING on, whatever the level: aiokafka
prints whole records at DEBUG. An exception is logged by its type and its place in the code; its message only where the
gate or the operating system wrote it, since any other may quote a document.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
from types import TracebackType
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from gate.errors import ConfigError, GateError

Format = Literal["auto", "json", "console"]
LEVELS = ("debug", "info", "warning", "error")
FORMATS: tuple[Format, ...] = ("auto", "json", "console")
NAME = "gate"  # of the logger that follows `log_level`; all others stay at WARNING or above

_SECRET = re.compile(r"(?<=://)[^/@\s]*@")  # the user and the password in a URL
_FRAMES = 20  # of a traceback, the innermost; a recursion has thousands
Logger = structlog.stdlib.BoundLogger


def get_logger(**bound: object) -> Logger:
    """The logger of the gate. It goes through the standard library's `logging`: a program that embeds the gate and does
    not call `configure_logging` gets the gate's warnings in its own log, and nothing else."""
    logger: Logger = structlog.wrap_logger(
        logging.getLogger(NAME),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return logger.bind(**bound)


def configure_logging(level: str = "info", format: Format = "auto", *, stream: TextIO | None = None) -> None:
    """Send every log line of the process to stderr (or `stream`). Another call replaces the earlier configuration.

    `auto` is `console` where the stream is a terminal, and `json` anywhere else.
    """
    problems = []
    if level.lower() not in LEVELS:
        problems.append(f"log_level: {level!r} is unknown; choose one of {', '.join(LEVELS)}")
    if format not in FORMATS:
        problems.append(f"log_format: {format!r} is unknown; choose one of {', '.join(FORMATS)}")
    if problems:
        raise ConfigError(*problems)
    stream = stream or sys.stderr
    is_terminal = stream.isatty()
    if format == "auto":
        format = "console" if is_terminal else "json"
    handler = logging.StreamHandler(stream)
    handler.addFilter(_remove_quoted_errors)
    handler.setFormatter(_console_formatter(colors=is_terminal) if format == "console" else _json_formatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(old)
    root.addHandler(handler)
    number = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(number, logging.WARNING))
    logging.getLogger(NAME).setLevel(number)
    for library in ("aiokafka", "kafka"):  # a lower level that a program set by hand would print records
        logging.getLogger(library).setLevel(max(number, logging.WARNING))
    logging.captureWarnings(True)


def _json_formatter() -> logging.Formatter:
    """One JSON object per line, with the time in UTC."""
    return _formatter(
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    )


def _console_formatter(*, colors: bool) -> logging.Formatter:
    """Local time, level, event and key=value, in colours on a terminal unless NO_COLOR is set."""
    return _formatter(
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
        _escape_control_characters,
        structlog.dev.ConsoleRenderer(colors=colors and not os.environ.get("NO_COLOR"), sort_keys=False),
    )


def _formatter(stamp: Processor, *render: Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_first_line],
        processors=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            stamp,
            _describe_exception,
            _hide_secrets,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *render,
        ],
    )


def _remove_quoted_errors(record: logging.LogRecord) -> bool:
    """A filter that passes every record. No warning of aiokafka prints a key or a value, but several print the error
    that occurred: one whose message may quote a record is replaced by the name of its type."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            type(value).__qualname__ if isinstance(value, BaseException) and not _is_harmless(value) else value
            for value in record.args
        )
    return True


def _is_harmless(error: BaseException) -> bool:
    """Whether an error's message quotes no document. Errors of aiokafka name codes, brokers and partitions."""
    return isinstance(error, GateError | OSError) or type(error).__module__ == "aiokafka.errors"


def _first_line(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Keep the first line of a library's message: asyncio lists a task's results and errors in the lines below it."""
    event["event"] = str(event["event"]).split("\n", 1)[0]
    return event


def _describe_exception(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    exc_info = event.pop("exc_info", None)
    if exc_info is True:
        exc_info = sys.exc_info()
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, BaseException):
        event.update(describe_error(error))
    return event


def describe_error(error: BaseException) -> dict[str, object]:
    """An error as a log may show it: its type, the frames it came through, and its message if the gate or the operating
    system wrote it."""
    facts: dict[str, object] = {"error": type(error).__qualname__}
    if isinstance(error, GateError):
        facts["message"] = str(error)
    elif isinstance(error, OSError) and error.strerror:
        facts["message"] = error.strerror
    facts["frames"] = _frames(error.__traceback__)  # after the message: on a terminal they fill the rest of the line
    if error.__cause__ is not None:
        facts["cause"] = describe_error(error.__cause__)
    return facts


def _frames(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


def _hide_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    for key, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[key] = _SECRET.sub("***@", value)
    return event


def _escape_control_characters(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Escape what would move the cursor, recolour the terminal or start a new line; JSON escapes these by itself."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)
    return event
