"""The documents that describe messages, topics and the service to others: a JSON Schema of each message, an AsyncAPI
document, and the OpenAPI document of the service (`gate.http.openapi`).

They are made from the code: fields, bounds and descriptions from `gate.model` and `gate.wire`, topics and headers from
`gate.stream`. The schemas of incoming messages accept what the gate judges: what `decode_event` accepts, but for a
`content_uri` that is no local file: URI. That one is refused, with a dead letter, when its content is read
(`gate.stream.content`). What a JSON Schema cannot say:

- a text has at most limits.max_document_chars characters, which is a setting;
- a string holds no half of a surrogate pair, and JSON no depth that exhausts the decoder;
- 7.0 is no version, though to a JSON Schema it is the integer 7;
- a time that rounds up to the year 10000 is none;
- a `content_uri` points to a file that is there, beneath content_root, and escapes no NUL.
"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from gate.config.stream import TOPICS
from gate.http.openapi import OPENAPI, openapi
from gate.stream.records import CLOUD_EVENT_HEADERS, ORIGINAL_PREFIX, TRACE_HEADERS
from gate.stream.settings import KafkaSettings
from gate.wire import SCHEMA_VERSION, CheckInEvent, DeadLetter, DeleteEvent, Origin, VerdictEvent

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ASYNCAPI = "asyncapi"
KAFKA_BINDING = "0.5.0"

MESSAGES: dict[str, tuple[str, Any]] = {  # name: title and struct
    "check_in": ("Check-in", CheckInEvent),
    "delete": ("Delete", DeleteEvent),
    "verdict": ("Verdict", VerdictEvent),
    "dead_letter": ("Dead letter", DeadLetter),
}

# A null counts as a field that is not there: exactly one field of content is not null, and only a hash has a reason.
_CONTENTS = ("text", "content_uri", "content_sha256")
_ONE_CONTENT = {
    "oneOf": [
        {
            "required": [content],
            "properties": {
                content: {"type": "string"},
                **{other: {"type": "null"} for other in _CONTENTS if other != content},
                **({} if content == "content_sha256" else {"unreadable_reason": {"type": "null"}}),
            },
        }
        for content in _CONTENTS
    ]
}
_ORIGIN = {"topic": "gate.check-ins", "partition": 0, "offset": 1024}
EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "check_in": [
        {
            "document_id": "reports/2026",
            "version": "2",
            "text": "The ferry to the islands leaves at nine and returns before dark.",
            "title": "Report for 2026",
            "source": "archive",
            "checked_in_at": "2026-05-06T07:08:09Z",
        },
        {"document_id": "reports/2025", "content_uri": "file:reports/2025.txt"},
        {
            "document_id": "scans/2024.pdf",
            "content_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "unreadable_reason": "no_text",
        },
    ],
    "delete": [{"type": "delete", "document_id": "reports/2026"}],
    "verdict": [
        {
            "document_id": "reports/2026",
            "version": "2",
            "similar": True,
            "relation": "near",
            "matches": [
                {
                    "document_id": "reports/2025",
                    "version": None,
                    "relation": "near",
                    "distance": 2,
                    "resemblance": 0.9141,
                    "containment": 0.9552,
                    "bit_agreement": 0.9688,
                }
            ],
            "group": "reports/2025",
            "fingerprint": "0123456789abcdef",
            "content_id": "00112233445566778899aabbccddeeff",
            "profile": "standard@1",
            "features": 310,
            "candidates": 1,
            "degraded": [],
            "verdict_id": "5d41402abc4b2a76b9719d911017c592",
            "source": "archive",
            "title": "Report for 2026",
            "unreadable_reason": None,
            "ruled_out": 0,
            "origin": _ORIGIN,
            "checked_in_at": "2026-05-06T07:08:09Z",
            "judged_at": None,
            "schema_version": SCHEMA_VERSION,
        }
    ],
    "dead_letter": [
        {
            "reason": "missing_field",
            "message": "gate.check-ins[0]@1024: field `document_id` is missing: every event needs it",
            "origin": _ORIGIN,
            "document_id": None,
            "sha256": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
            "size_bytes": 20,
            "dead_lettered_at": None,
            "schema_version": SCHEMA_VERSION,
            "original": '{"text": "a ferry"}',
        }
    ],
}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of each message, by file name."""
    return {f"{name}.json": _schema(name, title, message) for name, (title, message) in MESSAGES.items()}


