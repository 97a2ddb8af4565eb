"""Metrics and log events of a worker: what each call records, and what bounds labels and log lines."""

from __future__ import annotations

import bisect
import logging
import math
import os
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gate.core.native.loader import implementation
from gate.errors import REASONS, BadDocument
from gate.index.redis.client import CircuitState, ClientObserver
from gate.limits import Limits
from gate.metrics import SOURCE_CHARS, SOURCES, SupervisorMetrics, WorkerMetrics, WorkerProcessCollector
from gate.model import Degraded, Match, Relation, Verdict
from gate.wire import decode_event
from load.hostile_records import hostile_records

NOW = 1_800_000_000.0


def verdict(
    relation: Relation = Relation.NEW,
    *,
    candidates: int = 0,
    ruled_out: int = 0,
    distance: int | None = None,
    resemblance: float | None = None,
    degraded: tuple[Degraded, ...] = (),
) -> Verdict:
    similar = relation not in (Relation.NEW, Relation.REVISION)
    match = Match(
        document_id="b",
        version=None,
        relation=relation,
        distance=distance,
        resemblance=resemblance,
        containment=None,
    )
    return Verdict(
        document_id="a",
        version=None,
        similar=similar,
        relation=relation,
        group="a",
        content_id="0",
        fingerprint=None,
        profile="standard@1",
        verdict_id="v",
        features=3,
        candidates=candidates,
        matches=(match,) if similar else (),
        degraded=degraded,
        ruled_out=ruled_out,
    )


def judge(
    metrics: WorkerMetrics, *verdicts: Verdict, sources: list[str | None] | None = None, age: float = 1.0
) -> None:
    times = [NOW - age] * len(verdicts)
    metrics.record_verdicts(verdicts, sources or [None] * len(verdicts), times, times, NOW)


