"""Plots as PNG, by matplotlib, without a screen. The only module that needs it."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from textwrap import fill
from typing import TYPE_CHECKING, Any

from gate.errors import ConfigError
from gate.lab.experiment import Heatmap, Plot, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INCHES = (8.0, 4.5)
DOTS_PER_INCH = 120
# Distinguishable for most who do not see all colours (Okabe and Ito), darkest first; more series change the dash.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6f78")
DASHES = ("-", "--", ":", "-.")
MARKERS = "osD^vP*"
PAPER_MARKERS = "X*Pd"
# Letters of a title, and of a name along an axis; the tables have them whole.
LONGEST_TEXT, LONGEST_NAME = 100, 30
CROWDED, CROWDED_NARROW = 90, 60  # letters along the x axis, and with a legend beside it
BESIDE = 4  # series, from whose number on the legend stands beside the plot
FEW_POINTS = 24  # a line of more needs no markers
FEW_POWERS = 15  # from the lowest to the highest of an axis: less than two powers of ten
WIDEST_NAME = 34  # letters of a line of a legend beside a plot, which takes its room
WRITTEN_CELLS = 400  # a grid of more is coloured, and its numbers are in the table
NEAR = 0.015  # of the height of a plot: curves that stay so near each other hide each other


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture that are not those of its series."""

    page: str
    ink: str
    soft: str
    line: str


LIGHT = Palette(page="#ffffff", ink="#1d2330", soft="#5a6478", line="#e3e6ec")
DARK = Palette(page="#14171f", ink="#e4e7ee", soft="#a3acbf", line="#353c4b")


def require_matplotlib() -> None:
    """Say what is missing before any work."""
    if find_spec("matplotlib") is None:
        raise ConfigError("lab: matplotlib is not installed, and plots need it: pip install 'checkin-gate[lab]'")


def draw_png(plot: Plot | Heatmap, *, dark: bool = False) -> bytes:
    """The picture, without its title: that is beside it on a page."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    palette = DARK if dark else LIGHT
    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained", facecolor=palette.page)
    FigureCanvasAgg(figure)
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a box is drawn for it
        if isinstance(plot, Heatmap):
            _grid(figure, plot, palette)
        else:
            _plot(figure.subplots(), plot, palette)
        figure.savefig(out, format="png", metadata={"Software": ""})  # no date, no version: equal data, equal bytes
    return out.getvalue()


def _plain(text: str, longest: int = LONGEST_TEXT) -> str:
    """A name as it is, cut where it is too long: matplotlib would set what is between dollars as a formula."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return shown.replace("$", r"\$")


def _names(names: Sequence[str]) -> list[str]:
    return [_plain(name, LONGEST_NAME) for name in names]


def _paint(axes: Axes, palette: Palette) -> None:
    axes.set_facecolor(palette.page)
    axes.tick_params(which="both", colors=palette.soft, labelcolor=palette.ink)
    axes.xaxis.label.set_color(palette.ink)
    axes.yaxis.label.set_color(palette.ink)
    for spine in axes.spines.values():
        spine.set_color(palette.soft)


def joined(series: Sequence[Series]) -> list[Series]:
    """Each curve once, under the names of all that have it; without those that have no point."""
    first: dict[tuple[object, ...], Series] = {}
    for one in series:
        if one.y:
            key = (tuple(one.x), tuple(one.y), one.line)
            known = first.get(key)
            first[key] = one if known is None else replace(known, label=f"{known.label}, {one.label}")
    return list(first.values())


def widths(series: Sequence[Series]) -> list[float]:
    """Of each curve, so that one that runs along under a later one is seen on both sides of it."""
    highest = max((max(one.y) for one in series), default=0.0)
    near = NEAR * max(highest - min((min(one.y) for one in series), default=0.0), 1e-12)
    covered = [
        sum(
            list(later.x) == list(one.x) and max(abs(a - b) for a, b in zip(one.y, later.y)) <= near
            for later in series[number + 1 :]
        )
        for number, one in enumerate(series)
    ]
    return [1.6 + 2.4 * count for count in covered]


def _plot(axes: Axes, plot: Plot, palette: Palette) -> None:
    _paint(axes, palette)
    rule: dict[str, Any] = {"color": palette.soft, "linewidth": 1, "linestyle": ":"}
    ground = {
        "facecolor": palette.page,
        "edgecolor": "none",
        "alpha": 0.85,
        "pad": 1,
    }
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": palette.soft, "bbox": ground}
    drawn = joined(plot.series)
    for number, (series, width) in enumerate(zip(drawn, widths(drawn), strict=True)):
        _series(axes, plot, series, number, len(drawn), width, palette)
    axes.set(xlabel=_plain(plot.x_label), ylabel=_plain(plot.y_label))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y" if plot.kind == "bars" else "both", color=palette.line, linewidth=0.8)
    axes.set_axisbelow(True)
    if plot.ticks:
        crowded = max(map(len, plot.ticks)) * len(plot.ticks) > (CROWDED if len(drawn) <= BESIDE else CROWDED_NARROW)
        axes.set_xticks(
            range(len(plot.ticks)), plot.ticks, rotation=35 if crowded else 0, ha="right" if crowded else "center"
        )
    elif plot.x_scale == "log" and any(x > 0 for series in plot.series for x in series.x):
        axes.set_xscale("log")
        _number_plainly(axes.xaxis, *axes.get_xlim())
    elif all(float(x).is_integer() for series in plot.series for x in series.x):
        axes.locator_params(axis="x", integer=True)
    if plot.y_scale == "log" and any(y > 0 for series in plot.series for y in series.y):
        axes.set_yscale("log")
        _number_plainly(axes.yaxis, *axes.get_ylim())
    if plot.y_range is not None:
        axes.set_ylim(*plot.y_range)
    for word, place in (plot.marks or {}).items():
        axes.axvline(place, **rule)
        axes.annotate(_plain(word), (place, 0), xycoords=("data", "axes fraction"), xytext=(3, 4), **beside)
    for word, place in (plot.levels or {}).items():
        axes.axhline(place, **rule)
        at, align = (0, "left") if _hidden(plot, place, left=True) < _hidden(plot, place, left=False) else (1, "right")
        shift = (3 if align == "left" else -2, 3)
        axes.annotate(_plain(word), (at, place), xycoords=("axes fraction", "data"), xytext=shift, ha=align, **beside)
    if len(drawn) > 1 or (drawn and drawn[0].label):
        outside = len(drawn) > BESIDE
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if outside else {"loc": "best"}
        axes.legend(frameon=False, fontsize=8, labelcolor=palette.ink, **where)


