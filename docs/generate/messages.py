"""The page of messages: their fields from the JSON Schemas, and the reasons of dead letters and degraded verdicts."""

from __future__ import annotations

import inspect
import json
from typing import Any

from docs.generate.markdown import GENERATED, code, table
from gate.model import Degraded, Relation
from gate.schemas import schemas

HEAD = f"""\
# Messages

{GENERATED}\
Messages are JSON in UTF-8: one object per line in a file, one per record on a topic. Fields are only ever added, with
defaults, and unknown fields are let through, so that either side may be the newer one. `gate schema NAME` prints the
JSON Schema of a message, and `gate schema asyncapi` the AsyncAPI document of the topics; `schemas/` has the same files.

On a topic, the key of a verdict is its document id and the headers are those of CloudEvents; see
[On a topic](../stream.md). A record without a value (a tombstone) deletes the document that its key names.

"""

TITLES = {"check_in": "Check-in", "delete": "Delete", "verdict": "Verdict", "dead_letter": "Dead letter"}

RELATIONS: dict[Relation, tuple[str, str]] = {  # the document ..., and whether it passes
    Relation.NEW: ("is like nothing in the index", "yes"),
    Relation.EXACT: (
        "has the text of a known document, apart from case, character width and white space; or, of files without "
        "text, the same bytes",
        "no",
    ),
    Relation.NEAR: ("shares much of its text with a known document", "no"),
    Relation.CONTAINED: ("is nearly all in a known, longer document that is alike", "no"),
    Relation.CONTAINS: ("holds nearly all of a known, shorter document that is alike", "no"),
    Relation.REVISION: ("is another version of a known document, and like no other document", "yes"),
    Relation.TOO_SHORT: ("has too few features for anything but an exact comparison", "yes"),
    Relation.EMPTY: ("has no text", "yes"),
    Relation.UNREADABLE: ("is a file from which no text could be read; files with the same bytes are `exact`", "yes"),
    Relation.UNDECIDED: (
        "is like nothing that was found before a limit ended the search, and `limits.on_capped` holds it up. It is not "
        "in the index. `similar` is true under `refuse`; under `quarantine` it is false, as nothing alike was found",
        "no",
    ),
}

DEGRADED: dict[Degraded, str] = {
    Degraded.BUCKET_CAPPED: "a bucket was not read whole: it has more postings than `limits.max_bucket`, or all "
    "buckets of the document together have more than `limits.max_postings`",
    Degraded.CANDIDATES_CAPPED: "more candidates than `limits.max_candidates`; those met in most buckets and the "
    "oldest were compared",
    Degraded.MATCHES_CAPPED: "more matches than `limits.max_matches`; the best are named",
    Degraded.FEATURES_CAPPED: "the document has more features than are signed or kept; only some of them count",
    Degraded.DETAILS_CUT: "the title, source, URI or metadata is longer than is kept, and was cut; no match is missed",
    Degraded.UNCHECKED: "the index was unavailable, and `on_index_unavailable` lets documents pass unchecked",
}

