"""Find the profile: a built-in one by name, or one from a table that says how it differs from its `base`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect, structs

from gate.config.sources import Layer, Setting, describe_type, quote, read_text, read_toml, suggest
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.errors import ConfigError

DEFAULT_PROFILE = "standard"


def chosen_profile(profile: Profile | str | Path) -> Profile:
    """A profile given by a program: by name, as a .toml file, or as a value, not checked yet."""
    value = structs.asdict(profile) if isinstance(profile, Profile) else str(profile)
    problems: list[str] = []
    found = find_profile({"profile": Setting(value, "argument", Layer.FLAG, Path())}, {}, problems)
    if problems or found is None:
        raise ConfigError(*problems)
    return found


def find_profile(given: Mapping[str, Setting], paths: Mapping[str, Path | None], problems: list[str]) -> Profile | None:
    """The profile by name, from a file of its own, or from the table in the settings file; None with a problem."""
    chosen = given.get("profile", Setting(DEFAULT_PROFILE, "default", Layer.FILE, Path()))
    before = len(problems)
    own: dict[str, Any] = {}
    if path := paths.get("profiles_file"):
        own = read_toml(path, f"profiles_file ({given['profiles_file'].source})", problems)
    where = f"profile ({chosen.source})"
    if isinstance(chosen.value, dict):
        profile = _derived(chosen.value, None, own, where, problems, ())
    elif isinstance(chosen.value, str) and chosen.value.endswith(".toml"):
        file = chosen.folder / chosen.value
        profile = _derived(read_toml(file, where, problems), file.stem, own, f"profile ({file})", problems, ())
    elif isinstance(chosen.value, str):
        profile = _named(chosen.value, own, where, problems, ())
    else:
        problems.append(f"{where}: {quote(chosen.value)} is not allowed; give a name, a .toml file or a table")
        return None
    if profile is None or len(problems) > before:
        return None
    if words := paths.get("stop_words_file"):
        profile = _with_stop_words(profile, words, f"stop_words_file ({given['stop_words_file'].source})", problems)
    try:
        method_of(profile)
    except ConfigError as exc:
        problems.extend(f"{where}: {problem}" for problem in exc.problems)
    return profile


def _named(
    name: str, own: Mapping[str, Any], where: str, problems: list[str], above: tuple[str, ...]
) -> Profile | None:
    if name in above:
        problems.append(f"{where}: `{name}` is its own base; end the chain at a built-in profile")
        return None
    table = own.get(name)
    if isinstance(table, dict):
        return _derived(table, name, own, f"{where}: `{name}`", problems, (*above, name))
    if name not in BUILT_IN:
        problems.append(f"{where}: `{name}` is unknown; {suggest(name, (*BUILT_IN, *own))}")
    return BUILT_IN.get(name)


def _derived(
    table: Mapping[str, Any],
    default_name: str | None,
    own: Mapping[str, Any],
    where: str,
    problems: list[str],
    above: tuple[str, ...],
) -> Profile | None:
    """A profile from a table: what its `base` says, but for what the table says. `false` turns a threshold off."""
    before = len(problems)
    fields = {field.name: field for field in structs.fields(Profile)}
    values: dict[str, Any] = {}
    if "base" in table:
        base = _named(str(table["base"]), own, f"{where}: base", problems, above)
        values = structs.asdict(base) if base else {}
        # Its name and version are the base's own.
        values.pop("name", None)
        values.pop("version", None)
    for key, value in table.items():
        if key == "base":
            continue
        if key not in fields:
            problems.append(f"{where}: {key} is unknown; {suggest(key, ('base', *fields))}")
            continue
        kind = fields[key].type
        off = value is False and isinstance(inspect.type_info(kind), inspect.UnionType)
        try:
            values[key] = None if off else msgspec.convert(value, kind)
        except msgspec.ValidationError:
            problems.append(f"{where}: {key}: {quote(value)} is not allowed; {describe_type(kind)}")
    if "name" not in table:
        if default_name is None:
            problems.append(f"{where}: name is missing; give the profile a name of its own")
        try:
            values["name"] = msgspec.convert(default_name or "unnamed", fields["name"].type)
        except msgspec.ValidationError:
            problems.append(f"{where}: the name `{default_name}` is not allowed; {describe_type(fields['name'].type)}")
    if len(problems) > before:
        return None
    profile = Profile(**values)
    known = BUILT_IN.get(profile.name)
    if known is not None and known.version == profile.version and known != profile:
        problems.append(f"{where}: {profile.ref} is a built-in profile; give a changed one another name or version")
    return profile


def _with_stop_words(profile: Profile, path: Path, where: str, problems: list[str]) -> Profile:
    """The profile with the words of a file: one a line, # begins a comment."""
    if not profile.drop_stop_words:
        problems.append(f"{where}: profile {profile.ref} keeps stop words; choose one with drop_stop_words = true")
    before = len(problems)
    lines = read_text(path, where, problems).splitlines()
    words = dict.fromkeys(word for line in lines if (word := line.partition("#")[0].strip()))
    if not words and len(problems) == before:
        problems.append(f"{where}: {path} has no words; put one on each line")
    return structs.replace(profile, stop_words=tuple(words))
