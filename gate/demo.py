"""A small corpus with copies planted in it, the same for the same seed, to show the gate at work.

The sentences were written for this file. Around the planted documents are unrelated ones, put together at random from a
list of words, so that there is something to be searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from gate.model import CheckIn, Relation

LIGHTHOUSE = """\
The lighthouse on the northern rock was built in three summers, because no boat could land there
from October to May. Each stone was cut on the mainland, numbered with red paint and carried
over on calm mornings. The keeper lived below the lamp with his sister, two goats and a cupboard
full of almanacs. Every evening he climbed one hundred and twelve steps, trimmed the wick and
wrote the weather into a ledger. In the ninth year a storm broke the outer wall, yet the lamp
was not dark for a single night. When the harbour company sent an inspector, he found the brass
polished, the ledger complete and the goats asleep on the stairs. He recommended a larger stove
and a better rope, and went home with a cheese under his arm."""

BREAD = """\
Mix the flour with lukewarm water and leave it under a damp cloth until it smells faintly sour.
On the second day add salt, a spoon of honey and as much flour again, and knead the dough until
it no longer clings to the board. Let it rest in a cool place overnight; a slow rise gives a
darker crust. Heat the oven with beech wood, sweep out the embers and test the floor with a
pinch of meal, which should brown but not burn. Cut the loaf once along the top, push it to the
back and close the door with wet clay. After one hour knock on the bottom: if it sounds hollow,
the bread is done. Wait until it is cold before the first slice."""

BRIDGE = """\
Minutes of the parish meeting. The carpenter reported that four beams of the old bridge are
rotten and that carts should not cross it with more than ten sacks. The miller offered oak from
his own wood at half the price, on condition that the toll be lifted for him until harvest.
After a long debate the offer was accepted with nine votes against three. The schoolmaster will
paint a warning board, and the smith will lend his chain. The next meeting is on the first
Monday after the fair, in the upper room, and those who come late will bring the candles."""

EDITS = (
    ("three summers", "four summers"),
    ("full of almanacs", "full of old almanacs"),
    ("a larger stove", "a new stove"),
)
REVISIONS = (("nine votes", "ten votes"), ("carpenter reported", "carpenter reports"))

NOUNS = """
amber anchor apple arrow autumn barley basket beacon bell birch blanket bottle branch brass bridge bucket candle
canvas carriage cedar chalk chapel chimney clay clover cobble copper corner cottage cradle creek crown curtain
daisy dawn delta drum eagle ember engine fable falcon feather fence ferry fiddle finch flint forest fountain
garden garnet glacier grain granite harbour harvest hazel heather hedge heron hill honey island ivory jasmine
kettle ladder lantern larch ledger lemon linen lock maple marble market meadow mill mirror mist moon mortar moss
needle oak ocean orchard otter owl paddle pear pebble pepper pillar pine plough pocket pond quarry quill rain
raven reed ribbon river robin rope rose saddle salt sand shadow shell silver slate sparrow spice spring stable
stone storm straw swan tailor thistle thunder timber tower tunnel valley velvet violet wagon walnut water wheat
willow window winter wool yarn"""
VERBS = "bears covers crosses follows holds hides keeps leaves meets moves turns watches"


@dataclass(frozen=True, slots=True)
class Planted:
    """A document, what was done to it, and the relation that the gate should find under the standard profile."""

    document: CheckIn
    story: str
    expected: Relation
    of: str | None = None  # the document it was made from


def corpus(seed: int = 7, unrelated: int = 40) -> list[Planted]:
    """The documents in the order they are checked in."""
    random = Random(seed)  # noqa: S311 - a corpus that is the same for everybody, not a secret
    planted = _planted()
    filler = [
        _plant(f"unrelated/{i:03}.txt", _unrelated_text(random), "unrelated", Relation.NEW)
        for i in range(1, unrelated + 1)
    ]
    half = len(filler) // 2
    return [*filler[:half], *planted[:3], *filler[half:], *planted[3:]]


def _planted() -> list[Planted]:
    # The archive comes before the inbox in the alphabet too: `gate check` on the written files gives the same verdicts.
    lighthouse, bread, bridge = "archive/lighthouse.txt", "archive/bread.txt", "archive/bridge.txt"
    part = BREAD[: BREAD.index(" After one hour")]
    return [
        _plant(lighthouse, LIGHTHOUSE, "original", Relation.NEW),
        _plant(bread, BREAD, "original", Relation.NEW),
        _plant(bridge, BRIDGE, "original", Relation.NEW, version="1"),
        _plant("inbox/lighthouse-edited.txt", _edit(LIGHTHOUSE, EDITS), "three edits", Relation.NEAR, of=lighthouse),
        _plant("inbox/LIGHTHOUSE.TXT", _shout(LIGHTHOUSE), "in capitals", Relation.EXACT, of=lighthouse),
        _plant("inbox/bread-part.txt", part, "end missing", Relation.CONTAINED, of=bread),
        _plant(bridge, _edit(BRIDGE, REVISIONS), "next version", Relation.REVISION, of=bridge, version="2"),
        _plant("inbox/note.txt", "Back at noon.", "a few words", Relation.TOO_SHORT),
        _plant("inbox/blank.txt", " \n\t\n", "only spaces", Relation.EMPTY),
    ]


def _plant(
    document_id: str, text: str, story: str, expected: Relation, *, of: str | None = None, version: str | None = None
) -> Planted:
    return Planted(CheckIn(document_id=document_id, text=text, version=version, source="demo"), story, expected, of)


def _edit(text: str, edits: tuple[tuple[str, str], ...]) -> str:
    for old, new in edits:
        if old not in text:
            raise ValueError("an edit of the demonstration no longer fits its text")
        text = text.replace(old, new)
    return text


def _shout(text: str) -> str:
    """The same words in capitals, one sentence a line."""
    return "  " + " ".join(text.split()).upper().replace(". ", ".\n\n") + "\n"


def _unrelated_text(random: Random) -> str:
    nouns, verbs = NOUNS.split(), VERBS.split()
    sentences = []
    for _ in range(random.randint(6, 14)):
        first, second, third, fourth = random.sample(nouns, 4)
        sentences.append(f"The {first} {second} {random.choice(verbs)} a {third} near {fourth} {random.choice(nouns)}.")
    return " ".join(sentences)
