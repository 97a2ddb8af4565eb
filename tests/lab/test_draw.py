"""Plots are drawn, and drawn the same every time."""

from __future__ import annotations

import pytest

from gate.errors import ConfigError
from gate.lab import draw
from gate.lab.experiment import Heatmap, Plot, Series
from tests.lab.report_samples import NASTY, PLOT, PNG

SERIES = (Series(label="a", x=[0, 1, 2], y=[1, 3, 2], low=[0, 2, 1], high=[2, 4, 3]), Series(label="b", x=[1], y=[2]))


PLOTS = (
    PLOT,
    Plot(name="p", title="t", x_label="x", y_label="y", series=SERIES, kind="steps", marks={"here": 1}),
    Plot(name="p", title="t", x_label="x", y_label="y", series=SERIES, kind="points", y_scale="log", x_scale="log"),
    Plot(name="p", title="t", x_label="x", y_label="y", series=SERIES * 4, kind="bars", ticks=("one", "two", "three")),
    Plot(name="p", title="t", x_label="x", y_label="y", series=SERIES, levels={"so": 2}, y_range=(0, 5)),
    Plot(name="p", title="t", x_label="x", y_label="y", series=()),
    Plot(name="p", title="t", x_label="x", y_label="y", series=[Series(label="0", x=[0], y=[0])], y_scale="log"),
    Heatmap(name="g", title="t", rows=["a", "b"], columns=["x", "y"], values=[[1, None], [0.5, 2]]),
    Heatmap(name="g", title=NASTY, rows=["漢_$x", "$\\frac{$"], columns=["_", "y\n" * 99], values=[[1, 2], [3, 4]]),
    Plot(name="p", title="$a", x_label="x^$", y_label="$y$$", series=[Series(label="_a$b$_\\q", x=[1], y=[1])]),
    Heatmap(name="g", title="t", rows=["r"] * 30, columns=["c"] * 30, values=[[float(i)] * 30 for i in range(30)]),
)


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_every_kind_of_plot_is_drawn_and_always_the_same(plot: Plot | Heatmap) -> None:
    picture = draw.draw_png(plot)
    assert picture.startswith(PNG)
    assert draw.draw_png(plot) == picture


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'checkin-gate\[lab\]'"):
        draw.require_matplotlib()


def test_the_name_of_a_level_goes_where_it_hides_fewer_points() -> None:
    right = [Series(label="a", x=[0, 1, 2, 3], y=[9, 9, 5, 5]), Series(label="b", x=[3], y=[1], low=[1], high=[6])]
    plot = Plot(name="p", title="t", x_label="x", y_label="y", series=right, levels={"so": 5})
    assert draw._hidden(plot, 5, left=True) < draw._hidden(plot, 5, left=False)


def test_numbers_along_an_axis_of_powers_are_written_out() -> None:
    assert [draw._plain_number(value, 0) for value in (100_000, 1, 0.1, 0.001)] == ["100,000", "1", "0.1", "0.001"]


def test_the_values_of_the_paper_are_known_by_their_name() -> None:
    assert [Series(label=label, x=[], y=[]).is_paper for label in ("paper: 5 bytes", "5 bytes")] == [True, False]
