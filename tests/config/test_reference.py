"""The reference of the settings is complete, and says of each what the code does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gate.config.reference import DESCRIPTIONS, FLAGS, SettingRow, describe_settings
from gate.config.settings import KEYS, SECRETS, load_settings


@pytest.fixture(scope="module")
def rows() -> dict[str, SettingRow]:
    return {row.key: row for row in describe_settings()}


def test_every_setting_and_every_secret_is_described_once() -> None:
    assert set(DESCRIPTIONS) == {*KEYS, *SECRETS}


def test_a_description_is_one_sentence() -> None:
    assert all(text.endswith(".") and "\n" not in text for text in DESCRIPTIONS.values())


def test_types_and_defaults_are_those_of_the_code(rows: dict[str, SettingRow]) -> None:
    assert rows["limits.max_matches"][1:4] == ("whole number at least 1", "10", "GATE_LIMITS_MAX_MATCHES")
    assert rows["delivery"][1:3] == ("at_least_once, exactly_once", "at_least_once")
    assert rows["redis_allow_eviction"][1:3] == ("true or false", "false")
    assert rows["kafka_topics"][1:3] == ("topic names", "gate.check-ins")
    assert rows["profile"].default == "standard"
    assert rows["http_port"].default == "not served"


def test_a_default_of_the_reference_that_is_set_changes_nothing(rows: dict[str, SettingRow]) -> None:
    """The defaults are values that the settings take, and they are the ones in force without them."""
    given = {key: rows[key].default for key in KEYS if key.startswith(("limits.", "kafka_request", "redis_time"))}
    assert load_settings(given, {})[0] == load_settings({}, {})[0]


def test_a_secret_has_a_variable_and_no_flag(rows: dict[str, SettingRow]) -> None:
    for key in SECRETS:
        assert (rows[key].variable, rows[key].flag, rows[key].type) == (f"GATE_{key.upper()}", None, "secret")
    assert {row.key: row.flag for row in rows.values() if row.flag not in (None, "--set")} == FLAGS


def test_the_keys_are_known_without_loading_what_checks_them() -> None:
    code = "import sys, gate.config.reference; print(sorted({'numpy', 'msgspec', 'redis'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
