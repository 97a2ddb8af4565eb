"""What loading any setting takes: values with their origin, files, and words for people about what was wrong."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect


class Layer(IntEnum):
    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


class Given(NamedTuple):
    """A value as it was given."""

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


def checked(key: str, given: Given, kind: Any, problems: list[str]) -> Any:
    """The value as its type. From the environment and from flags, a number may come as its digits."""
    try:
        return msgspec.convert(given.value, kind, strict=given.layer is Layer.FILE)
    except msgspec.ValidationError:
        problems.append(f"{key} ({given.source}): {shown(given.value)} is not allowed; {allowed(kind)}")


def nearest(key: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(key, known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known are {', '.join(sorted(known))}"


def shown(value: object) -> str:
    text = repr(str(value) if isinstance(value, Path) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def allowed(kind: Any) -> str:
    """What a type takes, in words."""
    info = kind if isinstance(kind, inspect.Type) else inspect.type_info(kind)
    match info:
        case inspect.LiteralType(values=values):
            return f"choose one of {', '.join(map(str, values))}"
        case inspect.BoolType():
            return "give true or false"
        case inspect.IntType() | inspect.FloatType():
            bounds = {"at least": info.ge, "above": info.gt, "at most": info.le, "below": info.lt}
            told = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
            return f"give a {'whole ' if isinstance(info, inspect.IntType) else ''}number {told}".rstrip()
        case inspect.StrType(pattern=str(pattern)):
            return f"give text like {pattern}"
        case inspect.VarTupleType():
            return "give a list of words"
        case inspect.UnionType(types=types):
            return f"{allowed(types[0])}, or false for none"
        case _:
            return "give text"
