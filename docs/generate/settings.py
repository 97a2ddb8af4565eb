"""The page of settings, from the table of `gate.config.reference`."""

from __future__ import annotations

from docs.generate.markdown import GENERATED, code, table
from gate.config.reference import SettingRow, describe_settings
from gate.config.stream import SERVER, WORKER

HEAD = f"""\
# Settings

{GENERATED}\
```text
defaults  <  gate.toml (or the file of --config or GATE_CONFIG)  <  GATE_* in the environment  <  options
```

What is further to the right wins. All problems are reported at once, each with its key, its source and what is allowed.
`gate config` prints the settings in force and the source of each. Any setting can be given as `--set KEY=VALUE`; those
that have an option of their own name it below.

A path in a settings file is relative to that file, elsewhere to the working directory. A secret comes from its variable
or from a file that a setting names, never from a settings file or an option, and is never printed.

```toml
# gate.toml
index = "docs.sqlite"
dead_letters = "dead.jsonl"
kafka_topics = ["gate.check-ins"]

[profile]
name = "strict"
base = "standard"
resemblance = 0.85

[limits]
max_matches = 3
```
"""


def page() -> str:
    sections: dict[str, list[SettingRow]] = {}
    for row in describe_settings():
        sections.setdefault(_section(row.key), []).append(row)
    parts = [HEAD]
    for title, rows in sections.items():
        cells = ((_names(row), _value(row), row.description) for row in rows)
        parts.append(f"## {title}\n\n" + table(["setting", "value", "what it is"], cells))
    return "\n".join(parts)


def _section(key: str) -> str:
    if key.startswith("limits."):
        return "Limits"
    if key.startswith("redis_"):
        return "Redis"
    if key.startswith("kafka_"):
        return "Kafka"
    if key.startswith("api_"):
        return "HTTP service"
    return "Workers" if key in WORKER or key in SERVER else "Index, profile and files"


def _names(row: SettingRow) -> str:
    """The key, where a file may hold it, then the variable, then the option, where it has one of its own."""
    own = row.flag if row.flag not in (None, "--set") else None
    key = row.key if row.flag is not None else None
    return "<br>".join(code(name) for name in (key, row.variable, own) if name)


def _value(row: SettingRow) -> str:
    if not row.default:
        return row.type
    worded = " " in row.default or row.default.endswith("'s")
    return f"{row.type}<br>default: {row.default if worded else code(row.default)}"
