"""The search for slow inputs: it finds what is slow, and what it reports can be made again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.pipeline import Signer
from load import slow_inputs
from load.slow_inputs import BLOCKS, MESSAGES, PLACES, SIZES, InputRecipe, Search, english, process

SMALL = SIZES[0]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_recipe_renders_its_bytes_and_the_same_again(block: str) -> None:
    recipe = InputRecipe(blocks=((block, 3), ("space", 1)), messages=MESSAGES[-1], size=SMALL)
    messages = recipe.render(7)
    assert messages == recipe.render(7)
    assert [len(json.loads(raw)["text"].encode()) for raw in messages] == pytest.approx(
        [SMALL / len(messages)] * len(messages), abs=4
    )


@pytest.mark.parametrize("place", PLACES)
def test_a_message_is_judged_unless_it_is_invalid(place: str) -> None:
    blocks = (("brackets", 1),) if place == "nested" else (("latin word", 1), ("space", 1))
    messages = InputRecipe(blocks=blocks, place=place, messages=3, size=SMALL).render(1)
    signed = process(Signer(BUILT_IN["standard"]), messages)
    assert signed == (0 if place in ("rejected", "cut off") else 3)
    assert sum(map(len, messages)) >= SMALL


def test_english_comes_in_as_many_messages_of_as_many_bytes() -> None:
    texts = [json.loads(raw)["text"] for raw in english(3, 3000)]
    assert [len(text) for text in texts] == [1000] * 3
    assert all(text.isascii() and " " in text for text in texts)


def test_a_search_changes_recipes_until_it_finds_what_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_inputs, "SIZES", (500, 1000))

    def cost(messages: Sequence[bytes]) -> float:
        text = b"".join(messages).decode(errors="ignore")
        return len(text) + text.count("\u0301") * (1 + 50 * text.count('"metadata"'))

    search = Search(cost, seed=1)
    worst = search.run(lambda tried: tried < 600)
    assert search.tried == 600
    assert worst.times_english > 10
    assert worst.recipe.place in ("metadata", "nested")
    assert "acute" in {block for block, _ in worst.recipe.blocks}


def test_a_search_under_which_nothing_is_slow_reports_about_one() -> None:
    worst = Search(lambda messages: float(sum(map(len, messages))), seed=1).run(lambda tried: tried < 50)
    assert worst.times_english == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.no_cover  # which would be measured too
@pytest.mark.timeout(300)  # it meets every code point once before it measures
def test_a_short_search_reports_the_costliest_input_of_each_profile(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = slow_inputs.main(["--seconds", "5", "--profiles", "standard,simhash", "--json"])
    [rows] = json.loads(capsys.readouterr().out)["tables"].values()
    assert [row["profile"] for row in rows] == ["standard", "simhash"]
    assert all(row["inputs"] >= 2 and row["times English"] > 0 and row["costliest input"] for row in rows)
    over = [row for row in rows if max(row["times English"], row["four times as long"]) > 10]
    assert exit_code == (1 if over else 0)


def test_profiles_that_do_not_exist_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        slow_inputs.main(["--profiles", "standrad"])
    assert "'standrad' names none of standard, " in capsys.readouterr().err
