"""Write the JSON Schemas of the events anew: `make schemas`. A test fails when they and gate/wire.py differ."""

from __future__ import annotations

import json
from pathlib import Path

from gate.wire import schemas

for name, schema in schemas().items():
    Path(__file__).with_name(name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
