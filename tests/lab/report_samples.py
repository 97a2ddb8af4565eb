"""A plot, and a name that would break a page that does not escape it."""

from __future__ import annotations

from gate.lab.experiment import Plot, Series

NASTY = '<script>alert("1")</script> | & co'
PNG = b"\x89PNG\r\n\x1a\n"
PLOT = Plot(name="line", title=NASTY, x_label="x", y_label="y", series=[Series(label="a", x=[0, 1], y=[1, 2])])
