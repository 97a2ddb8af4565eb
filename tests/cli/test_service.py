"""`gate serve` and `gate token`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import serve_main
from gate.config.settings import Settings
from gate.http.tokens import TokenFile, read_tokens
from tests.cli.command import done, gate

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Settings, bool]]:
    """What would be served: the settings, and whether it begins with the demonstration."""
    calls: list[tuple[Settings, bool]] = []

    def serve(settings: Settings, *, demo: bool = False) -> int:
        calls.append((settings, demo))
        return 0

    monkeypatch.setattr(serve_main, "serve", serve)
    return calls


def test_the_service_is_on_port_8400_of_this_machine_in_memory(served: list[tuple[Settings, bool]]) -> None:
    done("serve")
    [(settings, demo)] = served
    assert (settings.service.host, settings.service.port, settings.index, demo) == ("127.0.0.1", 8400, "memory", False)


def test_options_are_settings(served: list[tuple[Settings, bool]], tmp_path: Path) -> None:
    Path("gate.toml").write_text("api_port = 8500\n")
    done("serve", "--demo", "--host", "::1", "--tokens", "t.toml")
    done("serve", "--port", "0", "--index", "gate.sqlite", "--workers", "1", "--set", "api_max_documents=5")
    (first, demo), (second, _) = served
    assert (first.service.host, first.service.port, first.service.tokens_file, demo) == ("::1", 8500, "t.toml", True)
    assert (second.service.port, second.index, second.service.max_documents) == (0, "gate.sqlite", 5)


def test_the_demonstration_leaves_an_index_alone(served: list[tuple[Settings, bool]]) -> None:
    result = gate("serve", "--demo", "--index", "gate.sqlite")
    assert result.exit_code == 2
    assert "leave out --index" in result.stderr
    assert served == []


def test_a_service_for_other_machines_without_tokens_is_refused() -> None:
    result = gate("serve", "--host", "0.0.0.0")  # noqa: S104
    assert result.exit_code == 2
    assert "gate token NAME" in result.stderr


def test_a_token_is_shown_once_and_its_table_is_for_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    first, second = done("token", "ingest"), done("token", "dashboard", "--scope", "read", "--scope", "read")
    path.write_text(first.stdout + second.stdout)
    assert [(one.name, sorted(one.scopes)) for one in read_tokens(path)] == [
        ("ingest", ["read", "write"]),
        ("dashboard", ["read"]),
    ]
    token = first.stderr.split()[-1]
    assert token not in first.stdout
    found = TokenFile(path).find(f"Bearer {token}")
    assert found is not None
    assert found.name == "ingest"


def test_a_name_that_toml_would_read_otherwise_is_refused() -> None:
    result = gate("token", "a.b")
    assert result.exit_code == 2
    assert "letters, digits" in result.stderr
