"""A clock that is wrong for one process: a library that is loaded before the C library, built where it is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SOURCE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long ahead(void) { return atol(getenv("CLOCK_AHEAD_SECONDS")); }

int clock_gettime(clockid_t clock, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += ahead();
    return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
    int result = real(at, zone);
    at->tv_sec += ahead();
    return result;
}

time_t time(time_t *at) {
    time_t (*real)(time_t *) = dlsym(RTLD_NEXT, "time");
    time_t now = real(NULL) + ahead();
    if (at) *at = now;
    return now;
}
"""


def clock_ahead(seconds: int, folder: Path) -> dict[str, str]:
    """Environment of a process whose clock is ahead by so many seconds; its monotonic clock is right."""
    source, library = folder / "clock.c", folder / "clock.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source.write_text(_SOURCE)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_AHEAD_SECONDS": str(seconds)}
