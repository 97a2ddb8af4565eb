"""Draw docs/assets/recall.svg: the share of pairs that a profile finds, by their resemblance.

    .venv/bin/python -m load.recall_curve

The lines are what `gate plan` says. The points were measured on the 2,048 revisions of PEPs of docs/quality.md, whose
tables "recall in per cent, by band of J" they are taken from. A colour is neither dark nor light, so that the picture
can be read on either ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gate import BUILT_IN
from gate.core.plan import recall

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "recall.svg"

# Resemblance in the middle of a band, and per cent of its pairs: docs/quality.md, `standard` and `simhash`, peps-dev.
CALLED_ALIKE = ((0.55, 3.69), (0.65, 60.74), (0.75, 97.53), (0.85, 100.0), (0.95, 100.0))
SIMHASH = ((0.55, 0.0), (0.65, 0.0), (0.75, 1.56), (0.85, 7.38), (0.95, 58.43))

BLUE, ORANGE, GREEN, GREY = "#3f83c4", "#c9701f", "#2b9474", "#7f7f7f"
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 730, 30, 360  # of the area that the curves are in
FROM, TO = 0.3, 1.0  # resemblance


def picture() -> str:
    """The drawing as SVG, the same whenever the profiles are the same."""
    threshold = BUILT_IN["standard"].resemblance or 0.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">',
        "<title>Share of pairs found, by their resemblance</title>",
        *_axes(),
        f'<path d="M{_x(threshold)} {TOP}V{BOTTOM}" stroke="{GREY}" stroke-dasharray="4 4"/>',
        _text(threshold + 0.008, 13, f"threshold {threshold}", GREY),
        _curve("standard", BLUE),
        _curve("simhash", ORANGE),
        *_points(CALLED_ALIKE, GREEN),
        *_points(SIMHASH, ORANGE),
        _text(0.315, 66, "standard:", BLUE),
        _text(0.315, 60, "brought together", BLUE),
        _text(0.7, 66, "standard:", GREEN),
        _text(0.7, 60, "called alike", GREEN),
        _text(0.79, 18, "simhash", ORANGE),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes() -> list[str]:
    parts = [f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="{GREY}"/>']
    for percent in (0, 25, 50, 75, 100):
        parts.append(f'<path d="M{LEFT - 5} {_y(percent)}H{RIGHT}" stroke="{GREY}" stroke-opacity=".3"/>')
        parts.append(f'<text x="{LEFT - 10}" y="{_y(percent) + 5}" fill="{GREY}" text-anchor="end">{percent} %</text>')
    for tenth in range(3, 11):
        parts.append(f'<path d="M{_x(tenth / 10)} {BOTTOM}v5" stroke="{GREY}"/>')
        label = f"{tenth / 10:.1f}"
        parts.append(f'<text x="{_x(tenth / 10)}" y="{BOTTOM + 22}" fill="{GREY}" text-anchor="middle">{label}</text>')
    middle = (LEFT + RIGHT) // 2
    parts.append(
        f'<text x="{middle}" y="{BOTTOM + 48}" fill="{GREY}" text-anchor="middle">resemblance of a pair</text>'
    )
    return parts


def _curve(profile: str, colour: str) -> str:
    steps = [FROM + i * (TO - FROM) / 140 for i in range(141)]
    places = [f"{_x(step)} {_y(100 * recall(BUILT_IN[profile], step))}" for step in steps]
    return f'<path d="M{"L".join(places)}" fill="none" stroke="{colour}" stroke-width="2.5"/>'


def _points(measured: Sequence[tuple[float, float]], colour: str) -> list[str]:
    places = "L".join(f"{_x(at)} {_y(percent)}" for at, percent in measured)
    line = f'<path d="M{places}" fill="none" stroke="{colour}" stroke-dasharray="2 4"/>'
    return [line, *(f'<circle cx="{_x(at)}" cy="{_y(percent)}" r="5" fill="{colour}"/>' for at, percent in measured)]


def _text(at: float, percent: float, words: str, colour: str) -> str:
    return f'<text x="{_x(at)}" y="{_y(percent)}" fill="{colour}">{words}</text>'


def _x(resemblance: float) -> float:
    return round(LEFT + (resemblance - FROM) / (TO - FROM) * (RIGHT - LEFT), 1)


def _y(percent: float) -> float:
    return round(BOTTOM - percent / 100 * (BOTTOM - TOP), 1)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
