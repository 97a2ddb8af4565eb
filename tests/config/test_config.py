"""Settings: which layer wins, and what is said about a mistake."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gate.config import Secret, load_settings
from gate.config.index import MEMORY
from gate.config.stream import STREAM
from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.limits import Limits

HUSH = "correct horse battery staple"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def problems(
    toml: str = "", *, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None
) -> list[str]:
    write(Path("gate.toml"), toml)
    with pytest.raises(ConfigError) as caught:
        load_settings(flags or {}, environ or {})
    return list(caught.value.problems)


def profile_of(toml: str) -> Profile:
    write(Path("gate.toml"), toml)
    return load_settings({}, {})[0].profile


# Layers


def test_with_nothing_set_the_defaults_are_in_force() -> None:
    settings, told = load_settings({}, {})
    assert settings.profile == BUILT_IN["standard"]
    assert settings.index == MEMORY
    assert settings.limits == Limits()
    assert not settings.secret
    assert {effective.source for effective in told.values()} == {"default"}
    assert told["index"].value == "memory"


def test_flags_win_over_the_environment_and_that_over_the_file_and_that_over_the_defaults(folder: Path) -> None:
    write(folder / "gate.toml", "[limits]\nmax_matches = 1\nmax_candidates = 1\nmax_bucket = 1\n")
    environ = {"GATE_LIMITS_MAX_MATCHES": "2", "GATE_LIMITS_MAX_CANDIDATES": "2"}
    settings, told = load_settings({"limits.max_matches": 3}, environ)
    assert settings.limits == Limits(max_matches=3, max_candidates=2, max_bucket=1)
    assert told["limits.max_matches"] == (3, "--set limits.max_matches")
    assert told["limits.max_candidates"] == (2, "GATE_LIMITS_MAX_CANDIDATES")
    assert told["limits.max_bucket"] == (1, "gate.toml")
    assert told["limits.batch_documents"] == (256, "default")


def test_every_setting_has_an_origin() -> None:
    _, told = load_settings({}, {})
    limits = {f"limits.{name}" for name in Limits.__struct_fields__}
    paths = {"index", "dead_letters", "content_root", "profiles_file", "stop_words_file", "secret_file"}
    others = {name for name in told if name not in STREAM and not name.startswith(("redis_", "kafka_"))}
    assert others == {"profile", "secret"} | paths | limits


def test_a_flag_that_was_not_given_changes_nothing() -> None:
    settings, _ = load_settings({"index": None, "profile": None}, {"GATE_INDEX": "kept.sqlite"})
    assert settings.index == "kept.sqlite"


def test_a_number_may_come_as_its_digits_from_a_flag() -> None:
    assert load_settings({"limits.max_matches": "4"}, {})[0].limits.max_matches == 4


def test_an_empty_variable_is_one_that_is_not_set() -> None:
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


def test_variables_that_kubernetes_sets_for_a_service_called_gate_are_nobodys_typo() -> None:
    environ = dict.fromkeys(
        ["GATE_SERVICE_HOST", "GATE_SERVICE_PORT", "GATE_SERVICE_PORT_HTTP", "GATE_PORT", "GATE_PORT_80_TCP_ADDR"], "x"
    )
    load_settings({}, environ)


# Problems


def test_every_problem_is_told_at_once() -> None:
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
        ("qqqqq = 1", "qqqqq (gate.toml): unknown; known are batch_bytes, content_root, dead_letters, "),
        ("index = 5", "index (gate.toml): 5 is not allowed; give the path of a file"),
        ('index = ""', "index (gate.toml): '' is not allowed; give the path of a file"),
        ("limits = 5", "limits (gate.toml): unknown; "),
        ('[limits]\nmax_matches = "5"', "limits.max_matches (gate.toml): '5' is not allowed"),
        ("profile = 5", "profile (gate.toml): 5 is not allowed; give a name, a .toml file or a table"),
        ("x = ", "gate.toml is not TOML: "),
        ('content_root = "missing"', "missing is no folder"),
        ('profiles_file = "missing.toml"', "missing.toml cannot be read: no such file"),
        ('profile = "missing.toml"', "missing.toml cannot be read: no such file"),
        ('secret_file = "missing"', "missing cannot be read: no such file"),
        ('index = "~nobody-of-that-name/x"', "names the home of nobody"),
    ],
)
def test_a_problem_names_the_key_its_origin_and_what_is_allowed(toml: str, said: str) -> None:
    [problem] = problems(toml)
    assert said in problem


def test_a_settings_file_that_was_asked_for_must_be_there() -> None:
    with pytest.raises(ConfigError, match=r"other\.toml cannot be read: no such file"):
        load_settings({}, {}, Path("other.toml"))


def test_a_settings_file_that_is_not_utf_8_is_told(folder: Path) -> None:
    (folder / "gate.toml").write_bytes(b"index = 'caf\xe9'")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 12"):
        load_settings({}, {})


def test_a_flag_that_nobody_knows_is_told() -> None:
    assert problems(flags={"profil": "x"}) == ["--set profil: unknown; did you mean `profile`?"]


# Secrets


def test_a_secret_comes_from_the_environment() -> None:
    settings, told = load_settings({}, {"GATE_SECRET": HUSH})
    assert settings.secret == Secret(HUSH.encode())
    assert told["secret"] == ("set", "GATE_SECRET")


def test_a_secret_comes_from_a_file_without_the_end_of_its_line(folder: Path) -> None:
    write(folder / "hush", HUSH + "\n")
    assert load_settings({"secret_file": "hush"}, {})[0].secret.value == HUSH.encode()


def test_the_secret_of_the_higher_layer_wins(folder: Path) -> None:
    write(folder / "gate.toml", 'secret_file = "file"')
    write(folder / "file", "of the file")
    write(folder / "flag", "of the flag")
    environ = {"GATE_SECRET": "of the environment"}
    assert load_settings({}, {})[0].secret.value == b"of the file"
    assert load_settings({}, environ)[0].secret.value == b"of the environment"
    assert load_settings({"secret_file": "flag"}, environ)[0].secret.value == b"of the flag"


def test_no_secret_is_ever_shown(folder: Path) -> None:
    settings, told = load_settings({}, {"GATE_SECRET": HUSH})
    assert HUSH not in f"{settings!r} {settings} {told!r}"
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


def test_no_problem_shows_a_secret(folder: Path) -> None:
    write(folder / "hush", HUSH * 5)
    found = problems(
        f'secret = "{HUSH}"', environ={"GATE_SECRET": HUSH * 5, "GATE_SECRET_FILE": "hush"}, flags={"nope": 1}
    )
    assert len(found) == 4
    assert HUSH not in "\n".join(found)


def test_a_secret_in_a_settings_file_is_refused() -> None:
    [problem] = problems(f'secret = "{HUSH}"')
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


# Profiles


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_built_in_profile_can_be_chosen_by_name(name: str) -> None:
    assert load_settings({"profile": name}, {})[0].profile == BUILT_IN[name]


def test_a_table_says_how_a_profile_differs_from_its_base() -> None:
    profile = profile_of('[profile]\nname = "mine"\nbase = "roth-2013"\ngram = 6\n')
    assert profile == msgspec.structs.replace(BUILT_IN["roth-2013"], name="mine", gram=6)


def test_false_turns_a_threshold_off() -> None:
    assert profile_of('[profile]\nname = "mine"\nbase = "standard"\nresemblance = false').resemblance is None


def test_a_profile_may_have_a_file_of_its_own_and_is_named_after_it(folder: Path) -> None:
    write(folder / "etc" / "strict.toml", 'base = "standard"\nresemblance = 0.95')
    path = write(folder / "etc" / "gate.toml", 'profile = "strict.toml"')
    profile = load_settings({}, {}, path)[0].profile
    assert (profile.ref, profile.resemblance) == ("strict@1", 0.95)


def test_a_profiles_file_holds_several_and_one_may_build_on_another(folder: Path) -> None:
    write(folder / "profiles.toml", '[loose]\nbase = "strict"\ngram = 2\n[strict]\nresemblance = 0.95\nversion = 3\n')
    settings, told = load_settings({"profile": "loose", "profiles_file": "profiles.toml"}, {})
    assert settings.profile == Profile(name="loose", gram=2, resemblance=0.95)
    assert told["profile"] == ("loose@1", "--profile")
    assert told["profiles_file"] == ("profiles.toml", "--profiles-file")


def test_profiles_that_build_on_each_other_in_a_circle_are_told(folder: Path) -> None:
    write(folder / "profiles.toml", '[a]\nbase = "b"\n[b]\nbase = "a"\n')
    [problem] = problems('profile = "a"\nprofiles_file = "profiles.toml"')
    assert "`a` is its own base" in problem


def test_every_problem_of_a_profile_is_told_at_once() -> None:
    found = problems(
        '[profile]\nbase = "standart"\nsteam = "words"\nstream = "sentences"\nresemblance = 1.5\n'
        'gram = 0\nweights = 1\nmask_numbers = "yes"\nstop_words = "the"\n'
    )
    assert found == [
        "profile (gate.toml): base: `standart` is unknown; did you mean `standard`?",
        "profile (gate.toml): steam is unknown; did you mean `stream`?",
        "profile (gate.toml): stream: 'sentences' is not allowed; choose one of characters, soundex, words",
        "profile (gate.toml): resemblance: 1.5 is not allowed; give a number above 0 and at most 1, or false for none",
        "profile (gate.toml): gram: 0 is not allowed; give a whole number at least 1 and at most 64",
        "profile (gate.toml): weights: 1 is not allowed; choose one of count, log, set",
        "profile (gate.toml): mask_numbers: 'yes' is not allowed; give true or false",
        "profile (gate.toml): stop_words: 'the' is not allowed; give a list of words",
        "profile (gate.toml): name is missing; give the profile a name of its own",
    ]


def test_a_changed_profile_may_not_pass_under_the_name_of_a_built_in_one() -> None:
    [problem] = problems('[profile]\nname = "standard"\ngram = 5')
    assert "give a changed one another name or version" in problem
    assert profile_of('[profile]\nname = "standard"\nversion = 2\ngram = 5').ref == "standard@2"
    assert profile_of('[profile]\nname = "standard"\nbase = "standard"') == BUILT_IN["standard"]


def test_a_profile_whose_parameters_do_not_go_together_is_told() -> None:
    [problem] = problems('[profile]\nname = "mine"\nbands = 128\nrows = 8')
    assert "bands" in problem
    [problem] = problems('[profile]\nname = "mine"\nmethod = "magic"')
    assert "method" in problem


def test_a_name_that_cannot_be_part_of_a_key_is_refused(folder: Path) -> None:
    write(folder / "Mine!.toml", "gram = 4")
    [problem] = problems('profile = "Mine!.toml"')
    assert "the name `Mine!` is not allowed; give text like" in problem


def test_stop_words_come_from_a_file_one_a_line(folder: Path) -> None:
    write(folder / "words.txt", "# German\nder\ndie # the\n\ndas\nder\n")
    profile = profile_of('stop_words_file = "words.txt"\n[profile]\nname = "mine"\ndrop_stop_words = true')
    assert profile.stop_words == ("der", "die", "das")


def test_stop_words_that_would_not_be_used_are_told(folder: Path) -> None:
    write(folder / "words.txt", "der")
    [problem] = problems('stop_words_file = "words.txt"')
    assert "drop_stop_words = true" in problem


def test_a_stop_words_file_without_words_is_a_mistake_and_not_the_english_list(folder: Path) -> None:
    write(folder / "words.txt", "# none yet\n")
    [problem] = problems('stop_words_file = "words.txt"\n[profile]\nname = "mine"\ndrop_stop_words = true')
    assert "has no words" in problem
