"""How a log line is written: one JSON object or one line for people, on stderr, without secrets and without texts.

Events of the gate come from `gate.metrics` alone. Libraries are heard from WARNING on, whatever the level: what they
say below it is theirs to debug, and aiokafka prints whole records there. An exception is told by its type and its place
in the code; its message only where the gate or the system wrote it, since any other may quote what it choked on.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from types import TracebackType
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from gate.errors import ConfigError, GateError

Format = Literal["json", "console"]
LEVELS = ("debug", "info", "warning", "error")
FORMATS: tuple[Format, ...] = ("json", "console")
NAME = "gate"  # of the logger whose level is the one that was asked for

_SECRET = re.compile(r"(?<=://)[^/@\s]*@")  # the user and the password in a URL
_FRAMES = 20  # of a traceback, the innermost; a recursion has thousands
Logger = structlog.stdlib.BoundLogger


def get_logger(**bound: object) -> Logger:
    """The logger of the gate. It follows the standard library's settings, so that a program that embeds the gate and
    calls no `configure_logging` sees warnings in its own log and nothing else."""
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


def configure_logging(level: str = "info", format: Format = "json", *, stream: TextIO | None = None) -> None:
    """Send every log line of the process to stderr (or `stream`), in one form. Called again, it replaces itself."""
    problems = []
    if level.lower() not in LEVELS:
        problems.append(f"log_level: {level!r} is unknown; choose one of {', '.join(LEVELS)}")
    if format not in FORMATS:
        problems.append(f"log_format: {format!r} is unknown; choose one of {', '.join(FORMATS)}")
    if problems:
        raise ConfigError(*problems)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(_without_quotes)
    handler.setFormatter(_formatter(format, colours=(stream or sys.stderr).isatty()))
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(old)
    root.addHandler(handler)
    wanted = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(wanted, logging.WARNING))
    logging.getLogger(NAME).setLevel(wanted)
    for library in ("aiokafka", "kafka"):  # somebody may have set these lower by hand
        logging.getLogger(library).setLevel(max(wanted, logging.WARNING))
    logging.captureWarnings(True)


def _formatter(format: Format, *, colours: bool) -> structlog.stdlib.ProcessorFormatter:
    common: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _tell_exception,
        _hide_secrets,
    ]
    last: list[Processor] = (
        [structlog.processors.JSONRenderer(ensure_ascii=False, default=str)]
        if format == "json"
        else [structlog.dev.ConsoleRenderer(colors=colours)]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_first_line],
        processors=[*common, structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )


def _without_quotes(record: logging.LogRecord) -> bool:
    """A filter that lets all pass. No warning of aiokafka prints a key or a value, but several print whatever error
    came up; of one that is not known to be harmless the type is told."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            type(value).__qualname__ if isinstance(value, BaseException) and not _is_harmless(value) else value
            for value in record.args
        )
    return True


def _is_harmless(error: BaseException) -> bool:
    """Errors of aiokafka name codes, brokers and partitions."""
    return isinstance(error, GateError | OSError) or type(error).__module__ == "aiokafka.errors"


def _first_line(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Of a library's message: asyncio puts what a task held, results and errors included, in the lines below."""
    event["event"] = str(event["event"]).split("\n", 1)[0]
    return event


def _tell_exception(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    given = event.pop("exc_info", None)
    if given is True:
        given = sys.exc_info()
    error = given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        event.update(told(error))
    return event


def told(error: BaseException) -> dict[str, object]:
    """An error as a log may have it: its type, where in the code it was raised, and its message if that is ours."""
    facts: dict[str, object] = {"error": type(error).__qualname__, "frames": _frames(error.__traceback__)}
    if isinstance(error, GateError):
        facts["message"] = str(error)
    elif isinstance(error, OSError) and error.strerror:
        facts["message"] = error.strerror
    if error.__cause__ is not None:
        facts["cause"] = told(error.__cause__)
    return facts


def _frames(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


def _hide_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    for key, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[key] = _SECRET.sub("***@", value)
    return event
