"""`gate lab`: files, messages on the terminal, exit codes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from click.testing import CliRunner, Result
from msgspec import Meta

from gate.cli import main
from gate.cli.commands import lab
from gate.cli.lab import Bar, corpus_of, options_of
from gate.cli.progress import progress
from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import Profile
from gate.lab.experiment import ExperimentOptions
from gate.lab.experiments import EXPERIMENTS
from tests.lab.lab_samples import folder_of, unrelated_documents

pytestmark = pytest.mark.usefixtures("empty_folder")

CANARY = "xylophonecanary"


def gate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return folder_of(unrelated_documents(6), tmp_path / "notes")


def test_the_names_that_completion_offers_are_those_of_the_experiments() -> None:
    short_helps = {
        one.name: one.title if one.paper == "-" else f"{one.paper}, {one.repeats}" for one in EXPERIMENTS.values()
    }
    assert {name: short_help for name, (_, short_help) in lab.COMMANDS.items()} == short_helps


def test_every_experiment_is_listed_with_what_it_repeats() -> None:
    listed = gate("lab", "--list").stdout
    for one in EXPERIMENTS.values():
        assert one.name in listed
        assert one.repeats in listed
    assert [json.loads(line)["name"] for line in gate("lab", "--list", "--json").stdout.splitlines()] == [*EXPERIMENTS]


@pytest.mark.parametrize("name", [*EXPERIMENTS])
def test_the_help_of_an_experiment_names_its_paper_and_each_option_with_its_default(name: str) -> None:
    report = " ".join(gate("lab", name, "--help").stdout.split())
    one = EXPERIMENTS[name]
    assert one.repeats in report
    for field in one.options.__struct_fields__:
        assert f"--{field.replace('_', '-')} " in report
    assert report.count("Default: ") == len(one.options.__struct_fields__)


@pytest.mark.slow
def test_an_experiment_on_a_folder_of_texts_writes_its_report(notes: Path, tmp_path: Path) -> None:
    done = gate("lab", "roth-2013", "--corpus", notes, "--out", tmp_path / "out", "--inserted", "5, 10", "--seed", "3")
    assert done.exit_code == 0, done.stderr
    assert f"see {tmp_path / 'out' / 'report.html'}" in done.stdout
    text = (tmp_path / "out" / "report.md").read_text()
    assert "Corpus: notes, 6 documents." in text
    assert "seed 3" in text
    assert "inserted 5,10" in text


@pytest.mark.slow
def test_the_same_seed_writes_the_same_files(notes: Path, tmp_path: Path) -> None:
    runs = [gate("lab", "roth-2013", "--corpus", notes, "--out", tmp_path / folder, "--json") for folder in "ab"]
    first, second = ([Path(name) for name in json.loads(done.stdout)["files"]] for done in runs)
    assert len(first) == 10
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "nowhere"], "corpus: there is no nowhere"),
        (["--corpus", "empty"], "corpus: empty holds no document"),
        (["--corpus", "binary"], "corpus: binary holds 1 document, none of which can be read"),
        (["--corpus", "one"], "corpus: one has 1 document; quality needs 2 or more"),
        (["--corpus", "blank.jsonl"], "corpus: blank is empty; quality needs 2 or more"),
        (["--corpus", "broken.jsonl"], "broken.jsonl: is not JSON Lines"),
        (["--corpus", "one", "--labels", "missing.tsv"], "missing.tsv: cannot be read"),
        (["--corpus", "one", "--documents", "1"], "--documents: '1' is not allowed; give a whole number at least 2"),
        (["--corpus", "one", "--copies", "many"], "--copies: 'many' is not allowed; give a number above 0"),
        (["--corpus", "one", "--profiles", "standart"], "did you mean `standard`?"),
        (["--corpus", "one", "--plant", "perhaps"], "choose one of auto, no, yes"),
    ],
)
def test_a_corpus_that_cannot_be_measured_is_refused_before_any_work(
    empty_folder: Path, arguments: list[str], message: str
) -> None:
    for folder in ("empty", "binary", "one"):
        (empty_folder / folder).mkdir()
    (empty_folder / "binary" / "a.bin").write_bytes(b"\0\1")
    (empty_folder / "one" / "a.txt").write_text(f"{CANARY} and more")
    (empty_folder / "blank.jsonl").write_text("\n")
    (empty_folder / "broken.jsonl").write_text(f"{CANARY}\n")
    done = gate("lab", "quality", *arguments, "--out", "out")
    assert done.exit_code == 2
    assert message in done.stderr
    assert CANARY not in done.stderr
    assert not (empty_folder / "out").exists()


def test_no_other_command_loads_the_lab() -> None:
    code = "import sys, gate.cli; print([name for name in sys.modules if name.startswith('gate.lab')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_several_wrong_options_are_reported_at_once(notes: Path) -> None:
    done = gate(
        "lab", "roth-2013", "--corpus", notes, "--out", "out", "--gram", "0", "--similarity", "2", "--seed", "-1"
    )
    assert done.exit_code == 2
    assert [line.split()[1] for line in done.stderr.splitlines()] == ["--seed:", "--similarity:", "--gram:"]


def test_a_file_that_is_no_text_is_left_out_and_reported(notes: Path) -> None:
    (notes / "picture.png").write_bytes(b"\x89PNG\0")
    assert len(corpus_of(notes)) == 6


def test_check_ins_are_documents_and_versions_are_documents_of_their_own(empty_folder: Path) -> None:
    (empty_folder / "b.txt").write_text("three four")
    events = [
        {"document_id": "a", "text": "one two", "version": "1"},
        {"document_id": "a", "text": "one two three", "version": "2"},
        {"document_id": "b", "content_uri": "file:b.txt"},
        {"document_id": "a", "type": "delete"},
    ]
    (empty_folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    found = corpus_of(empty_folder / "events.jsonl")
    assert found.ids == ["a (version 1)", "a (version 2)", "b"]
    assert found.texts == ["one two", "one two three", "three four"]


def test_packed_events_are_a_corpus(empty_folder: Path) -> None:
    lines = b"".join(b'{"document_id": "%d", "text": "one two"}\n' % number for number in range(3))
    (empty_folder / "events.jsonl.gz").write_bytes(gzip.compress(lines))
    assert corpus_of(empty_folder / "events.jsonl.gz").ids == ["0", "1", "2"]


def test_a_set_with_labels_is_a_corpus_and_further_labels_may_be_named(empty_folder: Path) -> None:
    (empty_folder / "docs.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n')
    (empty_folder / "more.txt").write_text("a\tb\na\tb\n")
    found = corpus_of(empty_folder, [empty_folder / "more.txt"])
    assert found.ids == ["a", "b"]
    assert len(found.labels) == 1


def test_a_bar_is_gone_when_its_work_is_done_or_left() -> None:
    with progress(quiet=True) as bars:
        assert list(Bar(bars)([1, 2, 3], "counting")) == [1, 2, 3]
        for number in Bar(bars)([1, 2, 3], "leaving"):
            if number == 2:
                break
        assert not bars.tasks


class Some(ExperimentOptions, frozen=True, kw_only=True):
    sizes: Annotated[tuple[int, ...], Meta(description="Sizes.")] = (1,)
    fast: bool = False
    profiles: tuple[Profile, ...] = ()


def test_flags_become_options_of_the_right_type() -> None:
    given = {"sizes": "3, 4,5", "fast": "true", "profiles": "simhash,standard", "seed": "9"}
    expected = Some(sizes=(3, 4, 5), fast=True, profiles=(BUILT_IN["simhash"], BUILT_IN["standard"]), seed=9)
    assert options_of(Some, given) == expected
    assert options_of(Some, {"sizes": None}) == Some()
