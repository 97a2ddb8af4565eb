"""What one file may cost while its text is extracted."""

from __future__ import annotations

import msgspec

from gate.limits import Positive


class ExtractLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that hits one of them is judged by its bytes instead of its text, and says why."""

    max_file_bytes: Positive = 256 * 2**20  # of a file that is no plain text
    max_chars: Positive = 5_000_000  # of the text that comes out
    max_pages: Positive = 5000  # of a PDF, a presentation, a workbook or a book
    max_unpacked_bytes: Positive = 512 * 2**20  # of all that is unpacked out of one file
    max_ratio: Positive = 200  # of unpacked to packed bytes, beyond 16 MiB unpacked
    max_members: Positive = 20_000  # files within one file
    max_depth: Positive = 500  # of elements within elements, of mails within mails
    cpu_seconds: Positive = 20
    wall_seconds: Positive = 60  # also where a child does nothing at all
    memory_bytes: Positive = 1024 * 2**20  # of a child, beyond what it needs to start
