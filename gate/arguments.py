"""Check what a caller of the library gives, and refuse it by name, with the remedy.

`UsageError` where the call is wrong by itself, `BadDocument` where one document, text or id of it cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from gate.core.profile import Profile, with_threshold
from gate.errors import BadDocument, ConfigError, UsageError
from gate.limits import Limits
from gate.model import CheckIn, Subject
from gate.pipeline import FINGERPRINT_BYTES, validate_characters, validate_document

T = TypeVar("T")

FINGERPRINT_DIGITS = 2 * FINGERPRINT_BYTES
_FINGERPRINT = re.compile(f"[0-9a-fA-F]{{{FINGERPRINT_DIGITS}}}")


def typed(name: str, value: T, kinds: tuple[type, ...], wanted: str) -> T:
    if not isinstance(value, kinds):
        raise wrong_type(name, value, wanted)
    return value


def wrong_type(name: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{name}: is of type {type(value).__name__}; give {wanted}")


def list_of(name: str, given: Iterable[Any], wanted: str) -> list[Any]:
    """The items of an argument. A string or a dict can be iterated over too, and is never what was meant."""
    refused: object = given
    if isinstance(refused, str | bytes | bytearray | memoryview | Mapping) or not isinstance(refused, Iterable):
        raise wrong_type(name, given, f"a list of {wanted}")
    return list(given)


def validated_documents(documents: Iterable[CheckIn], limits: Limits) -> list[CheckIn]:
    """The documents, all of which can be judged. `BadDocument` names the first that cannot."""
    listed: list[CheckIn] = list_of("documents", documents, "CheckIn")
    for place, document in enumerate(listed):
        try:
            validate_document(document, limits)
        except BadDocument as exc:
            document_id = getattr(document, "document_id", None)
            named = f" ({document_id!r})" if isinstance(document_id, str) else ""
            raise BadDocument(exc.code, f"documents[{place}]{named}: {exc}") from None
    return listed


def validated_pairs(pairs: Iterable[tuple[str, str]], limits: Limits) -> list[tuple[str, str]]:
    listed: list[object] = list_of("pairs", pairs, "pairs of texts")
    return [_validated_pair(f"pairs[{place}]", pair, limits) for place, pair in enumerate(listed)]


def _validated_pair(name: str, pair: object, limits: Limits) -> tuple[str, str]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UsageError(f"{name}: is no pair; give two texts")
    for side, text in enumerate(pair):
        try:
            validate_document(CheckIn(document_id="?", text=text), limits)
        except BadDocument as exc:
            raise BadDocument(exc.code, f"{name}[{side}]: {exc}") from None
    return pair[0], pair[1]


def validated_ids(document_ids: Iterable[str]) -> list[str]:
    ids: list[str] = list_of("document_ids", document_ids, "ids")
    for place, document_id in enumerate(ids):
        validate_id(f"document_ids[{place}]", document_id)
    return ids


def validate_id(name: str, document_id: object) -> None:
    if not isinstance(document_id, str):
        raise BadDocument("bad_field", f"{name}: is of type {type(document_id).__name__}; give a str")
    validate_characters(name, document_id)


def fingerprint_number(fingerprint: object) -> int:
    """A fingerprint as a number, given as one or in the digits of a verdict."""
    if type(fingerprint) is int and 0 <= fingerprint < 1 << 64:
        return fingerprint
    if isinstance(fingerprint, str) and _FINGERPRINT.fullmatch(fingerprint):
        return int(fingerprint, 16)
    raise UsageError(
        f"fingerprint: is not one; give {FINGERPRINT_DIGITS} hexadecimal digits, or a whole number from 0 to 2**64 - 1"
    )


def only_kind(name: str, subject: object) -> str:
    """Which field of a subject is given. UsageError: it is not exactly one."""
    if not isinstance(subject, Subject):
        raise wrong_type(name, subject, "a Subject")
    kinds = subject.__struct_fields__
    given = [kind for kind in kinds if getattr(subject, kind) is not None]
    if len(given) != 1:
        problem = f"{' and '.join(given)} are given" if given else "nothing is given"
        raise UsageError(f"{name}: {problem}; give exactly one of text, document_id and fingerprint")
    return given[0]


def positive(name: str, value: object) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{name}: {value!r} is not allowed; give a whole number of at least 1, or None for all")
    return value


def checked_threads(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ConfigError(f"sign_threads: {value!r} is not allowed; give a whole number of at least 1")
    return value


def at_threshold(profile: Profile, threshold: object) -> Profile:
    """The profile with another threshold."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise UsageError(f"threshold: {threshold!r} is not allowed; give a number above 0 and at most 1")
    try:
        return with_threshold(profile, threshold)
    except ValueError as exc:
        raise UsageError(f"threshold: {exc}") from exc


def checked_limits(limits: Limits | None) -> Limits:
    if limits is None:
        return Limits()
    try:
        return msgspec.convert(msgspec.structs.asdict(typed("limits", limits, (Limits,), "Limits")), Limits)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"limits: {exc}") from exc
