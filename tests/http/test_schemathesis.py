"""The service keeps to its OpenAPI document, whatever requests are made out of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, CheckFunction, GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from gate.http.openapi import openapi
from gate.http.operations import OPERATIONS, Operation
from tests.support.gate_service import service_process

pytestmark = pytest.mark.slow

SCHEMA = schemathesis.openapi.from_dict(openapi())
EXAMPLES = 6  # of each operation and mode; ten times as many found no more
# What a schema cannot say: one document of a form has the fields, metadata in a form is JSON, 5.0 is no integer here,
# the profiles that are known, and the lowest threshold of a fingerprint. In a form every value is text, so that a wrong
# one may look like a right one.
BEYOND_SCHEMA = {"check_in", "preview", "texts", "compare", "plan", "similar_to_text", "similar_to_fingerprint"}
CASES = [
    pytest.param(operation, mode, id=f"{operation.name}-{mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or operation.query is not None or operation.body is not None
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with service_process(tmp_path_factory.mktemp("schemathesis") / "log", "--demo") as service:
        yield service.url


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_every_answer_is_one_that_the_document_names(operation: Operation, mode: GenerationMode, url: str) -> None:
    described = SCHEMA[operation.path][operation.method]
    unchecked: list[CheckFunction] = [positive_data_acceptance] if operation.name in BEYOND_SCHEMA else []
    if operation.form:
        unchecked.append(negative_data_rejection)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described.as_strategy(generation_mode=mode))
    def answer_is_valid(case: Case[Any]) -> None:
        case.call_and_validate(base_url=url, excluded_checks=unchecked)

    answer_is_valid()
