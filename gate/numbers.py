"""Numbers as people read them: the same format in every table, sentence and bar."""

from __future__ import annotations

from typing import Final, Literal

PER_CENT: Final = "%"  # in an f-string of Python 3.11, a quote ends it
_BYTES = ("B", "kB", "MB", "GB", "TB")


def number(value: float, unit: Literal["", "%", "B"] = "") -> str:
    """A count with thousands separators, a share as per cent with one place, bytes in the unit that fits.

    A share is rounded down, so that only the whole reads 100 %.
    """
    if unit == "%":
        return f"{int(round(value * 1000, 6)) / 10:.1f} %"  # 0.57 * 1000 is a little less than 570
    if unit == "B":
        for name in _BYTES:
            if value < 1000 or name == _BYTES[-1]:
                return f"{value:,.0f} B" if name == "B" else f"{value:,.1f} {name}"
            value /= 1000
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"


def counted(count: int, noun: str) -> str:
    """A count and its noun: "1 document", "1,234 documents"."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"
