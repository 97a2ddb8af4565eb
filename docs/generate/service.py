"""The page of the HTTP service, from its OpenAPI document."""

from __future__ import annotations

import inspect
import json
from typing import Any

from docs.generate.markdown import GENERATED, code, table
from gate.http import problems
from gate.http.openapi import TAGS, openapi, problem_codes
from gate.http.operations import OPERATIONS, Operation

HEAD = f"""\
# HTTP service

{GENERATED}\
`gate serve` answers the operations below as JSON. `/openapi.json` is the same as an OpenAPI 3.1 document, which is also
in `schemas/` and printed by `gate schema openapi`. [Asking the gate over HTTP](../http.md) shows it at work.

An id in a path is percent-encoded: a slash in it is `%2F`. What the index holds of a document may be read with the
scope `read`, check-ins need `write`, deletes `delete`; a service on a loopback address may have no tokens.

"""

PROBLEMS = """\
## Problems

Any other answer than 200 is `application/problem+json` (RFC 9457):

```json
{example}
```

`code` is stable, `field` names what is wrong, and `detail` says what to do; none quotes a text. An answer with 429 or
503 says in `Retry-After` when to send the request again. Of a document that cannot be judged, `code` may also be a
[reason of dead letters](messages.md#reasons-of-dead-letters), with 422.

"""


def page() -> str:
    document = openapi()
    schemas = document["components"]["schemas"]
    parts = [HEAD]
    for tag, text in TAGS.items():
        parts.append(f"## {tag}\n\n{text}\n\n")
        parts += [_operation(operation, document) for operation in OPERATIONS if operation.tag == tag]
    parts.append("## Bodies\n\n")
    parts += [_schema(name, facts) for name, facts in schemas.items() if "properties" in facts and name != "Problem"]
    example = problems.RequestError("bad_field", "text: expected str, got int; correct it", field="text").problem()
    parts.append(
        PROBLEMS.format(example=json.dumps({f: getattr(example, f) for f in example.__struct_fields__}, indent=2))
    )
    rows = sorted((int(kind.status), code(name), kind.title) for name, kind in problems.KINDS.items())
    parts.append(table(["status", "`code`", "title"], ((str(status), *row) for status, *row in rows)))
    return "".join(parts)


def _operation(operation: Operation, document: dict[str, Any]) -> str:
    described = document["paths"][operation.path][operation.method.lower()]
    parts = [f"### {operation.method} {operation.path}\n\n{described['summary']}"]
    if described["description"] != described["summary"]:
        parts.append(f" {described['description']}")
    parts.append("\n\n")
    if parameters := described.get("parameters"):
        rows = (
            (
                code(one["name"]),
                one["in"],
                type_in_words(one["schema"]),
                "yes" if one["required"] else _default(one["schema"]),
                one.get("description", ""),
            )
            for one in parameters
        )
        parts.append(table(["parameter", "in", "type", "required, or default", "meaning"], rows) + "\n")
    if operation.body is not None:
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        parts.append(f"Body: {type_in_words(schema)}. ")
    answer = described["responses"]["200"]["content"][operation.media_type]["schema"]
    parts.append(f"Answer: {type_in_words(answer)}. ")
    own = [name for name in dict.fromkeys(problem_codes(operation)) if name not in _GENERAL]
    if own:
        parts.append(f"Problems of its own: {', '.join(map(code, own))}.")
    return "".join(parts).rstrip() + "\n\n"


# Those that any operation with a token, a query or a body may answer with.
_GENERAL = {
    "wrong_host",
    "forbidden_origin",
    "unauthorized",
    "forbidden_scope",
    "too_many_requests",
    "overloaded",
    "timeout",
    "internal",
    "bad_parameter",
    "missing_field",
    "bad_json",
    "slow_body",
    "too_large",
    "wrong_media_type",
    "bad_field",
}


def _schema(name: str, facts: dict[str, Any]) -> str:
    required = facts.get("required", ())
    rows = (
        (code(field), type_in_words(one), "yes" if field in required else "", one.get("description", ""))
        for field, one in facts["properties"].items()
    )
    text = inspect.cleandoc(facts.get("description", ""))
    return f"### {name}\n\n{text}\n\n" + table(["field", "type", "required", "meaning"], rows) + "\n"


def _default(schema: dict[str, Any]) -> str:
    return code(json.dumps(schema["default"])) if "default" in schema else ""


def type_in_words(schema: dict[str, Any]) -> str:
    """A type of JSON Schema in words, with links to the bodies on this page."""
    if "anyOf" in schema:
        return " or ".join(type_in_words(one) for one in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        anchors = {"Relation": "messages.md#relations", "Degraded": "messages.md#degraded-verdicts"}
        return f"[{name}]({anchors.get(name, '#' + name.lower())})"
    if "enum" in schema or "const" in schema:
        return " or ".join(code(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return " and ".join(type_in_words(one) for one in schema["prefixItems"])
        return f"list of {type_in_words(schema.get('items', {}))}"
    words = str(schema.get("type", "anything"))
    bounds = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "maxLength": "at most"}
    worded = [f"{word} {schema[key]:,}" for key, word in bounds.items() if key in schema]
    return f"{words} {' '.join(worded)}".rstrip()
