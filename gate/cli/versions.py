"""What `gate --version -v` says beside the version: what the gate runs on."""

from __future__ import annotations

import platform

import numpy as np

from gate.core.native import loader


def describe_platform() -> str:
    return (
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.system()} {platform.machine()}\n"
        f"signing: {loader.describe()}"
    )