def documents() -> dict[str, dict[str, Any]]:
    """The JSON Schemas, the AsyncAPI and the OpenAPI document, by file name."""
    return {**schemas(), f"{ASYNCAPI}.json": asyncapi(), f"{OPENAPI}.json": openapi()}


def _schema(name: str, title: str, message: Any) -> dict[str, Any]:
    schema = msgspec.json.schema(message)
    for definition in schema["$defs"].values():
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return {
        "$schema": DIALECT,
        "$id": f"urn:checkin-gate:schema:{name.replace('_', '-')}:{SCHEMA_VERSION}",
        "title": title,
        "description": inspect.cleandoc(message.__doc__),
        **schema,
        **(_ONE_CONTENT if message is CheckInEvent else {}),
        "examples": EXAMPLES[name],
    }


# AsyncAPI


def asyncapi() -> dict[str, Any]:
    """The topics of the gate, with their messages, keys and headers, under the default settings."""
    kafka = KafkaSettings()
    return {
        "asyncapi": "3.0.0",
        "id": f"urn:checkin-gate:{ASYNCAPI}:{SCHEMA_VERSION}",
        "info": {
            "title": "Check-in gate",
            "version": f"{SCHEMA_VERSION}.0.0",
            "description": "Check-ins and deletes of documents in; a verdict on each check-in out, and a dead letter "
            "for each message that cannot be judged. The names of topics are those of the default settings.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"kafka": {"host": kafka.brokers, "protocol": "kafka"}},
        "channels": {channel: _channel(channel, kafka) for channel in CHANNELS},
        "operations": {
            "judge": {
                "action": "receive",
                "channel": {"$ref": "#/channels/check_ins"},
                "summary": "Read by one consumer group; the records of a partition are judged in their order.",
                "bindings": {
                    "kafka": {"groupId": {"type": "string", "enum": [kafka.group]}, "bindingVersion": KAFKA_BINDING}
                },
            },
            **{
                f"send_{channel}": {"action": "send", "channel": {"$ref": f"#/channels/{channel}"}}
                for channel in CHANNELS
                if channel != "check_ins"
            },
        },
        "components": {"messages": _messages()},
    }


CHANNELS: dict[str, tuple[str, tuple[str, ...]]] = {  # by the field of `Topics`: what it carries, and the messages
    "check_ins": ("Documents that are checked in or deleted.", ("check_in", "delete", "tombstone")),
    "verdicts": ("One verdict for each check-in; a repeated one is the same to the byte.", ("verdict",)),
    "dead_letters": ("Messages that cannot be judged, with the reason and the original.", ("dead_letter",)),
    "accepted": ("Check-ins that pass, byte for byte.", ("routed",)),
    "quarantine": ("Check-ins that are similar to a known document, byte for byte.", ("routed",)),
}


HEADER_DESCRIPTIONS = {
    "ce_specversion": "Version of the CloudEvents specification.",
    "content-type": "Media type of the value.",
}


def _channel(channel: str, kafka: KafkaSettings) -> dict[str, Any]:
    [setting] = [setting for setting, field in TOPICS.items() if field == channel]
    purpose, messages = CHANNELS[channel]
    address = getattr(kafka.topics, channel)
    if isinstance(address, tuple):
        [address] = address
    topic = {"topic": address} if address else {}
    return {
        "address": address,
        "description": f"{purpose} The setting {setting} names the topic"
        + ("." if address else "; without it nothing is sent here."),
        "servers": [{"$ref": "#/servers/kafka"}],
        "messages": {message: {"$ref": f"#/components/messages/{message}"} for message in messages},
        "bindings": {"kafka": {**topic, "bindingVersion": KAFKA_BINDING}},
    }


def _messages() -> dict[str, Any]:
    own_key = "Any; one that is the document id keeps the events of a document in order."
    [verdict], [letter] = EXAMPLES["verdict"], EXAMPLES["dead_letter"]
    return {
        "check_in": _message("check_in", key=own_key),
        "delete": _message("delete", key=own_key),
        "tombstone": {
            "title": "Tombstone",
            "summary": "A record without a value deletes the document that its key names, as compaction does.",
            "payload": {"type": "null"},
            "examples": [{"payload": None}],
            "bindings": _key("Id of the document, in UTF-8; at most 1024 characters."),
        },
        "verdict": _message(
            "verdict",
            key="Id of the document.",
            headers={
                "ce_id": _header("The verdict_id.", example=verdict["verdict_id"]),
                "ce_type": _header("Type of the event.", const="gate.verdict"),
                "ce_source": _header(
                    "The profile.", example=f"/gate/{verdict['profile']}", pattern="^/gate/[^/]+@[0-9]+$"
                ),
            },
            carried={name: _header("As in the check-in, where it has one.") for name in TRACE_HEADERS},
        ),
        "dead_letter": _message(
            "dead_letter",
            key="That of the message.",
            headers={
                "ce_id": _header(
                    "Where the message was read: topic[partition]@offset.", example=str(Origin(**letter["origin"]))
                ),
                "ce_type": _header("Type of the event.", const="gate.dead_letter"),
                "ce_source": _header("The gate.", const="/gate"),
                "gate_reason": _header("The reason, as in the value.", example=letter["reason"]),
            },
            others="Those of the message; one that the dead letter needs itself has the prefix " + ORIGINAL_PREFIX,
        ),
        "routed": {
            "title": "Routed check-in",
            "summary": "The check-in as it came: its key, value and headers.",
            "payload": _payload("check_in"),
            "examples": [{"payload": example} for example in EXAMPLES["check_in"]],
            "bindings": _key("That of the check-in."),
        },
    }


def _message(
    name: str,
    *,
    key: str,
    headers: dict[str, Any] | None = None,
    carried: dict[str, Any] | None = None,
    others: str = "",
) -> dict[str, Any]:
    title, message = MESSAGES[name]
    examples: list[dict[str, Any]] = [{"payload": example} for example in EXAMPLES[name]]
    described: dict[str, Any] = {
        "name": name,
        "title": title,
        "summary": inspect.cleandoc(message.__doc__).partition("\n")[0],
        "payload": _payload(name),
        "examples": examples,
        "bindings": _key(key),
    }
    if headers is not None:
        constants = {header: value.decode() for header, value in CLOUD_EVENT_HEADERS}
        shared = {header: _header(HEADER_DESCRIPTIONS[header], const=value) for header, value in constants.items()}
        always = shared | headers
        values = {header: facts.get("const") or facts["examples"][0] for header, facts in always.items()}
        described["examples"] = [{"headers": values, **example} for example in examples]
        described["headers"] = {
            "type": "object",
            "properties": always | (carried or {}),
            "required": list(always),
            "additionalProperties": {"type": "string", "description": others} if others else False,
        }
    return described


def _payload(name: str) -> dict[str, Any]:
    return {"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": {"$ref": f"./{name}.json"}}


def _key(description: str) -> dict[str, Any]:
    return {"kafka": {"key": {"type": "string", "description": description}, "bindingVersion": KAFKA_BINDING}}


def _header(description: str, *, example: str | None = None, **more: str) -> dict[str, Any]:
    return {"type": "string", "description": description, **({"examples": [example]} if example else {}), **more}
