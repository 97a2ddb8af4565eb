"""The OpenAPI document is what the service does. `schemas/openapi.json` is compared with it in `test_schemas`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gate.http.openapi import openapi, problem_codes
from gate.http.operations import OPERATIONS
from gate.http.problems import KINDS
from gate.wire import SCHEMA_VERSION

DOCUMENT = openapi()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_operation_is_in_the_document_under_its_own_id() -> None:
    described = [
        (path, method.upper(), facts["operationId"])
        for path, methods in DOCUMENT["paths"].items()
        for method, facts in methods.items()
    ]
    assert described == sorted(described, key=described.index)
    assert set(described) == {(one.path, one.method, one.name) for one in OPERATIONS}
    assert len({name for _, _, name in described}) == len(OPERATIONS)


def test_every_reference_resolves_and_every_schema_is_referred_to() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    found = set(references(DOCUMENT))
    assert found == {f"#/components/schemas/{name}" for name in schemas}


def test_the_version_is_that_of_the_messages() -> None:
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", f"{SCHEMA_VERSION}.0.0")


def test_every_problem_that_an_operation_names_is_known() -> None:
    assert {code for operation in OPERATIONS for code in problem_codes(operation)} <= set(KINDS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_describes_its_parameters_its_problems_and_its_token(operation: Any) -> None:
    described = DOCUMENT["paths"][operation.path][operation.method.lower()]
    named = {one["name"] for one in described.get("parameters", ()) if one["in"] == "path"}
    assert named == {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
    for code in problem_codes(operation):
        assert f"`{code}`" in described["responses"][str(int(KINDS[code].status))]["description"]
    assert described["security"] == ([{"token": []}, {}] if operation.scope else [])


def test_a_parameter_has_its_bounds_and_its_default() -> None:
    parameters = {one["name"]: one for one in DOCUMENT["paths"]["/v1/similar"]["get"]["parameters"]}
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
    assert parameters["fingerprint"]["required"]
    assert not parameters["threshold"]["required"]