def value(metrics: WorkerMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def total(metrics: WorkerMetrics, name: str, **labels: str) -> float:
    """The sum over all labels but those given, as PromQL would have it."""
    return sum(
        sample.value
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What was logged, before it was formatted."""
    return [record.msg for record in caplog.records if isinstance(record.msg, dict)]


def test_the_match_rate_is_a_ratio_of_one_metric() -> None:
    metrics = WorkerMetrics()
    judge(metrics, verdict(), verdict(Relation.NEAR), verdict(Relation.EXACT), verdict(Relation.REVISION))
    similar = total(metrics, "gate_verdicts_total", similar="true")
    assert similar / total(metrics, "gate_verdicts_total") == 0.5


def test_verdicts_are_counted_by_relation_profile_and_source() -> None:
    metrics = WorkerMetrics()
    judge(metrics, verdict(Relation.NEAR), verdict(Relation.NEAR), verdict(), sources=["wiki", "wiki", None])
    labels = {"profile": "standard@1", "relation": "near", "similar": "true", "source": "wiki"}
    assert value(metrics, "gate_verdicts_total", **labels) == 2
    labels = {"profile": "standard@1", "relation": "new", "similar": "false", "source": "none"}
    assert value(metrics, "gate_verdicts_total", **labels) == 1


def test_sources_beyond_the_first_few_and_overlong_ones_are_counted_together() -> None:
    metrics = WorkerMetrics()
    judge(metrics, *[verdict()] * (SOURCES + 7), sources=[f"source {i}" for i in range(SOURCES + 7)])
    judge(metrics, verdict(), verdict(), sources=["x" * (SOURCE_CHARS + 1), "source 0"])
    assert total(metrics, "gate_verdicts_total", source="other") == 8
    assert total(metrics, "gate_verdicts_total", source="source 0") == 2
    assert total(metrics, "gate_verdicts_total") == SOURCES + 9


HOSTILE = [
    'a"} 1\nforged_total 9',
    "\\",
    "\n",
    "\r",
    "\0",
    "\u202e",
    "\u2028",
    "{}",
    "",
    " ",
    "é" * SOURCE_CHARS,
    "x" * 10_000,
]


def test_strangers_can_neither_make_series_without_end_nor_forge_one() -> None:
    metrics = WorkerMetrics()
    sources: list[str | None] = [None, *HOSTILE, *(f"source {number}" for number in range(5000))]
    for relation in Relation:
        judge(metrics, *[verdict(relation)] * len(sources), sources=sources)
    records = [record.value or b"" for record in hostile_records(600, seed=1)]
    for record in records:
        try:
            decode_event(record, limits=Limits())
        except BadDocument as error:
            metrics.record_dead_letters([error.code])
    families = {
        family.name: family.samples
        for family in text_string_to_metric_families(generate_latest(metrics.registry).decode())
    }
    series = [sample for sample in families["gate_verdicts"] if sample.name == "gate_verdicts_total"]
    assert len(series) == len(Relation) * (SOURCES + 2)
    assert len({sample.labels["source"] for sample in series}) == SOURCES + 2  # those, `other` and `none`
    assert {sample.labels["reason"] for sample in families["gate_dead_letters"]} <= set(REASONS)
    assert not [name for name in families if name.startswith("forged")]


def test_every_label_has_bounded_values() -> None:
    bounded_by = {
        "the code": {
            "relation",
            "similar",
            "reason",
            "known",
            "destination",
            "stage",
            "kind",
            "dependency",
            "operation",
        },
        "the settings": {"profile", "topic", "worker", "version", "python", "kernel"},
        "the topics": {"partition"},
        "SOURCES": {"source"},
    }
    metrics = WorkerMetrics()
    SupervisorMetrics(metrics.registry, workers=2)
    collectors = {id(one): one for one in metrics.registry._names_to_collectors.values()}.values()
    labels = {label for collector in collectors for label in getattr(collector, "_labelnames", ())}
    assert labels == set().union(*bounded_by.values())


@given(st.lists(st.floats(min_value=-10.0, max_value=1e6), max_size=40))
def test_a_batch_of_latencies_is_counted_as_one_by_one(ages: list[float]) -> None:
    batch = WorkerMetrics()
    times = [NOW - age for age in ages]
    batch.record_verdicts([verdict()] * len(ages), [None] * len(ages), times, times, NOW)
    one_by_one = WorkerMetrics()
    for at in times:
        one_by_one._end_to_end.observe(max(NOW - at, 0.0))
    name = "gate_end_to_end_latency_seconds"
    buckets = [float(bound) for bound in _bounds(batch, name)]
    assert bisect.bisect(buckets, 86400.0) < len(buckets) - 1  # a replayed archive fits in
    for bound in _bounds(batch, name):
        assert value(batch, f"{name}_bucket", le=bound) == value(one_by_one, f"{name}_bucket", le=bound)
    assert value(batch, f"{name}_count") == len(ages)
    assert math.isclose(value(batch, f"{name}_sum") or 0.0, value(one_by_one, f"{name}_sum") or 0.0)


def _bounds(metrics: WorkerMetrics, name: str) -> list[str]:
    samples = [sample for metric in metrics.registry.collect() for sample in metric.samples]
    return [sample.labels["le"] for sample in samples if sample.name == f"{name}_bucket"]


def test_a_check_in_without_a_time_has_no_latency_from_check_in() -> None:
    metrics = WorkerMetrics()
    metrics.record_verdicts([verdict()], [None], [None], [NOW], NOW)
    assert value(metrics, "gate_end_to_end_latency_seconds_count") == 0
    assert value(metrics, "gate_processing_latency_seconds_count") == 1


def test_the_best_match_is_measured_where_its_measures_are_known() -> None:
    metrics = WorkerMetrics()
    judge(
        metrics,
        verdict(Relation.NEAR, distance=3, resemblance=0.93, candidates=4),
        verdict(Relation.CONTAINED, resemblance=0.4),
        verdict(candidates=2),
    )
    assert value(metrics, "gate_match_distance_bits_bucket", le="3.0") == 1
    assert value(metrics, "gate_match_distance_bits_bucket", le="2.0") == 0
    assert value(metrics, "gate_match_resemblance_ratio_count") == 2
    assert value(metrics, "gate_candidates_per_document_sum") == 6


def test_candidates_that_their_lengths_rule_out_are_counted_apart() -> None:
    metrics = WorkerMetrics()
    judge(metrics, verdict(candidates=2, ruled_out=5), verdict(ruled_out=1))
    assert value(metrics, "gate_candidates_ruled_out_total") == 6
    assert value(metrics, "gate_candidates_per_document_sum") == 2


def test_degraded_verdicts_are_counted_by_reason_and_begin_at_zero() -> None:
    metrics = WorkerMetrics()
    judge(metrics, verdict(degraded=(Degraded.BUCKET_CAPPED, Degraded.MATCHES_CAPPED)), verdict())
    assert value(metrics, "gate_degraded_verdicts_total", reason="bucket_capped") == 1
    assert value(metrics, "gate_degraded_verdicts_total", reason="features_capped") == 0


def test_dead_letters_are_counted_by_reason_and_logged_once_a_batch(caplog: pytest.LogCaptureFixture) -> None:
    metrics = WorkerMetrics()
    metrics.record_dead_letters(["bad_json", "too_large", "bad_json"])
    metrics.record_dead_letters([])
    assert value(metrics, "gate_dead_letters_total", reason="bad_json") == 2
    assert [event["reasons"] for event in events(caplog)] == [{"bad_json": 2, "too_large": 1}]


def test_every_failed_attempt_is_counted_and_ever_fewer_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gate")
    metrics = WorkerMetrics()
    for _ in range(9):
        metrics.record_failed_attempt("index", "unavailable")
    assert value(metrics, "gate_dependency_up", dependency="index") == 0
    assert value(metrics, "gate_dependency_retries_total", dependency="index") == 9
    metrics.record_down("index", 4.5)
    metrics.record_recovery("index", 4.5)
    assert value(metrics, "gate_dependency_up", dependency="index") == 1
    assert value(metrics, "gate_dependency_down_seconds_total", dependency="index") == 4.5
    assert {event["dependency"] for event in events(caplog)} == {"index"}
    assert [(event["event"], event["retries"]) for event in events(caplog)] == [
        ("dependency.went_down", 1),
        ("dependency.retry_failed", 2),
        ("dependency.retry_failed", 4),
        ("dependency.retry_failed", 8),
        ("dependency.came_up", 9),
    ]


def test_a_dependency_is_up_until_an_attempt_fails_and_others_stay_up() -> None:
    metrics = WorkerMetrics()
    metrics.record_failed_attempt("broker", "timeout")
    assert value(metrics, "gate_dependency_up", dependency="broker") == 0
    assert value(metrics, "gate_dependency_up", dependency="index") == 1


def test_another_reason_of_an_outage_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics = WorkerMetrics()
    for _ in range(5):
        metrics.record_failed_attempt("index", "unavailable", "Redis does not answer")
    for message in ("the index is gone: rebuild it", "Redis does not answer"):
        metrics.record_failed_attempt("index", "unavailable", message)
    assert [(event["retries"], event["message"]) for event in events(caplog)][-2:] == [
        (4, "Redis does not answer"),
        (6, "the index is gone: rebuild it"),
    ]


def test_a_lost_index_is_a_gauge_until_it_is_back_and_an_error_once_for_each_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = WorkerMetrics()
    assert value(metrics, "gate_index_lost") == 0
    metrics.record_failed_attempt("index", "unavailable", "Redis does not answer")
    assert value(metrics, "gate_index_lost") == 0
    for message in ("gone", "gone", "another index", "gone"):
        metrics.record_failed_attempt("index", "index_lost", message)
    metrics.record_failed_attempt("index", "unavailable", "Redis does not answer")
    assert value(metrics, "gate_index_lost") == 1
    lost = [event["message"] for event in events(caplog) if event["event"] == "index.lost"]
    assert lost == ["gone", "another index"]
    metrics.record_recovery("broker", 1.0)
    assert value(metrics, "gate_index_lost") == 1
    metrics.record_recovery("index", 1.0)
    assert value(metrics, "gate_index_lost") == 0


def test_the_lag_of_a_revoked_partition_is_no_longer_exported() -> None:
    metrics = WorkerMetrics(worker="2")
    metrics.record_assigned([("check-ins", 0), ("check-ins", 1)])
    metrics.set_lag("check-ins", 0, 17)
    metrics.set_lag("check-ins", 1, 4)
    assert value(metrics, "gate_consumer_lag_records", topic="check-ins", partition="0") == 17
    metrics.record_revoked([("check-ins", 0)])
    assert value(metrics, "gate_consumer_lag_records", topic="check-ins", partition="0") is None
    assert value(metrics, "gate_consumer_lag_records", topic="check-ins", partition="1") == 4
    assert value(metrics, "gate_assigned_partitions", worker="2") == 1


def test_a_partition_without_a_reported_lag_can_be_revoked() -> None:
    metrics = WorkerMetrics()
    metrics.record_assigned([("check-ins", 0)])
    metrics.record_revoked([("check-ins", 0)])
    assert value(metrics, "gate_assigned_partitions", worker="0") == 0


def test_requests_to_redis_and_the_circuit_breaker_are_counted() -> None:
    metrics = WorkerMetrics()
    observer: ClientObserver = metrics
    observer.round_trip("read", 0.002)
    observer.failed("read", "unavailable")
    observer.circuit(CircuitState.OPEN)
    assert value(metrics, "gate_index_request_duration_seconds_count", operation="read") == 1
    assert value(metrics, "gate_index_request_errors_total", operation="read", reason="unavailable") == 1
    assert value(metrics, "gate_index_circuit_breaker_open") == 1


def test_stages_batches_deletes_routes_and_producers_are_counted() -> None:
    metrics = WorkerMetrics()
    metrics.record_stage("sign", 0.2)
    metrics.record_batch(256, 500_000)
    metrics.record_deletes(2, 1)
    metrics.record_routed("quarantine", 3)
    metrics.record_producer_discarded("timeout")
    metrics.record_producer_fenced("check-ins", 0)
    assert value(metrics, "gate_stage_duration_seconds_sum", stage="sign") == 0.2
    assert value(metrics, "gate_batch_documents_sum") == 256
    assert value(metrics, "gate_deletes_total", known="false") == 1
    assert value(metrics, "gate_routed_documents_total", destination="quarantine") == 3
    assert value(metrics, "gate_producers_discarded_total", reason="timeout") == 1
    assert value(metrics, "gate_producers_fenced_total") == 1


def test_every_metric_has_the_prefix_gate_and_a_help_text() -> None:
    page = generate_latest(WorkerMetrics().registry).decode()
    names = [line.split()[2] for line in page.splitlines() if line.startswith("# HELP")]
    assert all(name.startswith("gate_") for name in names)
    assert all(len(line.split()) > 3 for line in page.splitlines() if line.startswith("# HELP"))
    assert f'gate_build_info{{kernel="{implementation()}",python="' in page


def test_the_metrics_of_two_workers_share_nothing() -> None:
    first, second = WorkerMetrics(), WorkerMetrics()
    judge(first, verdict())
    assert total(first, "gate_verdicts_total") == 1
    assert total(second, "gate_verdicts_total") == 0


def test_cpu_memory_and_start_time_are_exported_for_processes_that_run() -> None:
    metrics = {
        metric.name: metric for metric in WorkerProcessCollector(lambda: {"0": os.getpid(), "1": 2**22 + 1}).collect()
    }
    assert [sample.labels["worker"] for sample in metrics["gate_worker_cpu_seconds"].samples] == ["0"]
    [memory] = metrics["gate_worker_resident_memory_bytes"].samples
    assert memory.value > 10e6
    [started] = metrics["gate_worker_start_time_seconds"].samples
    assert 0 <= time.time() - started.value < 24 * 3600
