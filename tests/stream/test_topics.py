"""The wanted configuration of each topic, and how an existing topic differs from it."""

from __future__ import annotations

from dataclasses import replace

from gate.stream.admin import TopicInfo
from gate.stream.settings import KafkaSettings, Topics
from gate.stream.topics import TopicSpec, differences, topic_specs

ALL = Topics(check_ins=("in-1", "in-2"), verdicts="v", dead_letters="d", accepted="yes", quarantine="no")


def specs(
    kafka: KafkaSettings | None = None,
    *,
    retention_days: float | None = 7,
    compact: bool = False,
    replication_factor: int = 3,
) -> dict[str, TopicSpec]:
    found = topic_specs(
        kafka or KafkaSettings(topics=ALL),
        partitions=12,
        replication_factor=replication_factor,
        retention_days=retention_days,
        compact=compact,
    )
    return {spec.name: spec for spec in found}


def test_every_topic_of_the_settings_has_a_spec_and_those_that_are_not_set_have_none() -> None:
    assert list(specs()) == ["in-1", "in-2", "v", "d", "yes", "no"]
    assert list(specs(KafkaSettings())) == ["gate.check-ins", "gate.verdicts", "gate.dead-letters"]


def test_a_topic_that_carries_documents_takes_the_largest_record_with_the_batch_around_it() -> None:
    kafka = KafkaSettings(topics=ALL, max_record_bytes=5_000_000)
    limits = {name: int(spec.configs["max.message.bytes"]) for name, spec in specs(kafka).items()}
    assert all(limits[name] > 5_000_000 for name in ("in-1", "d", "yes", "no"))
    assert limits["v"] < 5_000_000


def test_dead_letters_have_one_partition_and_are_kept_for_a_month_at_least() -> None:
    dead = specs(retention_days=7)["d"]
    assert (dead.partitions, dead.configs["retention.ms"]) == (1, str(30 * 86_400_000))
    assert specs(retention_days=90)["d"].configs["retention.ms"] == str(90 * 86_400_000)
    assert specs(retention_days=None)["d"].configs["retention.ms"] == "-1"


def test_only_topics_of_check_ins_are_compacted_and_those_are_kept_for_ever() -> None:
    compacted = {name for name, spec in specs(compact=True).items() if spec.configs["cleanup.policy"] == "compact"}
    assert compacted == {"in-1", "in-2"}
    assert specs(compact=True)["in-1"].configs["retention.ms"] == "-1"
    assert specs(compact=True)["v"].configs["retention.ms"] == str(7 * 86_400_000)


def test_one_replica_may_be_down_where_there_are_several() -> None:
    replicas = {count: specs(replication_factor=count)["v"].configs["min.insync.replicas"] for count in (1, 2, 3)}
    assert replicas == {1: "1", 2: "1", 3: "2"}


def test_a_topic_that_matches_its_spec_has_no_differences() -> None:
    spec = specs()["v"]
    assert differences(spec, TopicInfo(12, 3), spec.configs) == {}


def test_differences_give_the_actual_and_the_wanted_value_of_each_setting() -> None:
    spec = specs()["v"]
    found = differences(replace(spec, partitions=24), TopicInfo(12, 1), {**spec.configs, "retention.ms": "5"})
    assert found == {
        "partitions": ("12", "24"),
        "replication": ("1", "3"),
        "retention.ms": ("5", str(7 * 86_400_000)),
    }


def test_a_setting_that_the_topic_lacks_is_a_difference() -> None:
    spec = specs()["v"]
    without = {name: value for name, value in spec.configs.items() if name != "cleanup.policy"}
    assert differences(spec, TopicInfo(12, 3), without) == {"cleanup.policy": ("", "delete")}
