#!/usr/bin/env python3
"""A post-consume script of paperless-ngx: proposes duplicates of what was just consumed, and changes nothing.

Set PAPERLESS_POST_CONSUME_SCRIPT to this file, GATE_INDEX to the path of an index, and install `checkin-gate[files]`
for that python3. Its lines are in the log of the document. A person decides: two bills of one form that differ in one
number are far more alike than a scan is to its second scan, and they are no duplicates. So wherever the numbers of two
documents differ, they are named, and no duplicate is proposed.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gate import CheckIn, Gate
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ExtractedText

# Recognised text. Leave `mask_numbers` off: with it every number counts as the same one, and all bills of a form
# become exact copies of each other. A higher `resemblance` proposes less of what is only alike, and misses worse scans.
PROFILE = "scans"
SHOWN = 5  # numbers that are named
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


def text_of(pool: ExtractorPool, path: Path) -> str:
    result = pool.extract(path)
    return result.text if isinstance(result, ExtractedText) else ""


def differing_numbers(left: str, right: str) -> list[str]:
    """Numbers that one text has more often than the other."""
    ours, theirs = (Counter(NUMBER.findall(text)) for text in (left, right))
    return sorted(((ours - theirs) + (theirs - ours)).keys())


def propose(pool: ExtractorPool, index: str, path: Path) -> list[str]:
    """What to tell the person, a line for each document that this one is like."""
    text = text_of(pool, path)
    if not text:
        return [f"{path.name}: no text, so it was compared with nothing"]
    with Gate(PROFILE, index=index) as gate:
        [verdict] = gate.check_in([CheckIn(document_id=str(path), text=text)])
    lines = []
    for match in verdict.matches:
        other = Path(match.document_id)
        numbers = differing_numbers(text, text_of(pool, other)) if other.is_file() else []
        if numbers:
            shown = ", ".join(numbers[:SHOWN]) + (", ..." if len(numbers) > SHOWN else "")
            lines.append(f"{path.name}: like {other.name}, but with other numbers ({shown}): keep both")
        else:
            lines.append(f"{path.name}: perhaps a duplicate of {other.name} ({verdict.relation})")
    return lines


def main(environ: Mapping[str, str]) -> int:
    consumed = environ.get("DOCUMENT_ARCHIVE_PATH") or environ["DOCUMENT_SOURCE_PATH"]
    with ExtractorPool(processes=1) as pool:
        for line in propose(pool, environ["GATE_INDEX"], Path(consumed)):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
