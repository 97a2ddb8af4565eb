"""The client against a running service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate import BadDocument, CheckIn, Relation, Unavailable, UnknownDocument, UsageError
from gate.client import Client, ResendPolicy, ServiceRefused
from gate.client.client import BATCH_DOCUMENTS
from gate.demo import BREAD, LIGHTHOUSE
from gate.http.compare_messages import SideRequest
from gate.http.tokens import new_token, token_table
from tests.support.gate_service import service_process

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("client")
    with service_process(folder / "log", "--set", "limits.max_document_chars=100000") as service:
        yield service.url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as made:
        yield made


def test_a_check_in_gets_its_verdict_and_is_known_then(client: Client) -> None:
    at = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
    document = CheckIn(
        document_id="reports/ä 1", text=LIGHTHOUSE, title="T", version="2", metadata={"pages": 2}, checked_in_at=at
    )
    assert client.preview(document).relation is Relation.NEW
    with pytest.raises(UnknownDocument, match="reports/ä 1"):
        client.document("reports/ä 1")
    verdict = client.check_in(document)
    assert client.check_in(document).verdict_id == verdict.verdict_id
    assert verdict.checked_in_at == at
    details = client.document("reports/ä 1").contents[0].details
    assert details is not None
    assert (details.title, details.metadata, details.checked_in_at) == ("T", {"pages": 2}, at)
    assert client.check_in(CheckIn(document_id="copy", text=EDITED)).group == "reports/ä 1"
    assert client.verdicts("copy").reasons[0][0] == "It is near: a document much like it was known."
    assert [member.document_id for member in client.group("copy").members] == ["reports/ä 1", "copy"]
    assert [row.document_id for row in client.list_documents(prefix="reports/", limit=1).documents] == ["reports/ä 1"]
    assert (client.delete("reports/ä 1"), client.delete("copy"), client.delete("copy")) == (True, True, False)


def test_many_documents_are_sent_in_several_requests_and_come_back_in_their_order(client: Client) -> None:
    documents = [CheckIn(document_id=f"many {n}", text=f"text number {n}") for n in range(BATCH_DOCUMENTS + 20)]
    documents[7] = CheckIn(document_id="many 7", text="x" * 100_001)
    for results in (client.preview_many(documents), client.check_in_many(documents)):
        assert len(results) == len(documents)
        assert results[7].problem is not None
        assert results[7].problem.code == "too_large"
        verdicts = [result.verdict for result in results if result.verdict]
        assert [verdict.document_id for verdict in verdicts] == [d.document_id for d in documents if len(d.text) < 100]


def test_files_are_sent_as_they_are(client: Client, tmp_path: Path) -> None:
    path = tmp_path / 'a "quoted" name.html'
    path.write_text(f"<html><body><p>{BREAD}</p></body></html>")
    [read] = client.text_of(path).files
    assert (read.name, read.format) == (path.name, "HTML")
    assert client.preview_file(path).document_id == path.name
    verdict = client.check_in_file(path.read_bytes(), document_id="bread", title="Bread")
    assert (verdict.document_id, verdict.title) == ("bread", "Bread")
    assert [match.document_id for match in client.find_similar(text=BREAD).matches] == ["bread"]


def test_look_ups_take_a_text_an_id_or_a_fingerprint(client: Client) -> None:
    original = client.check_in(CheckIn(document_id="look", text=LIGHTHOUSE))
    assert original.fingerprint is not None
    found = [
        client.find_similar(text=EDITED, threshold=0.5, limit=3),
        client.find_similar(fingerprint=original.fingerprint),
    ]
    assert all("look" in [match.document_id for match in one.matches] for one in found)
    assert client.find_similar(document_id="look").fingerprint == original.fingerprint
    with pytest.raises(UsageError, match="exactly one"):
        client.find_similar(text="a", document_id="b")
    with pytest.raises(UnknownDocument):
        client.find_similar(document_id="unknown")


def test_texts_and_known_documents_are_compared(client: Client) -> None:
    client.check_in(CheckIn(document_id="compare", text=LIGHTHOUSE))
    report = client.compare(LIGHTHOUSE, EDITED)
    assert report.passages is not None
    assert client.compare(SideRequest(document_id="compare"), EDITED, passages=False).alike


def test_what_cannot_be_judged_and_what_is_wrong_are_different_errors(client: Client) -> None:
    with pytest.raises(BadDocument, match="max_document_chars"):
        client.check_in(CheckIn(document_id="long", text="x" * 100_001))
    with pytest.raises(ServiceRefused, match="limit") as refused:
        client.find_similar(text="a", limit=0)
    assert refused.value.problem.status == 422


def test_the_service_says_what_it_is(client: Client) -> None:
    session = client.session()
    assert (session.index, session.scopes) == ("memory", ["read", "write", "delete"])
    assert client.overview(minutes=5).profile == session.profile == client.stats().profile
    assert client.profiles().profiles[0].in_force
    assert client.plan(documents=10, profile="roth-2013").documents == 10


def test_a_token_is_sent(tmp_path: Path) -> None:
    token = new_token()
    (tmp_path / "tokens.toml").write_text(token_table("reader", token, ("read",)))
    with service_process(tmp_path / "log", "--tokens", str(tmp_path / "tokens.toml")) as service:
        with Client(service.url, token=token) as client:
            assert client.session().token == "reader"
            with pytest.raises(ServiceRefused, match="403 forbidden_scope"):
                client.check_in(CheckIn(document_id="a", text="t"))
        with Client(service.url) as nobody, pytest.raises(ServiceRefused, match="401 unauthorized"):
            nobody.session()


def test_a_service_that_is_not_there_is_unavailable_after_all_attempts() -> None:
    waits: list[float] = []
    with (
        Client("http://127.0.0.1:1", retries=ResendPolicy(attempts=3, sleep=waits.append)) as client,
        pytest.raises(Unavailable),
    ):
        client.session()
    assert len(waits) == 2


def test_an_answer_of_something_else_is_refused(url: str) -> None:
    with Client(f"{url}/page/..") as client, pytest.raises(ServiceRefused):
        client.session()
