"""Limits on this process that the system enforces, for children that read files of others."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_MAX_FILES = 32
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_SPARE_CPU_SECONDS = 1  # the system counts whole seconds


def limit_process() -> None:
    """No core files, no writing of files, few open files."""
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, _MAX_FILES)):
        resource.setrlimit(kind, (most, most))


def limit_work(*, cpu_seconds: int, memory_bytes: int) -> None:
    """CPU from here on, which the system ends with SIGXCPU, and the whole address space."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _lower_soft_limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + cpu_seconds + _SPARE_CPU_SECONDS)
    _lower_soft_limit(resource.RLIMIT_AS, memory_bytes)


def _lower_soft_limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def address_space_bytes() -> int:
    """What RLIMIT_AS counts."""
    return int(Path("/proc/self/statm").read_bytes().split()[0]) * _PAGE_BYTES
