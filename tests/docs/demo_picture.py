"""Draw the terminal of `gate demo` as docs/assets/demo.svg: `make outputs` does.

The picture is of what the command writes to a terminal, colours included. It names a font by its kind only, so that
nothing is fetched to look at it.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.docs.pages import ROOT

PICTURE = ROOT / "docs" / "assets" / "demo.svg"
COLUMNS, LINES = 103, 50
LAST_LINE = "What to try next"  # what follows is for the terminal only

# As rich draws a terminal, without its window buttons and the fonts that it would fetch.
_FORMAT = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>gate demo</title>
<style>
.{unique_id}-matrix {{
  font: {char_height}px/{line_height}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="#292929"/>
<g transform="translate(9, 20)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def demo_output() -> str:
    """What `gate demo` writes to a terminal, its colours as escape sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "COLORTERM")}
    with os.fdopen(ours, "rb", buffering=0) as reader:
        process = subprocess.Popen(
            [sys.executable, "-m", "gate", "demo"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env={**known, "TERM": "xterm-256color"},
        )
        os.close(theirs)
        output = b"".join(_chunks(reader))
    if process.wait() != 0:
        raise RuntimeError(f"gate demo ended with exit code {process.returncode}")
    return output.decode().replace("\r\n", "\n")


def _chunks(reader: io.FileIO) -> list[bytes]:
    chunks: list[bytes] = []
    while True:
        try:
            chunk = reader.read(65536)
        except OSError:  # how a terminal on Linux says that its other side is closed
            return chunks
        if not chunk:
            return chunks
        chunks.append(chunk)


def drawn(output: str) -> str:
    """The output up to LAST_LINE as SVG, the same for the same output."""
    text = Text("$ gate demo\n") + Text.from_ansi(output[: output.index(LAST_LINE)].rstrip())
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(text)
    return console.export_svg(
        title="gate demo", theme=MONOKAI, code_format=_FORMAT, unique_id="demo", font_aspect_ratio=0.61
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(demo_output()), encoding="utf-8")
