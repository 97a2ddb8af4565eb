"""Opening an index: one that exists, one that has to be empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.cli.common import Options
from gate.cli.session import index_name, load, open_empty, open_gate, open_index
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.model import CheckIn

pytestmark = pytest.mark.usefixtures("empty_folder")


def settings(**flags: str) -> Settings:
    return load(Options(flags=flags, config=None, json=False))


def test_a_flag_of_a_command_wins_over_set() -> None:
    options = Options(flags={"workers": "2"}, config=None, json=False)
    assert load(options).server.workers == 2
    assert load(options, workers=3).server.workers == 3
    assert load(options, workers=None).server.workers == 2


def test_an_index_that_does_not_exist_is_not_created() -> None:
    with pytest.raises(ConfigError, match=r"there is no .*a\.sqlite"), open_index(settings(index="a.sqlite")):
        pass
    assert not Path("a.sqlite").exists()


@pytest.mark.parametrize(("flags", "threads"), [({}, 1), ({"sign_threads": "3"}, 3)])
def test_documents_are_signed_by_as_many_threads_as_the_settings_say(flags: dict[str, str], threads: int) -> None:
    with open_gate(settings(**flags), index="memory") as gate:
        assert gate.signer.threads == threads


def test_without_an_index_the_error_says_how_to_name_one() -> None:
    with pytest.raises(ConfigError, match="name it with --index"), open_index(settings()):
        pass


def test_a_new_index_is_created_and_one_with_documents_needs_resume() -> None:
    chosen = settings(index="a.sqlite")
    with open_empty(chosen, resume=False) as gate:
        gate.check_in([CheckIn(document_id="a", text="some text")])
    with pytest.raises(ConfigError, match="holds documents already"), open_empty(chosen, resume=False):
        pass
    with open_empty(chosen, resume=True) as gate:
        assert gate.info()["documents"] == 1


def test_the_name_of_an_index_has_no_password() -> None:
    assert index_name(settings(index="redis://me:sesame@host:6379/0")) == "redis://host:6379/0"
