"""The names that `gate schema` takes."""

from __future__ import annotations

from gate.cli.commands.schema import NAMES
from gate.http.openapi import OPENAPI
from gate.schemas import ASYNCAPI, MESSAGES
from tests.cli.command import done, gate


def test_every_message_and_the_documents_of_topics_and_service_have_a_name() -> None:
    assert list(NAMES) == [*MESSAGES, ASYNCAPI, OPENAPI]


def test_the_list_says_in_one_column_what_each_describes() -> None:
    assert done("schema").stdout.splitlines() == [f"{name:<13}{meaning}" for name, meaning in NAMES.items()]
    assert max(map(len, NAMES)) < 13


def test_one_schema_is_printed_at_a_time() -> None:
    result = gate("schema", "check_in", "delete")
    assert result.exit_code == 2
    assert "unexpected extra argument" in result.stderr
