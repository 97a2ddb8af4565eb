"""What the commands about Kafka take; what they do is tested beside their code, on a broker."""

from __future__ import annotations

import pytest

from gate.cli.commands.kafka import deadletters, topics
from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_the_groups_have_their_commands() -> None:
    assert set(topics.commands) == {"create"}
    assert set(deadletters.commands) == {"list", "replay"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "create", "--partitions", "0"),
        ("topics", "create", "--partitions", "10001"),
        ("topics", "create", "--replication", "0"),
        ("topics", "create", "--replication", "101"),
        ("lag", "--max", "-1"),
        ("deadletters", "list", "--last", "0"),
    ],
    ids=" ".join,
)
def test_a_number_out_of_its_range_is_a_wrong_use_before_any_broker_is_asked(arguments: tuple[str, ...]) -> None:
    result = gate(*arguments)
    assert result.exit_code == 2
    assert f"'{arguments[-2]}'" in result.stderr


@pytest.mark.parametrize(
    "command", [("topics", "create"), ("lag",), ("deadletters", "list"), ("deadletters", "replay")]
)
def test_a_command_on_topics_takes_brokers_and_no_index(command: tuple[str, ...]) -> None:
    assert "--kafka HOST:PORT" in gate(*command, "--help").stdout
    result = gate(*command, "--index", "kept.sqlite")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
