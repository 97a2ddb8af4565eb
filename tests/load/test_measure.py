"""The tools of the benchmarks measure what they say."""

from __future__ import annotations

import json

import pytest

from load import measure
from load.bench_index import weigh_ours
from load.measure import BenchmarkReport, Contender, format_value, interleave, measure_growth, target_row


class Hand:
    """A clock that moves only when a step moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.order: list[tuple[str, int]] = []

    def __call__(self) -> float:
        return self.seconds

    def contender(self, name: str, costs: list[float], units: int = 1) -> Contender:
        def step(number: int) -> int:
            self.order.append((name, number))
            self.seconds += costs[number]
            return units

        return Contender(name, step)


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    hand = Hand()
    monkeypatch.setitem(measure.CLOCKS, "hand", hand)
    return hand


def test_every_round_runs_all_and_begins_with_another(hand: Hand) -> None:
    contenders = [hand.contender(name, [1.0] * 3) for name in "abc"]
    interleave(contenders, rounds=2, reference="a", warm_up=1, clock="hand")
    assert "".join(name for name, _ in hand.order) == "abc" + "bca" + "cab"
    assert [number for _, number in hand.order] == [0] * 3 + [1] * 3 + [2] * 3


def test_the_median_counts_and_the_warm_up_does_not(hand: Hand) -> None:
    slow = hand.contender("slow", [99.0, 8.0, 2.0, 4.0], units=2)
    [timing] = interleave([slow], rounds=3, reference="slow", warm_up=1, clock="hand")
    assert (timing.microseconds, timing.fastest, timing.slowest) == (2e6, 1e6, 4e6)


def test_a_speed_is_the_median_of_the_ratios_within_rounds(hand: Hand) -> None:
    # The machine is three times slower in two rounds, for both, and in the last one is disturbed by another process.
    one, other = hand.contender("one", [2.0, 2.0, 6.0, 6.0, 2.0]), hand.contender("other", [1.0, 1.0, 3.0, 3.0, 99.0])
    timings = interleave([one, other], rounds=5, reference="one", warm_up=0, clock="hand")
    assert [timing.speed for timing in timings] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("bounds", "target", "met"),
    [
        ({"at_least": 2.0}, ">= 2", True),
        ({"at_least": 2.6}, ">= 2.6", False),
        ({"at_most": 2.5}, "<= 2.5", True),
        ({"at_most": 0.2}, "<= 0.2", False),
        ({}, "", None),
    ],
)
def test_a_target_stands_beside_what_was_measured(bounds: dict[str, float], target: str, met: bool | None) -> None:
    assert target_row("it", 2.5, **bounds) == {"what": "it", "measured": 2.5, "target": target, "met": met}


def test_a_target_that_is_met_only_by_rounding_is_not_met() -> None:
    assert target_row("it", 1.999, at_least=2)["met"] is False


def test_a_report_is_a_table_in_markdown_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    report = BenchmarkReport("speed", {"n": 1000})
    report.add("table", [{"who": "ours", "us": 1234.5, "met": True}, {"who": "theirs", "us": None, "more": 0.123456}])
    report.show(as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "speed: n 1,000",
        "",
        "**table**",
        "",
        "| who | us | met | more |",
        "| --- | ---: | ---: | ---: |",
        "| ours | 1,234 | yes |  |",
        "| theirs |  |  | 0.123 |",
    ]
    report.show(as_json=True)
    assert json.loads(capsys.readouterr().out) == report.as_dict()


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (False, "NO"), (12345, "12,345"), (12345.6, "12,346"), (1.0, "1"), ("a", "a")],
)
def test_values_are_shown_as_people_write_them(value: object, text: str) -> None:
    assert format_value(value) == text


@pytest.mark.slow
def test_what_is_built_is_weighed_in_a_process_of_its_own() -> None:
    small, large = measure_growth(weigh_ours, 1_000), measure_growth(weigh_ours, 200_000)
    assert large - small > 200_000 * 64  # four postings of 16 bytes each


@pytest.mark.slow
def test_a_process_that_fails_is_not_weighed() -> None:
    with pytest.raises(RuntimeError, match="exit code 1"):
        measure_growth(weigh_ours, -1)
