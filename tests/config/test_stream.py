"""Settings of the stream: brokers, topics, workers, and that no password is ever shown."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gate.config.settings import load_settings
from gate.config.stream import KAFKA, KAFKA_FILES, SERVER, STREAM, TOPICS, WORKER
from gate.stream.settings import KafkaSettings, ServerSettings, Topics, WorkerSettings
from tests.config.settings_problems import problems

PASSWORD = "correct-horse"
BROKERS = {"kafka_brokers": "localhost:9092"}


def kafka(environ: dict[str, str] | None = None, **flags: object) -> KafkaSettings:
    found = load_settings(BROKERS | flags, environ or {})[0].kafka
    assert found is not None
    return found


# Values


def test_without_brokers_there_is_no_kafka_and_the_rest_has_its_defaults() -> None:
    settings, origins = load_settings({}, {})
    assert (settings.kafka, settings.worker, settings.server) == (None, WorkerSettings(), ServerSettings())
    assert origins["kafka_brokers"] == (None, "default")
    assert origins["kafka_topics"] == (("gate.check-ins",), "default")


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
    settings, origins = load_settings(flags, environ)
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
    assert origins["delivery"] == ("exactly_once", "gate.toml")
    assert origins["kafka_topics"] == (("one", "two"), "GATE_KAFKA_TOPICS")
    assert origins["batch_bytes"] == (1000, "--set batch_bytes")


def test_every_field_of_the_settings_has_a_setting_and_every_setting_an_origin() -> None:
    fixed = {"in_flight_batches"}  # no setting of their own
    words = {"password", "key_password", "topics"}
    known = {key.removeprefix("kafka_") for key in (*KAFKA, *KAFKA_FILES, *WORKER, *SERVER)}
    assert {
        field.name for part in (KafkaSettings, WorkerSettings, ServerSettings) for field in fields(part)
    } - fixed - words == known
    assert {field.name for field in fields(Topics)} == set(TOPICS.values())
    _, origins = load_settings({}, {})
    assert {*STREAM, *KAFKA_FILES, "kafka_password", "kafka_key_password", "kafka_password_file"} <= set(origins)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("kafka_brokers = 7", "give text"),
        ("kafka_brokers = ''", "write host:port"),
        ("kafka_brokers = 'host:port'", "write host:port"),
        ("kafka_brokers = 'host:70000'", "write host:port"),
        ("kafka_brokers = 'a:1,,b:2'", "write host:port"),
        (f"kafka_brokers = 'kafka://me:{PASSWORD}@host:1'", "no URL"),
        ("kafka_topics = []", "not the name of a topic"),
        ("kafka_topics = 'a,,b'", "not the name of a topic"),
        ("kafka_topics = [1]", "not the name of a topic"),
        ("kafka_verdict_topic = 'what?'", "use letters, digits"),
        ("kafka_verdict_topic = '..'", "use letters, digits"),
        ("kafka_security = 'TLS'", "choose one of PLAINTEXT, "),
        ("kafka_sasl_mechanism = 'GSSAPI'", "choose one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("kafka_session_timeout_seconds = 0", "give a number above 0"),
        ("kafka_group_instance_id = 'pod/1'", "give text like ^[A-Za-z0-9._-]{1,240}$"),
        ("kafka_group = ''", "give text"),
        ("delivery = 'at_most_once'", "choose one of at_least_once, exactly_once"),
        ("on_index_unavailable = 'drop'", "choose one of pass_unchecked, wait"),
        ("workers = 0", "give a whole number at least 1"),
        ("http_port = 65536", "at most 65535"),
        ("log_level = 'loud'", "choose one of debug, error, info, warning"),
        ("log_format = 'xml'", "choose one of auto, console, json"),
        ("kafka_broker = 'a'", "did you mean `kafka_brokers`?"),
    ],
)
def test_a_wrong_value_is_reported_with_what_is_allowed(toml: str, said: str) -> None:
    [problem] = problems(toml)
    assert problem.startswith(toml.partition(" ")[0] + " (gate.toml)")
    assert said in problem
    assert PASSWORD not in problem


def test_all_problems_are_reported_at_once() -> None:
    found = problems(
        "kafka_brokers = 'a:b'\nworkers = 'many'\ndelivery = 'never'\nkafka_username = 'me'\nkafka_group = 1",
        flags={"kafka_topics": "x", "kafka_verdict_topic": "x"},
    )
    assert len(found) == 6


@pytest.mark.parametrize("other", [key for key in TOPICS if key != "kafka_topics"])
def test_a_topic_may_not_be_both_read_and_written(other: str) -> None:
    [problem] = problems(flags={"kafka_topics": "in,out", other: "out"})
    assert problem == f"kafka_topics, {other}: 'out' is named twice; each has to be another topic"


# Authentication


def test_sasl_needs_a_user_name_and_a_password() -> None:
    found = problems("kafka_brokers = 'a'\nkafka_security = 'SASL_SSL'")
    assert found == [
        "kafka_username: kafka_security = SASL_SSL needs it; set it",
        "kafka_password: kafka_security = SASL_SSL needs it; set GATE_KAFKA_PASSWORD, or name a kafka_password_file",
    ]


def test_a_password_that_would_not_be_sent_is_reported() -> None:
    [problem] = problems("kafka_brokers = 'a'\nkafka_username = 'me'", environ={"GATE_KAFKA_PASSWORD": PASSWORD})
    assert "are not sent with kafka_security = PLAINTEXT" in problem
    assert "SASL_SSL" in problem
    assert PASSWORD not in problem
    Path("gate.toml").unlink()
    assert load_settings({}, {"GATE_KAFKA_PASSWORD": PASSWORD})[0].kafka is None  # of no use, and no harm


def test_key_files_are_relative_to_the_settings_file_and_reported_where_they_are_not_used(folder: Path) -> None:
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


def test_a_key_without_its_certificate_is_reported(folder: Path) -> None:
    (folder / "key.pem").touch()
    [problem] = problems(flags={**BROKERS, "kafka_security": "SSL", "kafka_key_file": "key.pem"})
    assert "without a kafka_cert_file" in problem


def test_passwords_come_from_the_environment_or_from_a_file_and_are_never_shown(folder: Path) -> None:
    (folder / "hush").write_text(PASSWORD + "\n")
    for environ in ({"GATE_KAFKA_PASSWORD": PASSWORD}, {"GATE_KAFKA_PASSWORD_FILE": "hush"}):
        flags = {**BROKERS, "kafka_security": "SASL_PLAINTEXT", "kafka_username": "me"}
        settings, origins = load_settings(flags, environ | {"GATE_KAFKA_KEY_PASSWORD": PASSWORD})
        assert settings.kafka is not None
        assert (settings.kafka.password, settings.kafka.key_password) == (PASSWORD, PASSWORD)
        assert origins["kafka_password"] == ("set", next(iter(environ)))
        assert PASSWORD not in f"{settings!r} {origins!r}"


def test_a_password_in_a_settings_file_is_refused() -> None:
    found = problems(f'kafka_brokers = "a"\nkafka_password = "{PASSWORD}"\nkafka_key_password = "{PASSWORD}"')
    assert ["GATE_KAFKA_PASSWORD" in found[0], "GATE_KAFKA_KEY_PASSWORD" in found[1]] == [True, True]
    assert PASSWORD not in "".join(found)
