"""Profiles in settings: chosen by name, from a file, or as a table; and what is said about a mistake."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from gate.config.profiles import vary_profile
from gate.config.settings import load_settings
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Hybrid, SimHash
from gate.core.profile import Profile
from gate.errors import ConfigError
from tests.config.settings_problems import problems, write


def profile_of(toml: str) -> Profile:
    write(Path("gate.toml"), toml)
    return load_settings({}, {})[0].profile


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
    settings, origins = load_settings({"profile": "loose", "profiles_file": "profiles.toml"}, {})
    assert settings.profile == Profile(name="loose", gram=2, resemblance=0.95)
    assert origins["profile"] == ("loose@1", "--profile")
    assert origins["profiles_file"] == ("profiles.toml", "--profiles-file")


def test_profiles_that_build_on_each_other_in_a_circle_are_reported(folder: Path) -> None:
    write(folder / "profiles.toml", '[a]\nbase = "b"\n[b]\nbase = "a"\n')
    [problem] = problems('profile = "a"\nprofiles_file = "profiles.toml"')
    assert "`a` is its own base" in problem


def test_every_problem_of_a_profile_is_reported_at_once() -> None:
    found = problems(
        '[profile]\nbase = "standart"\ntokeniser = "words"\ntokenizer = "sentences"\nresemblance = 1.5\n'
        'gram = 0\nweights = 1\nmask_numbers = "yes"\nstop_words = "the"\n'
    )
    assert found == [
        "profile (gate.toml): base: `standart` is unknown; did you mean `standard`?",
        "profile (gate.toml): tokeniser is unknown; did you mean `tokenizer`?",
        "profile (gate.toml): tokenizer: 'sentences' is not allowed; choose one of characters, soundex, words",
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


def test_a_profile_whose_parameters_do_not_go_together_is_reported() -> None:
    [problem] = problems('[profile]\nname = "mine"\nbands = 128\nrows = 8')
    assert "bands" in problem
    [problem] = problems('[profile]\nname = "mine"\nmethod = "magic"')
    assert "method" in problem


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        (
            'base = "simhash"\nbands = 8',
            "bands is a parameter of the method minhash or hybrid or sketch-n, and the method here is simhash; leave "
            "it out, or set method",
        ),
        (
            'method = "minhash"\nradius = 4',
            "radius is a parameter of the method simhash or hybrid, and the method here is minhash; leave it out, or "
            "set method",
        ),
        (
            'base = "simhash"\nresemblance = 0.8',
            "resemblance means nothing to the method simhash: it measures a distance in bits alone; set radius",
        ),
        (
            'base = "containment"\ngram = 5',
            "gram means nothing to the method mod-n: it looks through windows of bytes; set window",
        ),
        (
            'base = "min-n"\ncontainment = 0.8',
            "containment means nothing to the method min-n: it estimates no containment; set resemblance",
        ),
    ],
)
def test_a_field_that_means_nothing_to_the_method_is_reported_with_where_it_belongs(toml: str, problem: str) -> None:
    assert problems(f'[profile]\nname = "mine"\n{toml}') == [f"profile (gate.toml): {problem}"]


def test_an_unknown_method_is_reported_by_the_names_there_are() -> None:
    [problem] = problems('[profile]\nname = "mine"\nmethod = "nilsimsa"')
    assert problem == (
        "profile (gate.toml): method: 'nilsimsa' is unknown; choose one of bsw-n, hybrid, min-n, minhash, mod-n, "
        "simhash, simindex, sketch-n"
    )


def test_parameters_are_flat_beside_the_method_and_reach_it() -> None:
    profile = profile_of('[profile]\nname = "mine"\nbase = "standard"\nmethod = "simhash"\nradius = 5')
    assert profile.method == SimHash(radius=5)


def test_a_profile_of_another_method_keeps_what_both_methods_have() -> None:
    profile = profile_of('[profile]\nname = "mine"\nbase = "bergillos-2018"\nmethod = "hybrid"')
    assert profile.method == Hybrid(family="modular", bands=17, rows=5)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_parameters_of_a_profile_are_a_table_that_makes_it_again(name: str) -> None:
    flat = BUILT_IN[name].parameters() | {"name": "again"}
    toml = "\n".join(f"{key} = {'false' if value is None else json.dumps(value)}" for key, value in flat.items())
    again = profile_of(f"[profile]\n{toml}")
    assert again.parameters() == flat
    assert again.digest() == BUILT_IN[name].digest()
    assert profile_of(f"[profile]\n{toml}".replace('"again"', f'"{name}"')).ref == f"{name}@1"


def test_a_changed_profile_is_checked_as_a_whole() -> None:
    assert vary_profile(BUILT_IN["standard"], {"name": "mine", "bins": 64}).method == Hybrid(bins=64)
    with pytest.raises(ConfigError, match="need more than the 16 bins"):
        vary_profile(BUILT_IN["standard"], {"name": "mine", "bins": 16})
    with pytest.raises(ConfigError, match="give a changed one another name or version"):
        vary_profile(BUILT_IN["standard"], {"bins": 256})


def test_a_name_that_cannot_be_part_of_a_key_is_refused(folder: Path) -> None:
    write(folder / "Mine!.toml", "gram = 4")
    [problem] = problems('profile = "Mine!.toml"')
    assert "the name `Mine!` is not allowed; give text like" in problem


def test_stop_words_come_from_a_file_one_a_line(folder: Path) -> None:
    write(folder / "words.txt", "# German\nder\ndie # the\n\ndas\nder\n")
    profile = profile_of('stop_words_file = "words.txt"\n[profile]\nname = "mine"\ndrop_stop_words = true')
    assert profile.stop_words == ("der", "die", "das")


def test_stop_words_that_would_not_be_used_are_reported(folder: Path) -> None:
    write(folder / "words.txt", "der")
    [problem] = problems('stop_words_file = "words.txt"')
    assert "drop_stop_words = true" in problem


def test_a_stop_words_file_without_words_is_a_mistake_and_not_the_english_list(folder: Path) -> None:
    write(folder / "words.txt", "# none yet\n")
    [problem] = problems('stop_words_file = "words.txt"\n[profile]\nname = "mine"\ndrop_stop_words = true')
    assert "has no words" in problem