def _hidden(plot: Plot, level: float, *, left: bool) -> int:
    """How many points the name of a level would hide in the left, or the right, quarter of a plot."""
    points = [(x, y, y) for one in plot.series for x, y in zip(one.x, one.y)]
    points += [bar for one in plot.series for bar in zip(one.x, one.low, one.high)]
    if not points:
        return 0
    lowest, highest = min(low for _, low, _ in points), max(high for _, _, high in points)
    above, first, last = 0.06 * (highest - lowest), min(points)[0], max(points)[0]
    quarter = (last - first) / 4
    return sum(
        (x <= first + quarter if left else x >= last - quarter) and low <= level + above and level <= high
        for x, low, high in points
    )


def _number_plainly(axis: Axis, low: float, high: float) -> None:
    """Numbers along an axis of powers as people write them; those between the powers where there are few of these."""
    from matplotlib.ticker import NullFormatter

    axis.set_major_formatter(_plain_number)
    axis.set_minor_formatter(_plain_number if high < FEW_POWERS * low else NullFormatter())


def _plain_number(value: float, place: float) -> str:
    """A number along an axis of powers, as people write it."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _series(axes: Axes, plot: Plot, series: Series, number: int, count: int, line: float, palette: Palette) -> None:
    colour = COLOURS[number % len(COLOURS)]
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]  # not the same twice with one colour
    label = _plain(series.label)
    if count > BESIDE:
        label = fill(label, WIDEST_NAME)
    if series.is_paper:  # in one colour on every plot
        colour, marker, dash = (
            palette.ink if plot.kind != "bars" else palette.soft,
            PAPER_MARKERS[number % len(PAPER_MARKERS)],
            "-",
        )
    # A legend leaves out what begins with an underscore.
    how: dict[str, Any] = {"color": colour, "label": repr(label) if label.lstrip().startswith("_") else label}
    match plot.kind:
        case "bars":
            width = 0.8 / count
            places = [x - 0.4 + width * (number + 0.5) for x in series.x]
            axes.bar(places, series.y, width=width * 0.95, **how)
        case kind if kind == "points" or not series.line:
            size = 4 if len(series.x) > 1 else 9  # a single point has to be seen
            axes.plot(series.x, series.y, linestyle="", marker=marker, markersize=size, alpha=0.7, **how)
            if series.low and series.high:
                axes.vlines(series.x, series.low, series.high, color=colour, linewidth=1, alpha=0.5)
        case "steps" if len(series.x) == 1:  # a step of one point has no length
            axes.plot(series.x, series.y, linestyle="", marker=marker, **how)
        case "steps":
            axes.step(series.x, series.y, where="post", linestyle=dash, linewidth=line, **how)
        case "lines":
            shown = marker if len(series.x) <= FEW_POINTS else ""
            axes.plot(series.x, series.y, linestyle=dash, linewidth=line, marker=shown, markersize=line + 2.4, **how)
            if series.low and series.high:
                axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, linewidth=0)


def _grid(figure: Figure, grid: Heatmap, palette: Palette) -> None:
    values = [[float("nan") if value is None else value for value in row] for row in grid.values]
    rows, columns = len(grid.rows), len(grid.columns)
    figure.set_size_inches(max(INCHES[0], 0.55 * columns + 3.0), max(3.0, 0.36 * rows + 2.0))
    axes = figure.subplots()
    _paint(axes, palette)
    picture = axes.imshow(values, cmap="Blues", aspect="auto")
    axes.set_xticks(range(columns), _names(grid.columns), rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(rows), _names(grid.rows), fontsize=8)
    axes.spines[:].set_visible(False)
    if rows * columns <= WRITTEN_CELLS:
        _write_cells(axes, grid)
    else:
        figure.colorbar(picture, ax=axes, shrink=0.8).ax.tick_params(colors=palette.ink)


def _write_cells(axes: Axes, grid: Heatmap) -> None:
    numbers = [value for row in grid.values for value in row if value is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    for y, row in enumerate(grid.values):
        for x, value in enumerate(row):
            if value is not None:
                dark = value > low + 0.6 * (high - low) and high > low
                axes.text(
                    x, y, _short(value), ha="center", va="center", fontsize=8, color="white" if dark else "#1d2330"
                )


def _short(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}".removeprefix("0")
