"""`gate config`, `gate plan`, and settings as every command gets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from gate.config.reference import DESCRIPTIONS
from gate.config.settings import KEYS, SECRETS
from gate.core.builtin_profiles import BUILT_IN
from gate.demo import BREAD, LIGHTHOUSE

pytestmark = pytest.mark.usefixtures("empty_folder")


def gate(*arguments: str | Path, stdin: str | None = None, **environ: str) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin, env=environ)


def report(*arguments: str | Path, **environ: str) -> dict[str, Any]:
    result = gate(*arguments, "--json", **environ)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def event(document_id: str, text: str) -> str:
    return json.dumps({"document_id": document_id, "text": text}) + "\n"


EVENTS = event("a", LIGHTHOUSE) + event("b", LIGHTHOUSE.replace("two goats", "seven geese")) + "no json\n"

COMMANDS = [
    ("run",),
    ("check", "."),
    ("compare", "gate.toml", "gate.toml"),
    ("similar", "a"),
    ("explain", "a"),
    ("delete", "a"),
    ("index", "info"),
    ("index", "verify"),
    ("index", "export"),
    ("index", "import", "gate.toml"),
    ("index", "rebuild", "gate.toml"),
    ("index", "rotate"),
    ("replay", "."),
    ("topics", "create"),
    ("lag",),
    ("deadletters", "list"),
    ("deadletters", "replay"),
    ("plan",),
    ("config",),
    ("demo",),
]


# Help


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_has_an_example_and_json(command: tuple[str, ...]) -> None:
    name = tuple(word for word in command if not word.endswith(".toml") and word not in ("a", "."))
    message = gate(*name, "--help").stdout
    assert f"\n    gate {' '.join(name)}" in message
    assert "--json" in message


def test_the_main_help_cuts_no_sentence_and_lists_the_exit_codes() -> None:
    message = gate("--help").stdout
    assert "..." not in message.partition("Commands:")[2]
    assert "Exit codes:" in message


# Layers


def test_flags_win_over_the_environment_and_that_over_the_file() -> None:
    Path("gate.toml").write_text("[limits]\nmax_matches = 1\nmax_candidates = 1\nmax_bucket = 1\n")
    found = report(
        "config",
        "--set",
        "limits.max_matches=3",
        GATE_LIMITS_MAX_MATCHES="2",
        GATE_LIMITS_MAX_CANDIDATES="2",
    )
    assert found["limits.max_matches"] == {"value": 3, "source": "--set limits.max_matches"}
    assert found["limits.max_candidates"] == {"value": 2, "source": "GATE_LIMITS_MAX_CANDIDATES"}
    assert found["limits.max_bucket"] == {"value": 1, "source": "gate.toml"}
    assert found["limits.batch_chars"] == {"value": 2_000_000, "source": "default"}


def test_every_setting_is_shown_with_its_origin_to_programs_and_to_people() -> None:
    found = report("config", "--profile", "simhash", "--index", "kept.sqlite")
    assert set(found) == {*KEYS, *SECRETS, "kernel"}
    assert found["kernel"]["value"] in ("c", "numpy")
    assert found["index"] == {"value": "kept.sqlite", "source": "--index"}
    assert found["profile"]["source"] == "--profile"
    assert found["profile"]["parameters"]["method"] == "simhash"
    shown = gate("config", "--profile", "simhash").stdout
    assert all(key in shown for key in (*KEYS, *SECRETS))
    assert "Profile simhash@1" in shown
    assert "Signing: " in shown


def test_every_setting_is_described_to_people_and_to_programs() -> None:
    rows = [json.loads(line) for line in gate("config", "--describe", "--json").stdout.splitlines()]
    assert [row["key"] for row in rows] == list(DESCRIPTIONS)
    [row] = [row for row in rows if row["key"] == "limits.max_matches"]
    assert row == {
        "key": "limits.max_matches",
        "type": "whole number at least 1",
        "default": "10",
        "variable": "GATE_LIMITS_MAX_MATCHES",
        "flag": "--set",
        "description": DESCRIPTIONS["limits.max_matches"],
    }
    described = gate("config", "--describe").stdout
    assert all(text in described for text in DESCRIPTIONS.values())


def test_a_secret_is_in_force_and_not_shown() -> None:
    found = gate("config", GATE_SECRET="hush hush")
    assert "hush" not in found.output
    assert report("config", GATE_SECRET="hush hush")["secret"] == {"value": "set", "source": "GATE_SECRET"}
    [plain, hidden] = (
        json.loads(gate("run", "--quiet", stdin=event("a", LIGHTHOUSE), **environ).stdout)["fingerprint"]
        for environ in ({}, {"GATE_SECRET": "hush hush"})
    )
    assert plain != hidden


def test_a_settings_file_may_be_named_by_a_flag(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('profile = "minhash"\nindex = "kept.sqlite"')
    found = report("config", "--config", tmp_path / "other.toml")
    assert found["profile"]["value"] == "minhash@1"
    assert found["index"]["value"] == str(tmp_path / "kept.sqlite")


# Problems


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_reports_all_problems_at_once_and_changes_nothing(command: tuple[str, ...]) -> None:
    Path("gate.toml").write_text("idnex = 1\n[limits]\nmax_matches = 0\n")
    result = gate(*command, "--profile", "standrad", "--set", "qqq=1", GATE_LIMITS_BATCH_CHARS="many")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "error: idnex (gate.toml): unknown; did you mean `index`?",
        f"error: --set qqq: unknown; known are {', '.join(sorted(KEYS))}",
        "error: limits.max_matches (gate.toml): 0 is not allowed; give a whole number at least 1",
        "error: limits.batch_chars (GATE_LIMITS_BATCH_CHARS): 'many' is not allowed; give a whole number at least 1",
        "error: profile (--profile): `standrad` is unknown; did you mean `standard`?",
    ]
    assert [path.name for path in Path().iterdir()] == ["gate.toml"]


def test_a_wrong_setting_keeps_a_run_from_writing_anything() -> None:
    Path("out.jsonl").write_text("what was there")
    assert gate("run", "-o", "out.jsonl", "--profile", "nope", stdin=EVENTS).exit_code == 2
    assert Path("out.jsonl").read_text() == "what was there"


def test_a_setting_without_a_value_is_a_wrong_use() -> None:
    result = gate("config", "--set", "limits.max_matches")
    assert result.exit_code == 2
    assert "KEY=VALUE" in result.stderr


# Every setting does what it says


def test_a_profile_in_a_file_decides_in_every_command() -> None:
    Path("strict.toml").write_text('base = "standard"\nresemblance = 0.99\n')
    found = gate("run", "--profile", "strict.toml", "--quiet", stdin=EVENTS)
    assert [json.loads(line)["relation"] for line in found.stdout.splitlines()] == ["new", "new"]
    assert json.loads(found.stdout.splitlines()[0])["profile"] == "strict@1"
    Path("docs").mkdir()
    Path("docs/a").write_text(LIGHTHOUSE)
    Path("docs/b").write_text(LIGHTHOUSE.replace("two goats", "seven geese"))
    for command in (("check", "docs"), ("demo",)):
        first = json.loads(gate(*command, "--profile", "strict.toml", "--json").stdout.splitlines()[0])
        assert first["profile"] == "strict@1"
    assert report("compare", "docs/a", "docs/b", "--profile", "strict.toml")["alike"] is False
    assert report("compare", "docs/a", "docs/b")["alike"] is True
    assert report("plan", "--profile", "strict.toml")["profile"] == "strict@1"


def test_the_index_of_the_settings_file_is_used_by_every_command() -> None:
    Path("gate.toml").write_text('index = "kept.sqlite"')
    assert gate("run", "--quiet", stdin=event("a", LIGHTHOUSE)).exit_code == 0
    assert "It is new" in gate("explain", "a").stdout
    assert gate("similar", "a").exit_code == 0
    assert report("index", "info")["documents"] == 1
    assert gate("delete", "a").stdout == "a: deleted\n"
    assert gate("run", "--quiet", "--index", "memory", stdin=event("b", BREAD)).exit_code == 0
    assert report("index", "info")["documents"] == 0


@pytest.mark.parametrize("way", ["file", "environment", "flag", "set"])
def test_dead_letters_go_where_the_setting_says(way: str) -> None:
    flags: tuple[str, ...] = ()
    environ = {}
    if way == "file":
        Path("gate.toml").write_text('dead_letters = "dead.jsonl"')
    elif way == "environment":
        environ["GATE_DEAD_LETTERS"] = "dead.jsonl"
    else:
        flags = ("--dead-letters", "dead.jsonl") if way == "flag" else ("--set", "dead_letters=dead.jsonl")
    result = gate("run", "--quiet", *flags, stdin=EVENTS, **environ)
    assert (result.exit_code, result.stderr) == (1, "")
    assert json.loads(Path("dead.jsonl").read_text())["original"] == "no json"


@pytest.mark.parametrize("way", ["file", "flag"])
def test_contents_are_read_from_where_the_setting_says(way: str) -> None:
    Path("contents").mkdir()
    Path("contents/a.txt").write_text(LIGHTHOUSE)
    events = json.dumps({"document_id": "a", "content_uri": "file:a.txt"}) + "\n"
    assert gate("run", stdin=events).exit_code == 1
    flags: tuple[str, ...] = ("--content-root", "contents")
    if way == "file":
        Path("gate.toml").write_text('content_root = "contents"')
        flags = ()
    result = gate("run", *flags, stdin=events)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["relation"] == "new"


def test_a_missing_content_root_is_reported() -> None:
    result = gate("run", "--content-root", "missing", stdin="")
    assert result.exit_code == 2
    assert "content_root (--content-root): missing is not a folder" in result.stderr


def test_limits_are_obeyed() -> None:
    long = event("a", "word " * 100)
    result = gate("run", "--set", "limits.max_document_chars=100", stdin=long)
    assert result.exit_code == 1
    assert "more than 100 characters" in result.stderr
    copies = "".join(event(f"d{n}", LIGHTHOUSE + f" {n}") for n in range(4))
    Path("all.toml").write_text('base = "standard"\nindex = "all"')
    result = gate("run", "--profile", "all.toml", "--set", "limits.max_matches=1", stdin=copies)
    last = json.loads(result.stdout.splitlines()[-1])
    assert (len(last["matches"]), last["degraded"]) == (1, ["matches_capped"])


# Planning


def test_a_plan_has_probes_candidates_bytes_and_the_recall_curve() -> None:
    found = report("plan", "--documents", "1000")
    assert found["documents"] == 1000
    assert found["total_bytes"] == 1000 * sum(found["bytes_per_document"].values())
    assert found["probes"] > 0
    assert found["expected_candidates"] >= 0
    curve = found["recall"]
    assert [one["resemblance"] for one in curve] == sorted(one["resemblance"] for one in curve)
    assert curve[-1] == {"resemblance": 1.0, "changed": 0.0, "found": 1.0}
    shown = gate("plan", "--documents", "1000").stdout
    for word in ("probes", "false candidates", "bytes: all", "resemblance", "words changed", "found for certain"):
        assert word in shown


def test_other_parameters_can_be_tried_and_show_in_the_figures() -> None:
    plain, tried = report("plan"), report("plan", "--radius", "6", "--bands", "8", "--rows", "8", "--bins", "64")
    assert tried["profile"] == "tried@1"
    assert tried["radius"] == 6
    assert tried["probes"] > plain["probes"]
    assert tried["bytes_per_document"]["sketch"] < plain["bytes_per_document"]["sketch"]
    assert tried["parameters"]["rows"] == 8
    # Bands of eight rows find less than bands of four.
    assert tried["recall"][4]["found"] < plain["recall"][4]["found"]


def test_with_longer_shingles_fewer_words_may_change() -> None:
    few, many = report("plan", "--gram", "5"), report("plan", "--gram", "1")
    assert few["recall"][4]["changed"] < many["recall"][4]["changed"]
    # One word of ten replaced: 0.9 of the words survive, so J = 0.9 / 1.1.
    assert many["recall"][6]["changed"] == pytest.approx(1 - 2 * 0.8 / 1.8, abs=1e-4)


def test_bands_are_chosen_for_a_resemblance_and_the_curve_shows_it() -> None:
    found = report("plan", "--profile", "minhash", "--at", ".8", "--recall", ".99")
    assert found["parameters"]["bands"] * found["parameters"]["rows"] <= found["parameters"]["bins"]
    curve = {one["resemblance"]: one["found"] for one in found["recall"]}
    assert curve[0.8] >= 0.99
    assert report("plan", "--profile", "minhash", "--at", ".8")["recall"][6]["found"] >= 0.95


@pytest.mark.slow
def test_every_built_in_profile_has_a_plan() -> None:
    for name in BUILT_IN:
        assert report("plan", "--profile", name)["recall"][-1]["found"] == 1.0
        assert "method" in gate("plan", "--profile", name).stdout


@pytest.mark.parametrize(
    ("tried", "message"),
    [
        (("--recall", ".9"), "--at"),
        (("--at", "1.5"), "at: 1.5 is not allowed"),
        (("--at", ".8", "--recall", "1"), "recall: 1.0 is not allowed"),
        (("--at", ".8", "--profile", "simhash"), "simhash has no bands"),
        (("--at", ".02", "--recall", ".99"), "raise bins"),
        (("--radius", "17"), "radius: 17 is not allowed; give a whole number at least 0 and at most 16"),
        (("--bands", "64", "--rows", "8"), "bands"),
        (("--method", "magic"), "magic"),
        (("--bins", "1", "--gram", "0"), "gram: 0 is not allowed"),
    ],
)
def test_parameters_that_contradict_each_other_are_reported(tried: tuple[str, ...], message: str) -> None:
    result = gate("plan", *tried)
    assert result.exit_code == 2
    assert message in result.stderr
