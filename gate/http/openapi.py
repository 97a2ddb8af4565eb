"""The OpenAPI 3.1 document of the service, made from its operations and the structs of their bodies."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from gate.http import problems, uploads
from gate.http.compare_messages import ONE_SIDE, SideRequest
from gate.http.messages import ONE_CONTENT, CheckInRequest, Problem
from gate.http.operations import OPERATIONS, Operation
from gate.http.uploads import UploadFields
from gate.wire import SCHEMA_VERSION

REF = "#/components/schemas/{name}"
OPENAPI = "openapi"
FORM = "UploadForm"
PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "document_id": {
        "name": "document_id",
        "in": "path",
        "required": True,
        "description": "Id of a document, percent-encoded: a slash in it is %2F.",
        "schema": {"type": "string", "minLength": 1},
        "example": "reports/2026",
    },
    "group": {
        "name": "group",
        "in": "path",
        "required": True,
        "description": "Id of any document of the family, percent-encoded: a slash in it is %2F.",
        "schema": {"type": "string", "minLength": 1},
        "example": "reports/2025",
    },
}
TAGS = {
    "Judge": "Documents in, verdicts out.",
    "Look": "Compare texts, and find what is like one. Nothing is changed.",
    "Documents": "What is known of one document.",
    "Activity": "What this process of the service does.",
    "Index": "The index and the profiles as a whole.",
    "Operate": "For orchestrators, scrapers and generators of clients.",
}


@cache
def openapi_document() -> bytes:
    """The document as it is served."""
    return msgspec.json.encode(openapi())


def openapi() -> dict[str, Any]:
    types = [
        value
        for operation in OPERATIONS
        for value in (operation.body, operation.query, *operation.answers)
        if value is not None
    ]
    schemas, components = msgspec.json.schema_components([*types, Problem, UploadFields], ref_template=REF)
    by_type = {id(value): schema for value, schema in zip([*types, Problem], schemas, strict=False)}
    for component in components.values():
        if "description" in component:
            component["description"] = inspect.cleandoc(component["description"])
    components[FORM] = _form(components.pop(UploadFields.__name__))
    components[CheckInRequest.__name__] |= ONE_CONTENT
    components[SideRequest.__name__] |= ONE_SIDE
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        described = _operation(operation, by_type, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    for operation in OPERATIONS:  # a query's struct is described by its parameters
        if operation.query is not None:
            components.pop(operation.query.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Check-in gate",
            "version": f"{SCHEMA_VERSION}.0.0",
            "summary": "Is there something like this document already: what, how much alike, and which was first?",
            "description": "Every problem is `application/problem+json` (RFC 9457) with a stable `code`, the `field`, "
            "and a `detail` that says what to do. A request without an answer, or with 429 or 503, is sent again: a "
            "check-in that was judged gets the same verdict.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the tokens file. Not needed where the service has none, which it may "
                    "only on a loopback address.",
                }
            },
        },
    }


def _form(fields: dict[str, Any]) -> dict[str, Any]:
    """A form: files, and the fields beside them. A field is text, and one that is empty counts as missing."""
    file = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
    files = {
        "type": "array",
        "items": file,
        "minItems": 1,
        "description": "Files in any format that is read; each is a document.",
    }
    properties = {name: _without_null(facts) for name, facts in fields["properties"].items()}
    return {
        "title": FORM,
        "description": "Files, and what is known of them.",
        "type": "object",
        "properties": {uploads.FILE: files, **properties},
        "required": [uploads.FILE],
        "additionalProperties": False,
    }


def _without_null(facts: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in facts.items() if name not in ("anyOf", "default")}
    choices = [choice for choice in facts.get("anyOf", ()) if choice.get("type") != "null"]
    return kept | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})


def _operation(operation: Operation, by_type: dict[int, Any], components: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
    }
    description = [operation.description, f"Needs the scope `{operation.scope}`." if operation.scope else ""]
    described["description"] = " ".join(filter(None, description)) or operation.summary
    parameters = [parameter for name, parameter in PATH_PARAMETERS.items() if f"{{{name}}}" in operation.path]
    if operation.query is not None:
        parameters += _parameters(components[operation.query.__name__])
    if parameters:
        described["parameters"] = parameters
    content = {}
    if operation.body is not None:
        content["application/json"] = {"schema": by_type[id(operation.body)]}
    if operation.form:
        content[uploads.MEDIA_TYPE] = {"schema": {"$ref": REF.format(name=FORM)}}
    if content:
        described["requestBody"] = {"required": True, "content": content}
    shapes = [by_type[id(answer)] for answer in operation.answers] or [{"type": "string"}]
    schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    answer = {"description": "The answer.", "content": {operation.media_type: {"schema": schema}}}
    described["responses"] = {"200": answer} | dict(_problems(operation))
    if operation.unready:
        described["responses"]["503"] = answer | {"description": "It is not ready."}
    described["security"] = [{"token": []}, {}] if operation.scope else []
    return described


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a query's struct."""
    parameters = []
    for name, facts in schema["properties"].items():
        facts = dict(facts)
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", ())}
        if "description" in facts:
            parameter["description"] = facts.pop("description")
        if "examples" in facts:
            parameter["example"] = facts.pop("examples")[0]
        parameters.append(parameter | {"schema": facts})
    return parameters


def problem_codes(operation: Operation) -> Iterable[str]:
    """The codes of all problems that an operation may answer with."""
    yield from ("wrong_host", "forbidden_origin")
    if operation.scope is not None:
        yield from ("unauthorized", "forbidden_scope", "too_many_requests", "overloaded", "timeout", "internal")
    if operation.query is not None:
        yield from ("bad_parameter", "missing_field")
    if operation.body is not None:
        yield "bad_json"
    if operation.form:
        yield "bad_multipart"
    if operation.body is not None or operation.form:
        yield from ("slow_body", "too_large", "wrong_media_type", "bad_field", "missing_field")
    yield from operation.problems


def _problems(operation: Operation) -> Iterable[tuple[str, dict[str, Any]]]:
    by_status: dict[str, list[str]] = {}
    for code in problem_codes(operation):
        by_status.setdefault(str(int(problems.KINDS[code].status)), []).append(code)
    for status, codes in sorted(by_status.items()):
        titles = {problems.KINDS[code].title: code for code in codes}
        response: dict[str, Any] = {
            "description": "; ".join(f"{title} (`{code}`)" for title, code in titles.items()) + ".",
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": REF.format(name=Problem.__name__)}}},
        }
        if status in ("429", "503"):
            response["headers"] = {
                "Retry-After": {"description": "Seconds until a retry makes sense.", "schema": {"type": "integer"}}
            }
        yield status, response
