"""Processes of the service: what they need to start, how they end, and that several serve one index."""

from __future__ import annotations

import asyncio
import random
import signal
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from gate import BUILT_IN, AsyncGate, CheckIn
from gate.client import Client
from gate.config.settings import Settings, load_settings
from gate.core.method_registry import method_of
from gate.demo import LIGHTHOUSE, corpus
from gate.errors import ConfigError
from gate.http.tokens import new_token, token_table
from gate.index.tools.audit import audit
from gate.serve_main import check
from gate.wire import VerdictEvent
from tests.http.service_harness import problem, running_service
from tests.support.gate_service import service_process
from tests.support.servers import RedisServer, cutting_proxy, free_ports, redis_server, wait_until

pytestmark = pytest.mark.usefixtures("empty_folder")


def settings_of(**flags: object) -> Settings:
    return load_settings(flags, {})[0]


def test_tokens_are_needed_where_other_machines_can_connect(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(token_table("a", new_token(), ("read",)))
    with pytest.raises(ConfigError, match=r"api_tokens_file: .*gate token"):
        check(settings_of(api_host="0.0.0.0"))  # noqa: S104
    check(settings_of(api_host="0.0.0.0", api_tokens_file=str(tokens)))  # noqa: S104
    check(settings_of())


@pytest.mark.parametrize("index", ["memory", "index.sqlite"])
def test_several_processes_need_a_shared_index_and_a_port(index: str) -> None:
    with pytest.raises(ConfigError, match="2 processes need a shared index"):
        check(settings_of(index=index, workers=2, api_port=8400))
    with pytest.raises(ConfigError, match="api_port: 2 processes need one port"):
        check(settings_of(index="redis://localhost:6379/0", workers=2, api_port=0))
    check(settings_of(index="redis://localhost:6379/0", workers=2, api_port=8400))


async def test_the_first_documents_are_there_once_the_service_is_ready() -> None:
    documents = [planted.document for planted in corpus()]
    async with running_service(first=documents) as service:
        assert (await service.client.get("/v1/stats")).json()["counts"]["documents"] == len(
            {document.document_id for document in documents}
        )
        overview = (await service.client.get("/v1/overview")).json()
        assert overview["totals"]["verdicts"] == len(documents)
        assert len((await service.client.get("/v1/feed?limit=100")).json()["verdicts"]) == len(documents)


async def test_an_index_of_another_profile_ends_the_service(tmp_path: Path) -> None:
    path = str(tmp_path / "gate.sqlite")
    async with running_service(index=path, profile="simhash"):
        pass
    async with running_service(index=path, profile="minhash", ready=False) as service:
        with pytest.raises(ConfigError, match="profile"):
            await service.opening


@pytest.mark.slow
def test_a_process_stops_on_sigterm_and_says_where_it_listened(tmp_path: Path) -> None:
    with service_process(tmp_path / "log", "--demo") as service:
        status, answer = service.get("/v1/documents/inbox%2Fbread-part.txt/verdict")
        assert (status, answer["verdicts"][0]["relation"]) == (200, "contained")
        assert service.url.startswith("http://127.0.0.1:")
        assert service.stop() == 0


@pytest.mark.slow
def test_a_process_ends_with_2_where_the_index_has_another_profile(tmp_path: Path) -> None:
    index = str(tmp_path / "gate.sqlite")
    with service_process(tmp_path / "log", "--index", index, "--profile", "simhash") as service:
        service.process.send_signal(signal.SIGINT)
        assert service.process.wait(30) == 0
    with service_process(tmp_path / "second", "--index", index, "--profile", "minhash", wait=False) as service:
        assert service.process.wait(60) == 2
        assert "profile" in service.log.read_text()


@pytest.mark.redis
async def test_a_service_whose_redis_is_down_answers_503_until_it_is_up(tmp_path: Path) -> None:
    with redis_server() as redis:
        redis.stop()
        flags: dict[str, Any] = {"index": redis.url, "redis_timeout_seconds": 1}
        async with running_service(ready=False, **flags) as service:
            document = {"document_id": "a", "text": LIGHTHOUSE}
            answer = await service.client.post("/v1/check-ins", json=document)
            assert problem(answer)[:2] == (503, "unavailable")
            assert answer.headers["retry-after"] == "2"
            assert (await service.client.get("/healthz")).status_code == 200
            unready = await service.client.get("/readyz")
            assert unready.status_code == 503
            assert "index" in unready.json()["reasons"]
            await asyncio.to_thread(redis.start)
            while (await service.client.get("/readyz")).status_code != 200:
                await asyncio.sleep(0.01)
            assert (await service.check_in("a", LIGHTHOUSE))["relation"] == "new"


@pytest.mark.redis
async def test_a_redis_that_fails_between_two_requests_leaves_nothing_half_entered() -> None:
    with redis_server() as redis:
        async with running_service(index=redis.url, redis_timeout_seconds=1) as service:
            await service.check_in("a", LIGHTHOUSE)
            process = redis.process
            assert process is not None
            process.send_signal(signal.SIGSTOP)
            try:
                answer = await service.client.post("/v1/check-ins", json={"document_id": "b", "text": LIGHTHOUSE})
            finally:
                process.send_signal(signal.SIGCONT)
            assert problem(answer)[:2] == (503, "unavailable")
            assert "ferry" not in answer.text
            while (
                again := await service.client.post("/v1/check-ins", json={"document_id": "b", "text": LIGHTHOUSE})
            ).status_code == 503:
                await asyncio.sleep(0.01)
            assert again.json()["relation"] == "exact"
            assert (await service.client.get("/readyz")).status_code == 200
            assert service.sample("gate_dependency_up", dependency="index") == 1
            assert service.sample("gate_dependency_retries_total", dependency="index") >= 1


@pytest.mark.redis
async def test_a_redis_that_is_cut_off_within_requests_leaves_nothing_half_entered(tmp_path: Path) -> None:
    cuts = random.Random(3)
    budgets = chain((cuts.randrange(200, 20_000) for _ in range(25)), repeat(None))
    texts = [planted.document.text for planted in corpus(5, 12) if planted.story == "unrelated"][:5]
    with redis_server() as redis:
        async with AsyncGate(index=redis.url):
            pass  # an index that is there: what is cut are requests
        with cutting_proxy(redis, budgets) as url:
            async with running_service(ready=False, index=url) as service:
                statuses: Counter[int] = Counter()

                async def until_judged(document_id: str, text: str) -> dict[str, Any]:
                    while True:
                        body = {"document_id": document_id, "text": text}
                        answer = await service.client.post("/v1/check-ins", json=body)
                        statuses[answer.status_code] += 1
                        if answer.status_code == 200:
                            verdict: dict[str, Any] = answer.json()
                            return verdict
                        assert problem(answer)[:2] == (503, "unavailable")

                for number, text in enumerate(texts):
                    names = [f"{number}/{n}" for n in range(3)]
                    verdicts = await asyncio.gather(*(until_judged(name, text) for name in names))
                    winners = [verdict["document_id"] for verdict in verdicts if not verdict["similar"]]
                    assert len(winners) == 1
                    for name, given in zip(names, verdicts, strict=True):
                        assert (await until_judged(name, text))["verdict_id"] == given["verdict_id"]
        assert statuses[503] > 0
        async with AsyncGate(index=redis.url) as gate:
            standard = BUILT_IN["standard"]
            report = await gate.with_store(lambda store: audit(store, method_of(standard), standard))
        assert (report.checked["documents"], report.problems) == (3 * len(texts), {})


@pytest.mark.redis
@pytest.mark.slow
def test_workers_that_race_on_one_port_let_exactly_one_document_pass(shared_redis: RedisServer, tmp_path: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text(f'name = "w{uuid.uuid4().hex}"\nbase = "standard"\n')
    [port] = free_ports()
    options = ("--index", shared_redis.url, "--profile", str(profile), "--port", str(port), "--workers", "2")
    with service_process(tmp_path / "log", *options) as service:
        wait_until(lambda: service.log.read_text().count('"service.started"') == 2, "a worker does not listen")
        processes = set()

        def check_in(document: CheckIn) -> VerdictEvent:
            with Client(service.url) as client:  # a connection of its own: the kernel deals them to the workers
                processes.add(client.overview().started_at)
                return client.check_in(document)

        with ThreadPoolExecutor(6) as threads:
            for number in range(4):
                text = f"{LIGHTHOUSE} {number}" * 3
                documents = [CheckIn(document_id=f"{number}/{n}", text=text) for n in range(6)]
                verdicts = list(threads.map(check_in, documents))
                winners = [verdict.document_id for verdict in verdicts if not verdict.similar]
                assert len(winners) == (0 if number else 1)
                assert len({verdict.group for verdict in verdicts}) == 1
        assert len(processes) == 2
        assert service.stop() == 0
