"""Numbers of entries: each stands for one life of a content, and is never used again."""

from __future__ import annotations

import os
import random


def new_entry_id(content: bytes) -> int:
    """A number for one life of a content: 32 bits of its id, so that a store may keep both together, 32 at random."""
    return int.from_bytes(content[:4], "big") << 32 | _numbers.getrandbits(32) or 1


# Not for secrets, and seeded by the system: a question to the system for each document takes five times as long. A
# process that is forked off would draw the numbers of its parent, so it is seeded anew.
_numbers = random.Random()  # noqa: S311
os.register_at_fork(after_in_child=_numbers.seed)
