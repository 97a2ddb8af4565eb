"""Numbers, names and sentences as people read them."""

from __future__ import annotations

from gate.cli import show
from gate.core.passages import Passage
from gate.model import Relation


def test_every_relation_has_a_colour() -> None:
    assert set(show.STYLES) == set(Relation)


LONG = " ".join(f"w{n}" for n in range(400))


def test_of_a_long_passage_the_beginning_and_the_end_are_shown() -> None:
    passages = [Passage(LONG + " ", shared=True), Passage("other", shared=False)]
    shown = show.passages(passages, colour=False, full=False).plain
    assert shown == (
        "[[" + " ".join(f"w{n}" for n in range(50)) + " ... 300 words ... "
        + " ".join(f"w{n}" for n in range(350, 400)) + "]] other"
    )  # fmt: skip
    assert show.passages(passages, colour=False, full=True).plain == f"[[{LONG}]] other"


def test_a_passage_that_is_not_long_is_shown_whole() -> None:
    text = " ".join(["word"] * 150)
    assert show.passages([Passage(text, shared=False)], colour=False, full=False).plain == text


def test_a_path_that_ends_in_the_id_says_nothing_more() -> None:
    known = show.About(title="Report", path="file:///tmp/a%20b/notes/c.txt")
    assert not known.says_more("path", "notes/c.txt")
    assert known.says_more("path", "c-1")
    assert (known.says_more("title", "c-1"), show.About().says_more("title", "c-1")) == (True, False)
