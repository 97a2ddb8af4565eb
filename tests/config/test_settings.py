"""Settings: which layer wins, and what is said about a mistake."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gate.archive.bounds import ArchiveLimits
from gate.config.index import MEMORY
from gate.config.settings import Secret, load_settings
from gate.config.stream import STREAM
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import ConfigError
from gate.extract.limits import ExtractLimits
from gate.limits import Limits
from tests.config.settings_problems import problems, write

PASSWORD = "correct horse battery staple"


# Layers


def test_with_nothing_set_the_defaults_are_in_force() -> None:
    settings, origins = load_settings({}, {})
    assert settings.profile == BUILT_IN["standard"]
    assert settings.index == MEMORY
    assert settings.limits == Limits()
    assert not settings.secret
    assert {effective.source for effective in origins.values()} == {"default"}
    assert origins["index"].value == "memory"


def test_flags_win_over_the_environment_and_that_over_the_file_and_that_over_the_defaults(folder: Path) -> None:
    write(folder / "gate.toml", "[limits]\nmax_matches = 1\nmax_candidates = 1\nmax_bucket = 1\n")
    environ = {"GATE_LIMITS_MAX_MATCHES": "2", "GATE_LIMITS_MAX_CANDIDATES": "2"}
    settings, origins = load_settings({"limits.max_matches": 3}, environ)
    assert settings.limits == Limits(max_matches=3, max_candidates=2, max_bucket=1)
    assert origins["limits.max_matches"] == (3, "--set limits.max_matches")
    assert origins["limits.max_candidates"] == (2, "GATE_LIMITS_MAX_CANDIDATES")
    assert origins["limits.max_bucket"] == (1, "gate.toml")
    assert origins["limits.batch_documents"] == (256, "default")


def test_every_setting_has_an_origin() -> None:
    _, origins = load_settings({}, {})
    limits = {f"limits.{name}" for name in Limits.__struct_fields__}
    extract = {f"extract.{name}" for name in ExtractLimits.__struct_fields__} - {"extract.max_chars"}
    archive = {f"archive.{name}" for name in ArchiveLimits.__struct_fields__}
    paths = {"index", "dead_letters", "content_root", "profiles_file", "stop_words_file", "secret_file"}
    others = {name for name in origins if name not in STREAM and not name.startswith(("redis_", "kafka_", "api_"))}
    assert others == {"profile", "secret", "keep_details", "sign_threads"} | paths | limits | extract | archive


def test_a_flag_that_was_not_given_changes_nothing() -> None:
    settings, _ = load_settings({"index": None, "profile": None}, {"GATE_INDEX": "kept.sqlite"})
    assert settings.index == "kept.sqlite"


def test_a_number_may_come_as_its_digits_from_a_flag() -> None:
    assert load_settings({"limits.max_matches": "4"}, {})[0].limits.max_matches == 4


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load_settings({}, {"GATE_INDEX": "", "GATE_SECRET": ""})[0].index == MEMORY


def test_the_environment_may_name_the_settings_file_and_a_flag_wins_over_it(folder: Path) -> None:
    write(folder / "one.toml", 'profile = "simhash"')
    write(folder / "two.toml", 'profile = "minhash"')
    environ = {"GATE_CONFIG": "one.toml"}
    assert load_settings({}, environ)[0].profile.name == "simhash"
    assert load_settings({}, environ, Path("two.toml"))[0].profile.name == "minhash"


def test_a_path_in_a_file_is_relative_to_the_file_and_any_other_to_the_working_directory(folder: Path) -> None:
    path = write(folder / "etc" / "gate.toml", 'index = "a.sqlite"\ndead_letters = "/var/dead.jsonl"')
    settings, _ = load_settings({}, {}, path)
    assert settings.index == str(folder / "etc" / "a.sqlite")
    assert settings.dead_letters == Path("/var/dead.jsonl")
    assert load_settings({"index": Path("b.sqlite")}, {}, path)[0].index == "b.sqlite"


def test_a_higher_layer_can_ask_for_the_index_in_memory_again(folder: Path) -> None:
    write(folder / "gate.toml", 'index = "a.sqlite"')
    assert load_settings({"index": "memory"}, {})[0].index == MEMORY


def test_variables_that_kubernetes_sets_for_a_service_called_gate_are_ignored() -> None:
    environ = dict.fromkeys(
        ["GATE_SERVICE_HOST", "GATE_SERVICE_PORT", "GATE_SERVICE_PORT_HTTP", "GATE_PORT", "GATE_PORT_80_TCP_ADDR"], "x"
    )
    load_settings({}, environ)


# Problems


def test_every_problem_is_reported_at_once() -> None:
    found = problems(
        'idnex = "a"\n[limits]\nmax_matches = 0\nmax_bukcet = 1\n',
        environ={"GATE_LIMITS_BATCH_CHARS": "many", "GATE_PROFIEL": "x"},
        flags={"profile": "standrad"},
    )
    assert found == [
        "idnex (gate.toml): unknown; did you mean `index`?",
        "limits.max_bukcet (gate.toml): unknown; did you mean `limits.max_bucket`?",
        "GATE_PROFIEL (environment): unknown; did you mean `GATE_PROFILE`?",
        "limits.max_matches (gate.toml): 0 is not allowed; give a whole number at least 1",
        "limits.batch_chars (GATE_LIMITS_BATCH_CHARS): 'many' is not allowed; give a whole number at least 1",
        "profile (--profile): `standrad` is unknown; did you mean `standard`?",
    ]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("qqqqq = 1", "qqqqq (gate.toml): unknown; known are api_allowed_hosts, api_answer_seconds, "),
        ("index = 5", "index (gate.toml): 5 is not allowed; give the path of a file"),
        ('index = ""', "index (gate.toml): '' is not allowed; give the path of a file"),
        ("limits = 5", "limits (gate.toml): unknown; "),
        ('[limits]\nmax_matches = "5"', "limits.max_matches (gate.toml): '5' is not allowed"),
        ("profile = 5", "profile (gate.toml): 5 is not allowed; give a name, a .toml file or a table"),
        ("x = ", "gate.toml is not TOML: "),
        ('content_root = "missing"', "missing is not a folder"),
        ('profiles_file = "missing.toml"', "missing.toml cannot be read: no such file"),
        ('profile = "missing.toml"', "missing.toml cannot be read: no such file"),
        ('secret_file = "missing"', "missing cannot be read: no such file"),
        ('index = "~nobody-of-that-name/x"', "names the home of an unknown user"),
    ],
)
def test_a_problem_names_the_key_its_origin_and_what_is_allowed(toml: str, said: str) -> None:
    [problem] = problems(toml)
    assert said in problem


def test_a_settings_file_that_was_asked_for_must_be_there() -> None:
    with pytest.raises(ConfigError, match=r"other\.toml cannot be read: no such file"):
        load_settings({}, {}, Path("other.toml"))


def test_a_settings_file_that_is_not_utf_8_is_reported(folder: Path) -> None:
    (folder / "gate.toml").write_bytes(b"index = 'caf\xe9'")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 12"):
        load_settings({}, {})


def test_an_unknown_flag_is_reported() -> None:
    assert problems(flags={"profil": "x"}) == ["--set profil: unknown; did you mean `profile`?"]


# Secrets


def test_a_secret_comes_from_the_environment() -> None:
    settings, origins = load_settings({}, {"GATE_SECRET": PASSWORD})
    assert settings.secret == Secret(PASSWORD.encode())
    assert origins["secret"] == ("set", "GATE_SECRET")


def test_a_secret_comes_from_a_file_without_the_end_of_its_line(folder: Path) -> None:
    write(folder / "hush", PASSWORD + "\n")
    assert load_settings({"secret_file": "hush"}, {})[0].secret.value == PASSWORD.encode()


def test_the_secret_of_the_higher_layer_wins(folder: Path) -> None:
    write(folder / "gate.toml", 'secret_file = "file"')
    write(folder / "file", "of the file")
    write(folder / "flag", "of the flag")
    environ = {"GATE_SECRET": "of the environment"}
    assert load_settings({}, {})[0].secret.value == b"of the file"
    assert load_settings({}, environ)[0].secret.value == b"of the environment"
    assert load_settings({"secret_file": "flag"}, environ)[0].secret.value == b"of the flag"


def test_no_secret_is_ever_shown(folder: Path) -> None:
    settings, origins = load_settings({}, {"GATE_SECRET": PASSWORD})
    assert PASSWORD not in f"{settings!r} {settings} {origins!r}"
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


def test_no_problem_shows_a_secret(folder: Path) -> None:
    write(folder / "hush", PASSWORD * 5)
    found = problems(
        f'secret = "{PASSWORD}"', environ={"GATE_SECRET": PASSWORD * 5, "GATE_SECRET_FILE": "hush"}, flags={"nope": 1}
    )
    assert len(found) == 4
    assert PASSWORD not in "\n".join(found)


def test_a_secret_in_a_settings_file_is_refused() -> None:
    [problem] = problems(f'secret = "{PASSWORD}"')
    assert "set GATE_SECRET, or name a secret_file" in problem


def test_two_secrets_on_one_layer_are_a_mistake(folder: Path) -> None:
    write(folder / "hush", "x")
    [problem] = problems(environ={"GATE_SECRET": "x", "GATE_SECRET_FILE": "hush"})
    assert "set one of them" in problem


def test_a_secret_that_would_count_in_part_only_is_refused() -> None:
    assert load_settings({}, {"GATE_SECRET": "x" * 64})[0].secret
    [problem] = problems(environ={"GATE_SECRET": "x" * 65})
    assert "at most 64" in problem


def test_an_empty_secret_file_is_a_mistake_and_not_a_gate_without_a_secret(folder: Path) -> None:
    write(folder / "hush", "\n")
    [problem] = problems('secret_file = "hush"')
    assert "is empty" in problem