# The reasons that a dead letter or a refused file may have. A test compares them with the code.
REASONS: dict[str, str] = {
    "bad_compression": "a compressed file is damaged or ends too soon",
    "bad_encoding": "a text file is in no encoding that is read; convert it to UTF-8",
    "bad_field": "a field has a wrong type or value; the message names the field and what is allowed",
    "bad_json": "the message is no JSON object",
    "bad_key": "a record without a value has no key that names a document",
    "bad_text": "a text holds half of a surrogate pair, which is no character",
    "bad_utf8": "the bytes are not UTF-8",
    "binary": "a file of an archive is not text",
    "binary_content": "the file behind `content_uri` is not text",
    "bomb": "a compressed file grows beyond all bounds when it is decompressed",
    "damaged": "a document of a known format is cut off or broken",
    "encrypted": "a document needs a password",
    "index_unavailable": "a delete came while the index was unavailable and check-ins passed unchecked; send it again",
    "missing_field": "a field is missing that every message needs",
    "no_content": "neither `text` nor `content_uri` is given",
    "no_text": "a document of a known format holds no text, as scanned pages do",
    "not_installed": "no library is installed that reads the file; the message says how to install it",
    "not_json_lines": "a file holds no JSON in its first lines, and is rejected as a whole",
    "other_profile": "a verdict that an index is rebuilt from was given under another profile",
    "too_costly": "reading a document takes more CPU, time or memory than its limits allow",
    "too_large": "the document or the record is larger than the limits allow",
    "too_large_for_topic": "a document of an archive is larger than a record of the topic may be",
    "too_large_to_answer": "a document was judged, but its verdict is too large for the verdict topic",
    "too_large_to_route": "a document was judged, but its record is too large for the accepted or quarantine topic",
    "unreadable": "a file of an archive cannot be read",
    "unreadable_content": "the file behind `content_uri` cannot be read, or lies outside of `content_root`",
    "unreadable_record": "a record of a topic is damaged, or the name of one of its headers is not UTF-8",
}


def page() -> str:
    parts, shared = [HEAD], dict[str, dict[str, Any]]()
    for file_name, schema in schemas().items():
        name, top = file_name.removesuffix(".json"), schema["$ref"].rpartition("/")[2]
        parts += [f"## {TITLES[name]}\n\n", _fields(schema["$defs"][top]), *_examples(schema, top)]
        shared |= {part: facts for part, facts in schema["$defs"].items() if part != top and "properties" in facts}
    for part, facts in shared.items():
        parts += [f"## {part}\n\n", _fields(facts)]
    parts += [
        "## Relations\n\n",
        "A document passes where `similar` is false.\n\n",
        table(["`relation`", "the document ...", "passes"], ((code(name), *row) for name, row in RELATIONS.items())),
        "\n## Degraded verdicts\n\n",
        "A verdict whose list `degraded` is not empty may have missed a match:\n\n",
        table(["reason", "meaning"], ((code(name), text) for name, text in DEGRADED.items())),
        "\n## Reasons of dead letters\n\n",
        "`reason` of a dead letter, and of what `gate replay` and `gate check` leave out. Some are the "
        "`unreadable_reason` of a file that was compared by its bytes:\n\n",
        table(["reason", "meaning"], ((code(name), text) for name, text in REASONS.items())),
    ]
    return "".join(parts)


def _examples(schema: dict[str, Any], top: str) -> list[str]:
    values = schema.get("examples") or schema["$defs"][top].get("examples") or []
    return [f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n\n" for value in values]


def _fields(definition: dict[str, Any]) -> str:
    required = definition.get("required", ())
    rows = (
        (code(field), _type(facts), "yes" if field in required else "", facts.get("description", ""))
        for field, facts in definition["properties"].items()
    )
    description = inspect.cleandoc(definition.get("description", ""))
    return f"{description}\n\n" + table(["field", "type", "required", "meaning"], rows) + "\n"


def _type(facts: dict[str, Any]) -> str:
    """A type of JSON Schema in words: `string or null`, `list of Match`."""
    if "anyOf" in facts:
        return " or ".join(_type(one) for one in facts["anyOf"])
    if "$ref" in facts:
        name = facts["$ref"].rpartition("/")[2]
        return {
            "Relation": "a [relation](#relations)",
            "Degraded": "a [reason](#degraded-verdicts)",
        }.get(name, f"[{name}](#{name.lower()})")
    if "const" in facts or "enum" in facts:
        return " or ".join(code(json.dumps(value)) for value in facts.get("enum", [facts.get("const")]))
    if facts.get("type") == "array":
        return f"list of {_type(facts['items'])}"
    worded = str(facts.get("type", "anything"))
    if "format" in facts:
        worded += f" ({facts['format']})"
    bounds = [f"{facts[key]:,} {words}" for key, words in (("maxLength", "characters at most"),) if key in facts]
    return worded + (f", {', '.join(bounds)}" if bounds else "")
