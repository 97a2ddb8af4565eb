"""Read settings files, convert values, and describe what is wrong with them: shared by the loaders of all settings."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

MAX_QUOTED_CHARS = 60


class Layer(IntEnum):
    """Where a setting comes from; the higher layer wins."""

    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


class Setting(NamedTuple):
    """The value of one setting, not converted yet, and where it came from."""

    value: object
    source: str
    layer: Layer
    folder: Path  # what a relative path is relative to


def read_bytes(path: Path, where: str, problems: list[str]) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        problems.append(f"{where}: {path} cannot be read: {(exc.strerror or 'no reason given').lower()}")
        return b""


def read_text(path: Path, where: str, problems: list[str]) -> str:
    try:
        return read_bytes(path, where, problems).decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        problems.append(f"{where}: {path} is not UTF-8 at byte {exc.start}; re-encode it as UTF-8")
        return ""


def read_toml(path: Path, where: str, problems: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, where, problems))
    except tomllib.TOMLDecodeError as exc:
        problems.append(f"{where}: {path} is not TOML: {exc}")
        return {}


def convert_setting(key: str, setting: Setting, kind: Any, problems: list[str]) -> Any:
    """Convert a value to its type; None with a problem. The environment and flags may give a number as its digits."""
    try:
        return msgspec.convert(setting.value, kind, strict=setting.layer is Layer.FILE)
    except msgspec.ValidationError:
        problems.append(f"{key} ({setting.source}): {quote(setting.value)} is not allowed; {describe_type(kind)}")


def suggest(key: str, known: tuple[str, ...]) -> str:
    """The known key nearest to a misspelled one, or all of them."""
    close = get_close_matches(key, known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known are {', '.join(sorted(known))}"


def quote(value: object) -> str:
    """A value in an error message, cut to a bounded length."""
    text = repr(str(value) if isinstance(value, Path) else value)
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[: MAX_QUOTED_CHARS - 3]}..."


def describe_type(kind: Any) -> str:
    """What values a type allows, as an instruction: "give a whole number at least 1"."""
    info = kind if isinstance(kind, inspect.Type) else inspect.type_info(kind)
    match info:
        case inspect.LiteralType(values=values):
            return f"choose one of {', '.join(map(str, values))}"
        case inspect.BoolType():
            return "give true or false"
        case inspect.IntType() | inspect.FloatType():
            bounds = {"at least": info.ge, "above": info.gt, "at most": info.le, "below": info.lt}
            limits = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
            return f"give a {'whole ' if isinstance(info, inspect.IntType) else ''}number {limits}".rstrip()
        case inspect.StrType(pattern=str(pattern)):
            return f"give text like {pattern}"
        case inspect.VarTupleType():
            return "give a list of words"
        case inspect.UnionType(types=types):
            return f"{describe_type(types[0])}, or false for none"
        case _:
            return "give text"
