"""Find the profile: a built-in one by name, or one from a table that says how it differs from its `base`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect, structs

from gate.config.sources import Layer, Setting, describe_type, quote, read_text, read_toml, suggest
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import MethodParameters
from gate.core.method_registry import method_of, parameters_by_name
from gate.core.profile import Profile
from gate.errors import ConfigError

DEFAULT_PROFILE = "standard"
UNNAMED = "unnamed"


def resolve_profile(profile: Profile | str | Path) -> Profile:
    """A profile given by a program: by name, as a .toml file, or as a value, which is checked."""
    problems: list[str] = []
    if isinstance(profile, Profile):
        return vary_profile(profile, {})
    chosen = find_profile({"profile": Setting(str(profile), "argument", Layer.FLAG, Path())}, {}, problems)
    if problems or chosen is None:
        raise ConfigError(*problems)
    return chosen


def vary_profile(profile: Profile, changes: Mapping[str, Any]) -> Profile:
    """A profile with some of its parameters changed, flat as in a TOML table, and checked as a whole."""
    where = "profile (argument)"
    problems = _out_of_bounds(profile, where)
    changed = None if problems else _apply_changes(profile, changes, where, problems)
    if changed is not None:
        _check_ref(changed, where, problems)
        _check_method(changed, where, problems)
    if problems or changed is None:
        raise ConfigError(*problems)
    return changed


def find_profile(given: Mapping[str, Setting], paths: Mapping[str, Path | None], problems: list[str]) -> Profile | None:
    """The profile by name, from a file of its own, or from the table in the settings file; None with a problem."""
    chosen = given.get("profile", Setting(DEFAULT_PROFILE, "default", Layer.FILE, Path()))
    before = len(problems)
    own: dict[str, Any] = {}
    if path := paths.get("profiles_file"):
        own = read_toml(path, f"profiles_file ({given['profiles_file'].source})", problems)
    where = f"profile ({chosen.source})"
    if isinstance(chosen.value, dict):
        profile = _derive(chosen.value, None, own, where, problems, ())
    elif isinstance(chosen.value, str) and chosen.value.endswith(".toml"):
        file = chosen.folder / chosen.value
        profile = _derive(read_toml(file, where, problems), file.stem, own, f"profile ({file})", problems, ())
    elif isinstance(chosen.value, str):
        profile = _find_named(chosen.value, own, where, problems, ())
    else:
        problems.append(f"{where}: {quote(chosen.value)} is not allowed; give a name, a .toml file or a table")
        return None
    if profile is None or len(problems) > before:
        return None
    if words := paths.get("stop_words_file"):
        profile = _add_stop_words(profile, words, f"stop_words_file ({given['stop_words_file'].source})", problems)
    _check_method(profile, where, problems)
    return profile


def _check_method(profile: Profile, where: str, problems: list[str]) -> None:
    try:
        method_of(profile)
    except ConfigError as exc:
        problems.extend(f"{where}: {problem}" for problem in exc.problems)


def _find_named(
    name: str, own: Mapping[str, Any], where: str, problems: list[str], bases: tuple[str, ...]
) -> Profile | None:
    if name in bases:
        problems.append(f"{where}: `{name}` is its own base; end the chain at a built-in profile")
        return None
    table = own.get(name)
    if isinstance(table, dict):
        return _derive(table, name, own, f"{where}: `{name}`", problems, (*bases, name))
    if name not in BUILT_IN:
        problems.append(f"{where}: `{name}` is unknown; {suggest(name, (*BUILT_IN, *own))}")
    return BUILT_IN.get(name)


def _derive(
    table: Mapping[str, Any],
    default_name: str | None,
    own: Mapping[str, Any],
    where: str,
    problems: list[str],
    bases: tuple[str, ...],
) -> Profile | None:
    """A profile from a table: what its `base` says, but for what the table says; name and version are its own."""
    before = len(problems)
    base = _find_named(str(table["base"]), own, f"{where}: base", problems, bases) if "base" in table else None
    start = Profile(name=UNNAMED) if base is None else structs.replace(base, name=UNNAMED, version=1)
    changes = {key: value for key, value in table.items() if key != "base"}
    profile = _apply_changes(start, changes, where, problems)
    if "name" not in table:
        if default_name is None:
            problems.append(f"{where}: name is missing; give the profile a name of its own")
        kind = next(field.type for field in structs.fields(Profile) if field.name == "name")
        try:
            name = msgspec.convert(default_name or UNNAMED, kind)
        except msgspec.ValidationError:
            problems.append(f"{where}: the name `{default_name}` is not allowed; {describe_type(kind)}")
        else:
            profile = profile and structs.replace(profile, name=name)
    if profile is None or len(problems) > before:
        return None
    _check_ref(profile, where, problems)
    return profile


def _apply_changes(profile: Profile, changes: Mapping[str, Any], where: str, problems: list[str]) -> Profile | None:
    """The profile with flat changes; None with a problem. `false` turns a threshold off. Under another method it keeps
    the parameters that both methods have."""
    before = len(problems)
    kind = _parameters_kind(profile, changes, where, problems)
    fields = {field.name: field for field in structs.fields(Profile) if field.name != "method"}
    parameters = {field.name: field for field in structs.fields(kind)}
    values: dict[str, Any] = {}
    for key, value in changes.items():
        if key == "method":
            continue
        field = fields.get(key) or parameters.get(key)
        if field is None:
            problems.append(f"{where}: {_misplaced(key, kind, ('base', 'method', *fields, *parameters))}")
        elif key in kind.unused:
            problems.append(f"{where}: {key} means nothing to the method {kind.name}: {kind.unused[key]}")
        else:
            off = value is False and isinstance(inspect.type_info(field.type), inspect.UnionType)
            try:
                values[key] = None if off else msgspec.convert(value, field.type)
            except msgspec.ValidationError:
                problems.append(f"{where}: {key}: {quote(value)} is not allowed; {describe_type(field.type)}")
    if len(problems) > before:
        return None
    inherited = {key: value for key, value in structs.asdict(profile.method).items() if key in parameters}
    method = kind(**inherited | {key: value for key, value in values.items() if key in parameters})
    changed = {key: value for key, value in values.items() if key in fields}
    return structs.replace(profile, method=method, **changed)


def _parameters_kind(
    profile: Profile, changes: Mapping[str, Any], where: str, problems: list[str]
) -> type[MethodParameters]:
    """The parameters of the method that the changes name, or else of the profile's own."""
    kinds = parameters_by_name()
    name = changes.get("method", profile.method.name)
    if not isinstance(name, str) or name not in kinds:
        problems.append(f"{where}: method: {quote(name)} is unknown; choose one of {', '.join(sorted(kinds))}")
        return type(profile.method)
    return kinds[name]


