"""Settings of the stream: the brokers, the topics, how a worker works, and that no password is ever shown."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gate.config import load_settings
from gate.config.stream import KAFKA, KAFKA_FILES, SERVER, STREAM, TOPICS, WORKER
from gate.errors import ConfigError
from gate.stream.settings import KafkaSettings, ServerSettings, Topics, WorkerSettings

HUSH = "correct-horse"
BROKERS = {"kafka_brokers": "localhost:9092"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(
    toml: str = "", *, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None
) -> list[str]:
    Path("gate.toml").write_text(toml)
    with pytest.raises(ConfigError) as caught:
        load_settings(flags or {}, environ or {})
    return list(caught.value.problems)


def kafka(environ: dict[str, str] | None = None, **flags: object) -> KafkaSettings:
    found = load_settings(BROKERS | flags, environ or {})[0].kafka
    assert found is not None
    return found


# Values


def test_without_brokers_there_is_no_kafka_and_the_rest_has_its_defaults() -> None:
    settings, told = load_settings({}, {})
    assert (settings.kafka, settings.worker, settings.server) == (None, WorkerSettings(), ServerSettings())
    assert told["kafka_brokers"] == (None, "default")
    assert told["kafka_topics"] == (("gate.check-ins",), "default")


def test_brokers_alone_are_enough() -> None:
    assert kafka() == KafkaSettings(brokers="localhost:9092")
    assert load_settings(BROKERS, {})[1]["kafka_brokers"] == ("localhost:9092", "--kafka")


def test_every_setting_can_be_set_on_every_layer() -> None:
    Path("gate.toml").write_text(
        'kafka_brokers = "a:1,b"\nkafka_topics = ["in", "also"]\ndelivery = "exactly_once"\nworkers = 3\n'
        'log_format = "console"\n'
    )
    environ = {
        "GATE_KAFKA_GROUP": "guards",
        "GATE_KAFKA_TOPICS": "one, two",
        "GATE_KAFKA_REQUEST_TIMEOUT_SECONDS": "5",
        "GATE_HTTP_PORT": "9100",
        "GATE_KAFKA_ACCEPTED_TOPIC": "passed",
    }
    flags = {
        "kafka_session_timeout_seconds": "6.5",
        "batch_bytes": "1000",
        "on_index_unavailable": "pass_unchecked",
        "log_level": "debug",
        "http_host": "0.0.0.0",  # noqa: S104 a value, nothing listens
        "drain_seconds": 3,
    }
    settings, told = load_settings(flags, environ)
    assert settings.kafka == KafkaSettings(
        brokers="a:1,b",
        group="guards",
        session_timeout_seconds=6.5,
        request_timeout_seconds=5.0,
        topics=Topics(check_ins=("one", "two"), accepted="passed"),
    )
    assert settings.worker == WorkerSettings(
        delivery="exactly_once",
        batch_bytes=1000,
        on_index_unavailable="pass_unchecked",
        drain_seconds=3.0,
    )
    assert settings.server == ServerSettings(
        workers=3,
        http_port=9100,
        http_host="0.0.0.0",  # noqa: S104
        log_level="debug",
        log_format="console",
    )
    assert told["delivery"] == ("exactly_once", "gate.toml")
    assert told["kafka_topics"] == (("one", "two"), "GATE_KAFKA_TOPICS")
    assert told["batch_bytes"] == (1000, "--set batch_bytes")


def test_every_field_of_the_settings_has_a_setting_and_every_setting_an_origin() -> None:
    fixed = {"in_flight_batches"}  # nobody needs to turn these
    words = {"password", "key_password", "topics"}
    known = {key.removeprefix("kafka_") for key in (*KAFKA, *KAFKA_FILES, *WORKER, *SERVER)}
    assert {
        field.name for part in (KafkaSettings, WorkerSettings, ServerSettings) for field in fields(part)
    } - fixed - words == known
    assert {field.name for field in fields(Topics)} == set(TOPICS.values())
    _, told = load_settings({}, {})
    assert {*STREAM, *KAFKA_FILES, "kafka_password", "kafka_key_password", "kafka_password_file"} <= set(told)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("kafka_brokers = 7", "give text"),
        ("kafka_brokers = ''", "write host:port"),
        ("kafka_brokers = 'host:port'", "write host:port"),
        ("kafka_brokers = 'host:70000'", "write host:port"),
        ("kafka_brokers = 'a:1,,b:2'", "write host:port"),
        (f"kafka_brokers = 'kafka://me:{HUSH}@host:1'", "no URL"),
        ("kafka_topics = []", "no name of a topic"),
        ("kafka_topics = 'a,,b'", "no name of a topic"),
        ("kafka_topics = [1]", "no name of a topic"),
        ("kafka_verdict_topic = 'what?'", "take letters, digits"),
        ("kafka_verdict_topic = '..'", "take letters, digits"),
        ("kafka_security = 'TLS'", "choose one of PLAINTEXT, "),
        ("kafka_sasl_mechanism = 'GSSAPI'", "choose one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("kafka_session_timeout_seconds = 0", "give a number above 0"),
        ("kafka_group = ''", "give text"),
        ("delivery = 'at_most_once'", "choose one of at_least_once, exactly_once"),
        ("on_index_unavailable = 'drop'", "choose one of pass_unchecked, wait"),
        ("workers = 0", "give a whole number at least 1"),
        ("http_port = 65536", "at most 65535"),
        ("log_level = 'loud'", "choose one of debug, error, info, warning"),
        ("log_format = 'xml'", "choose one of console, json"),
        ("kafka_broker = 'a'", "did you mean `kafka_brokers`?"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed(toml: str, said: str) -> None:
    [problem] = problems(toml)
    assert problem.startswith(toml.partition(" ")[0] + " (gate.toml)")
    assert said in problem
    assert HUSH not in problem


def test_all_that_is_wrong_is_told_at_once() -> None:
    found = problems(
        "kafka_brokers = 'a:b'\nworkers = 'many'\ndelivery = 'never'\nkafka_username = 'me'\nkafka_group = 1",
        flags={"kafka_topics": "x", "kafka_verdict_topic": "x"},
    )
    assert len(found) == 6


@pytest.mark.parametrize("other", [key for key in TOPICS if key != "kafka_topics"])
def test_no_topic_is_written_that_is_read(other: str) -> None:
    [problem] = problems(flags={"kafka_topics": "in,out", other: "out"})
    assert problem == f"kafka_topics, {other}: 'out' is named twice; each is a topic of its own"


# Who may


def test_a_user_needs_a_name_and_a_password() -> None:
    found = problems("kafka_brokers = 'a'\nkafka_security = 'SASL_SSL'")
    assert found == [
        "kafka_username: kafka_security = SASL_SSL needs it; set it",
        "kafka_password: kafka_security = SASL_SSL needs it; set GATE_KAFKA_PASSWORD, or name a kafka_password_file",
    ]


def test_a_password_that_would_not_be_sent_is_told() -> None:
    [problem] = problems("kafka_brokers = 'a'\nkafka_username = 'me'", environ={"GATE_KAFKA_PASSWORD": HUSH})
    assert "are not sent with kafka_security = PLAINTEXT" in problem
    assert "SASL_SSL" in problem
    assert HUSH not in problem
    Path("gate.toml").unlink()
    assert load_settings({}, {"GATE_KAFKA_PASSWORD": HUSH})[0].kafka is None  # of no use, and no harm


def test_files_of_keys_are_looked_for_beside_the_settings_file_and_told_where_they_are_not_used(folder: Path) -> None:
    (folder / "etc").mkdir()
    (folder / "etc" / "ca.pem").touch()
    toml = 'kafka_brokers = "a"\nkafka_ca_file = "ca.pem"\n'
    (folder / "etc" / "gate.toml").write_text(toml + 'kafka_security = "SSL"\n')
    settings, _ = load_settings({}, {}, folder / "etc" / "gate.toml")
    assert settings.kafka is not None
    assert settings.kafka.ca_file == str(folder / "etc" / "ca.pem")
    [unused] = problems(toml)
    assert "is not used with kafka_security = PLAINTEXT; set it to SSL" in unused
    [missing] = problems(toml + 'kafka_security = "SSL"\n')
    assert "there is no file ca.pem" in missing


def test_a_key_without_its_certificate_is_told(folder: Path) -> None:
    (folder / "key.pem").touch()
    [problem] = problems(flags={**BROKERS, "kafka_security": "SSL", "kafka_key_file": "key.pem"})
    assert "without a kafka_cert_file" in problem


def test_passwords_come_from_the_environment_or_from_a_file_and_are_never_shown(folder: Path) -> None:
    (folder / "hush").write_text(HUSH + "\n")
    for environ in ({"GATE_KAFKA_PASSWORD": HUSH}, {"GATE_KAFKA_PASSWORD_FILE": "hush"}):
        flags = {**BROKERS, "kafka_security": "SASL_PLAINTEXT", "kafka_username": "me"}
        settings, told = load_settings(flags, environ | {"GATE_KAFKA_KEY_PASSWORD": HUSH})
        assert settings.kafka is not None
        assert (settings.kafka.password, settings.kafka.key_password) == (HUSH, HUSH)
        assert told["kafka_password"] == ("set", next(iter(environ)))
        assert HUSH not in f"{settings!r} {told!r}"


def test_a_password_in_a_settings_file_is_refused() -> None:
    found = problems(f'kafka_brokers = "a"\nkafka_password = "{HUSH}"\nkafka_key_password = "{HUSH}"')
    assert ["GATE_KAFKA_PASSWORD" in found[0], "GATE_KAFKA_KEY_PASSWORD" in found[1]] == [True, True]
    assert HUSH not in "".join(found)
