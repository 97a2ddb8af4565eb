"""Bodies, as far as they are read."""

from __future__ import annotations

from tests.http.service_harness import problem, running_service


async def test_a_long_body_is_decoded_beside_the_event_loop_with_the_same_problems() -> None:
    long = "x" * 100_000
    async with running_service() as service:
        kind = {"content-type": "application/json; charset=utf-8"}
        for body, expected in (
            (f'{{"text": "{long}"}}', (422, "missing_field", "document_id")),
            (f'{{"text": "{long}"', (400, "bad_json", None)),
        ):
            assert problem(await service.client.post("/v1/check-ins", content=body, headers=kind)) == expected
