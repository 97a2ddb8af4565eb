"""`gate tune`: files, messages on the terminal, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from tests.lab.lab_samples import folder_of, unrelated_documents

pytestmark = pytest.mark.usefixtures("empty_folder")


def gate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return folder_of(unrelated_documents(6), tmp_path / "notes")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("tune")
    notes = folder_of(unrelated_documents(40, words=80), folder / "notes")
    out = folder / "out"
    options = ("--recall", ".9", "--at", ".8", "--copies", "100", "--budget", "bytes", "--name", "mine")
    return out, gate("tune", notes, "--out", out, *options)


@pytest.mark.slow
def test_tuning_writes_a_profile_that_a_check_can_use(tuned: tuple[Path, Result], notes: Path) -> None:
    out, done = tuned
    assert done.exit_code == 0, done.stderr
    assert f"--profile {out / 'mine.toml'}" in done.stdout
    assert {"report.html", "curve.png", "price.png", "tried.csv"} <= {path.name for path in out.iterdir()}
    checked = gate("check", notes, "--profile", out / "mine.toml", "--json")
    assert checked.exit_code == 0, checked.stderr
    assert {json.loads(line)["profile"] for line in checked.stdout.splitlines()} == {"mine@1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "corpus: there is no nowhere"),
        (["notes", "--recall", "1.5"], "--recall: '1.5' is not allowed; give a number above 0 and below 1"),
        (["notes", "--at", ".2"], "--at: '.2' is not allowed; give a number at least 0.5 and at most 0.95"),
        (["notes", "--budget", "money"], "--budget: 'money' is not allowed; choose one of"),
        (["notes", "--name", "My Profile"], "--name: 'My Profile' is not allowed"),
        (["notes", "--precision", ".1"], "--precision: below .5"),
        (["notes"], "corpus: notes has 1 document; tune needs 2 or more"),
    ],
)
def test_a_corpus_that_cannot_be_tuned_for_is_refused_before_any_work(
    empty_folder: Path, arguments: list[str], message: str
) -> None:
    (empty_folder / "notes").mkdir()
    (empty_folder / "notes" / "a.txt").write_text("one")
    done = gate("tune", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (empty_folder / "tuned").exists()


@pytest.mark.slow
def test_if_no_profile_reaches_the_aim_the_exit_code_is_1(tmp_path: Path) -> None:
    notes = folder_of(unrelated_documents(40, words=60), tmp_path / "notes")
    done = gate("tune", notes, "--out", tmp_path / "out", "--at", ".5", "--recall", ".999", "--copies", "100")
    assert done.exit_code == 1
    assert "no profile reaches the recall and the precision asked for" in done.stderr
    assert (tmp_path / "out" / "tuned.toml").is_file()