def _misplaced(key: str, kind: type[MethodParameters], known: tuple[str, ...]) -> str:
    """What is wrong with a key that a profile of the method does not have."""
    owners = [name for name, other in parameters_by_name().items() if key in other.__struct_fields__]
    if not owners:
        return f"{key} is unknown; {suggest(key, known)}"
    return (
        f"{key} is a parameter of the method {' or '.join(owners)}, and the method here is {kind.name}; leave it out, "
        "or set method"
    )


def _out_of_bounds(profile: Profile, where: str) -> list[str]:
    """What is wrong with the fields of a profile that a program made: a struct checks nothing when it is made."""
    method: object = profile.method
    if not isinstance(method, MethodParameters):
        return [f"{where}: method: {quote(method)} is unknown; give parameters, for example SimHash(radius=3)"]
    problems = []
    for struct in (profile, profile.method):
        for field in structs.fields(struct):
            value = getattr(struct, field.name)
            try:
                if field.name != "method":
                    msgspec.convert(value, field.type)
            except msgspec.ValidationError:
                problems.append(f"{where}: {field.name}: {quote(value)} is not allowed; {describe_type(field.type)}")
    return problems


def _check_ref(profile: Profile, where: str, problems: list[str]) -> None:
    known = BUILT_IN.get(profile.name)
    if known is not None and known.version == profile.version and known.parameters() != profile.parameters():
        problems.append(f"{where}: {profile.ref} is a built-in profile; give a changed one another name or version")


def _add_stop_words(profile: Profile, path: Path, where: str, problems: list[str]) -> Profile:
    """The profile with the words of a file: one a line, # begins a comment."""
    if not profile.drop_stop_words:
        problems.append(f"{where}: profile {profile.ref} keeps stop words; choose one with drop_stop_words = true")
    before = len(problems)
    lines = read_text(path, where, problems).splitlines()
    words = dict.fromkeys(word for line in lines if (word := line.partition("#")[0].strip()))
    if not words and len(problems) == before:
        problems.append(f"{where}: {path} has no words; put one on each line")
    return structs.replace(profile, stop_words=tuple(words))
