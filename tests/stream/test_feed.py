"""Which answers are ours: told apart by their places, each counted once, whatever comes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gate.model import Relation
from gate.stream.feed import Told, Waiting
from gate.wire import Place


def told(offset: int) -> Told:
    place = Place(topic="in", partition=0, offset=offset)
    return Told(source=place, relation=Relation.NEW, group=str(offset), similar=False)


@given(st.data())
def test_each_of_ours_is_answered_once_and_nobody_elses_ever(data: st.DataObject) -> None:
    ours = sorted(data.draw(st.sets(st.integers(0, 30), max_size=15)))
    deletes = data.draw(st.sets(st.sampled_from(ours))) if ours else set()
    answers = data.draw(st.lists(st.integers(0, 30), max_size=60))  # of anybody, in any order, some of them twice
    waiting, counted = Waiting(), list[int]()
    events = [("sent", offset) for offset in ours]
    for answer in answers:
        events.insert(data.draw(st.integers(0, len(events))), ("answer", answer))
    for kind, offset in events:
        if kind == "sent":
            early = waiting.sent(0, offset, is_check_in=offset not in deletes)
            if early is not None:
                assert isinstance(early, Told)
                counted.append(int(early.group))
        elif waiting.answered(0, offset, told(offset)):
            counted.append(offset)
    assert len(counted) == len(set(counted))
    assert set(counted) <= set(ours) - deletes
    assert len(waiting) == len(set(ours) - deletes) - len(counted)


def test_answers_in_order_are_counted_however_far_ahead_of_the_acknowledgements_they_are() -> None:
    waiting = Waiting()
    assert not any(waiting.answered(0, offset, told(offset)) for offset in range(100))
    assert [waiting.sent(0, offset, is_check_in=True) for offset in range(0, 100, 2)] == [
        told(offset) for offset in range(0, 100, 2)
    ]
    assert len(waiting) == 0


def test_partitions_are_told_apart() -> None:
    waiting = Waiting()
    waiting.sent(0, 5, is_check_in=True)
    assert not waiting.answered(1, 5, told(5))
    assert waiting.answered(0, 5, told(5))
    assert not waiting.answered(0, 5, told(5))  # again
