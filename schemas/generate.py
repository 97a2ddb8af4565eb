"""Write the JSON Schemas, the AsyncAPI and the OpenAPI document: `make schemas`. A test fails when they differ from the
code."""

from __future__ import annotations

import json
from pathlib import Path

from gate.schemas import documents

for name, schema in documents().items():
    Path(__file__).with_name(name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
