"""Searches for inputs that cost more CPU per byte than English: in decoding, checking and signing, under every profile.

`python -m load.slow_inputs [--seconds 60] [--profiles standard,minhash] [--json]` reports the costliest input of each
profile and fails if one costs more than ten times English per byte.

An input is a recipe: blocks (letters of a script, runs of marks, code points that fold to many, words without end)
that alternate for so many bytes, in so many messages, at a place of the message. The search measures each block by
itself, then changes the costliest recipes at random and keeps what costs more. English stands in as many messages of
as many bytes, since a message costs something by itself. What is random in a recipe is drawn anew for each
measurement, so that nothing is cheap because it was met before. Every code point is met once before: filling the
tables of code points takes a few seconds in the life of a process, whatever it is sent.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import MinHash, SimHash
from gate.core.profile import Profile
from gate.core.text import folded_lengths, normalise
from gate.errors import BadDocument
from gate.limits import Limits
from gate.pipeline import Signer, validate_document
from gate.wire import CheckInEvent, RejectedMessage, decode_event
from load.corpus import SyntheticCorpus
from load.measure import BenchmarkReport

MOST_TIMES_ENGLISH: Final = 10.0
SIZES: Final = (20_000, 200_000)
MESSAGES: Final = (1, 16)
PLACES: Final = ("text", "escaped", "title", "metadata", "nested", "unknown", "rejected", "cut off")
_TIMES: Final = (1, 1, 2, 3, 7, 63, 64, 65, 1000, 20_000)
_MOST_BLOCKS = 5
_KEPT = 12  # recipes that are changed further
_DRAWN_BYTES = 64 * 1024
_DRAWN_TIMES = 100
_LIMITS = Limits()

# Every kind of method and tokenizer is among the built-in profiles; the filters are not.
FILTERS: Final = (
    Profile(name="words-filtered", drop_stop_words=True, drop_repeats=True, mask_numbers=True),
    Profile(
        name="characters-filtered",
        tokenizer="characters",
        gram=12,
        drop_stop_words=True,
        drop_vowels=True,
        mask_numbers=True,
        method=MinHash(),
    ),
    Profile(name="soundex-set", tokenizer="soundex", method=SimHash(weights="set"), resemblance=None),
)
PROFILES: Final = (*BUILT_IN.values(), *FILTERS)

Random = random.Random
Block = Callable[[Random], str]
Cost = Callable[[Sequence[bytes]], float]


def _fixed(text: str) -> Block:
    return lambda rng: text


def _letters(first: int, last: int, *, most: int = 1) -> Block:
    return lambda rng: "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, most)))


BLOCKS: Final[Mapping[str, Block]] = {
    "latin word": _letters(0x61, 0x7A, most=9),
    "capitals": _letters(0x41, 0x5A, most=9),
    "letter": _fixed("a"),
    "vowel": _letters(0x61, 0x65),
    "the": _fixed("the "),
    "accented": _letters(0xC0, 0x17F, most=9),
    "cyrillic word": _letters(0x410, 0x44F, most=9),
    "greek extended": _letters(0x1F00, 0x1FFF),
    "arabic": _letters(0x621, 0x64A, most=7),
    "arabic forms": _letters(0xFB50, 0xFDFF),
    "devanagari": _letters(0x900, 0x97F, most=5),
    "thai": _letters(0xE01, 0xE4E),
    "han": _letters(0x4E00, 0x9FFF),
    "han extension": _letters(0x20000, 0x2A6DF),
    "han compatibility": _letters(0xF900, 0xFAD9),
    "kana": _letters(0x3041, 0x30FF),
    "hangul": _letters(0xAC00, 0xD7A3),
    "jamo": _letters(0x1100, 0x11FF),
    "emoji": _letters(0x1F300, 0x1FAFF),
    "mathematical": _letters(0x1D400, 0x1D7FF),
    "squared": _letters(0x3300, 0x33FF),
    "kilometres": _fixed("\u3316"),
    "apartments": _fixed("\u3300"),
    "ligatures": _letters(0xFB00, 0xFB4F),
    "blessing": _fixed("\ufdfa"),
    "sharp s": _fixed("\u00df"),
    "dotted capital i": _fixed("\u0130"),
    "iota subscripts": _fixed("\u1fb7"),
    "final sigma": _fixed("\u03a3"),
    "acute": _fixed("\u0301"),
    "dot below": _fixed("\u0323"),
    "marks": _letters(0x300, 0x36F),
    "marks of all classes": lambda rng: rng.choice("\u0334\u093c\u094d\u05b0\u0651\u0321\u0316\u0301\u0315\u0345"),
    "musical marks": _fixed("\U0001d15e"),
    "variation selectors": _letters(0xFE00, 0xFE0F),
    "joiner": _fixed("\u200d"),
    "invisible": lambda rng: rng.choice("\u00ad\u200b\u2060\ufeff\U000e0041"),
    "controls": _letters(1, 31),
    "space": _fixed(" "),
    "newline": _fixed("\n"),
    "odd spaces": lambda rng: rng.choice("\u00a0\u2003\u3000\u200a\t"),
    "digit": _letters(0x30, 0x39),
    "number": lambda rng: str(rng.getrandbits(40)) + " ",
    "digits of a script": lambda rng: rng.choice("\u0663\u096a\U0001d7d8\u00b2\u2460"),
    "underscore": _fixed("_"),
    "punctuation": lambda rng: rng.choice(".,;:!?-'()[]{}/"),
    "quotes": _fixed('"\\'),
    "private use": _letters(0xE000, 0xF8FF),
    "unassigned": _letters(0xE0400, 0xE0FFF),
    "anything": _letters(0x20, 0xD7FF),
    "anything above": _letters(0x10000, 0x1FFFF),
    "word of 63": lambda rng: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=63)) + " ",
    "base64": lambda rng: "".join(rng.choices("ABCDEFabcdef0123456789+/", k=76)),
    "brackets": _fixed("[],"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecipe:
    """Blocks, each so many times, in turn, until `size` bytes in all messages are full."""

    blocks: tuple[tuple[str, int], ...]
    place: str = "text"
    messages: int = 1
    size: int = SIZES[-1]

    def __str__(self) -> str:
        pattern = " + ".join(f"{times} x {block}" if times > 1 else block for block, times in self.blocks)
        where = "" if self.place == "text" else f" in {self.place}"
        return f"{pattern}{where}, {self.messages} x {self.size // self.messages:,} bytes"

    def render(self, seed: int) -> list[bytes]:
        """The messages. Each holds about its share of the bytes."""
        rng = Random(seed)
        return [
            _message(self.place, number, self._text(self.size // self.messages, rng)) for number in range(self.messages)
        ]

    def _text(self, size: int, rng: Random) -> str:
        """Drawn afresh up to 64 KB, then repeated: drawing more would take longer than signing it."""
        drawn: list[str] = []
        length = 0
        while length < min(size, _DRAWN_BYTES):
            for name, times in self.blocks:
                block = BLOCKS[name]
                part = block(rng) * times if times > _DRAWN_TIMES else "".join(block(rng) for _ in range(times))
                drawn.append(part)
                length += len(part.encode())
        return ("".join(drawn) * (size // length + 1)).encode()[:size].decode(errors="ignore")


def _message(place: str, number: int, text: str) -> bytes:
    head: dict[str, object] = {"document_id": str(number)}
    match place:
        case "text":
            return _encode(head | {"text": text})
        case "escaped":
            return json.dumps(head | {"text": text}).encode()
        case "title":
            return _encode(head | {"text": "a", "title": text})
        case "unknown":
            return _encode(head | {"text": "a", "other": [text]})
        case "metadata":
            return _encode(head | {"text": "a", "metadata": {"a": text}})
        case "nested":  # as it is: most texts are no JSON
            return b'{"document_id":"%d","text":"a","metadata":{"a":[%s0]}}' % (number, text.encode())
        case "rejected":
            return _encode({"document_id": [number], "text": text})
    return _encode(head | {"text": text})[:-2]


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


# Measuring


def process(signer: Signer, messages: Sequence[bytes]) -> int:
    """What a worker does with messages until they are ready for the index; how many are signed."""
    documents = []
    for raw in messages:
        try:
            event = decode_event(raw, limits=_LIMITS)
            assert isinstance(event, CheckInEvent)
            document = event.check_in()
            validate_document(document, _LIMITS)
            documents.append(document)
        except BadDocument as error:
            RejectedMessage.of(error, raw, origin=None)
    signer.sign(documents)
    return len(documents)


def cpu_of(signer: Signer) -> Cost:
    """Seconds of CPU of this thread that messages take."""

    def seconds(messages: Sequence[bytes]) -> float:
        begun = time.thread_time()
        process(signer, messages)
        return time.thread_time() - begun

    return seconds


def meet_all_code_points() -> None:
    """Fill the tables of code points."""
    for first in range(1, 0x110000, 0x8000):
        points = [point for point in range(first, min(first + 0x8000, 0x110000)) if not 0xD800 <= point < 0xE000]
        text = "".join(map(chr, points))
        folded_lengths([text])
        for profile in (BUILT_IN["standard"], *FILTERS):
            Signer(profile).method.sign(normalise([text]))


@lru_cache
def english(messages: int, size: int) -> list[bytes]:
    """English in so many messages of so many bytes altogether."""
    each = size // messages
    texts, text = [], ""
    for document in SyntheticCorpus(1, 10_000):
        text += document.text + "\n"
        while len(text) >= each:
            texts.append(text[:each])
            text = text[each:]
            if len(texts) == messages:
                return [_message("text", number, piece) for number, piece in enumerate(texts)]
    raise ValueError(f"{size} bytes are more than the corpus holds")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyInput:
    """A recipe, and how many times as much as English a byte of it costs."""

    recipe: InputRecipe
    times_english: float


class Search:
    """Looks for the costliest recipe under one measure of cost."""

    def __init__(self, cost: Cost, *, seed: int) -> None:
        self._cost = cost
        self._rng = Random(seed)
        self._english: dict[tuple[int, int], float] = {}
        self.tried = 0
        self.best: list[CostlyInput] = []

    def run(self, goes_on: Callable[[int], bool]) -> CostlyInput:
        """Try recipes as long as `goes_on(tried)` says; the costliest, measured again."""
        for recipe in self._single_blocks():
            if not goes_on(self.tried):
                break
            self._try(recipe)
        while goes_on(self.tried):
            self._try(self._changed(self._rng.choice(self.best).recipe))
        # Measured once more: the first time another process may have disturbed the one and not the other.
        confirmed = [
            CostlyInput(recipe=found.recipe, times_english=self.measure(found.recipe, 3)) for found in self.best
        ]
        return max(confirmed, key=lambda found: found.times_english)

    def measure(self, recipe: InputRecipe, rounds: int = 1) -> float:
        """The least cost of some rounds, in that of English."""
        shape = (recipe.messages, recipe.size)
        if shape not in self._english:
            self._english[shape] = min(self._per_byte(english(*shape)) for _ in range(3))
        return min(self._per_byte(recipe.render(self._rng.getrandbits(32))) for _ in range(rounds)) / max(
            self._english[shape], 1e-12
        )

    def _per_byte(self, messages: Sequence[bytes]) -> float:
        return self._cost(messages) / sum(map(len, messages))

    def _try(self, recipe: InputRecipe) -> None:
        self.tried += 1
        self.best.append(CostlyInput(recipe=recipe, times_english=self.measure(recipe)))
        self.best.sort(key=lambda found: -found.times_english)
        del self.best[_KEPT:]

    def _single_blocks(self) -> list[InputRecipe]:
        size = SIZES[-1]
        recipes = [InputRecipe(blocks=((block, 1),), size=size) for block in BLOCKS]
        recipes += [InputRecipe(blocks=(("latin word", 1), ("space", 1)), place=place, size=size) for place in PLACES]
        recipes += [InputRecipe(blocks=(("brackets", 1),), place="nested", size=size)]
        self._rng.shuffle(recipes)
        return recipes

    def _changed(self, recipe: InputRecipe) -> InputRecipe:
        """The recipe with one thing changed."""
        rng, blocks = self._rng, list(recipe.blocks)
        at = rng.randrange(len(blocks))
        match rng.randrange(6):
            case 0 if len(blocks) < _MOST_BLOCKS:
                blocks.insert(at, (rng.choice(list(BLOCKS)), rng.choice(_TIMES)))
            case 1 if len(blocks) > 1:
                del blocks[at]
            case 2:
                blocks[at] = (rng.choice(list(BLOCKS)), blocks[at][1])
            case 3:
                return replace(recipe, place=rng.choice(PLACES))
            case 4:
                return replace(recipe, size=rng.choice(SIZES), messages=rng.choice(MESSAGES))
            case _:
                blocks[at] = (blocks[at][0], rng.choice(_TIMES))
        return replace(recipe, blocks=tuple(blocks))


def search_profile(profile: Profile, *, seconds: float, seed: int) -> dict[str, Any]:
    """The row of a profile in the report."""
    search = Search(cpu_of(Signer(profile)), seed=seed)
    ends = time.thread_time() + seconds
    worst = search.run(lambda tried: tried < 2 or time.thread_time() < ends)
    larger = replace(worst.recipe, size=4 * worst.recipe.size)
    return {
        "profile": profile.name,
        "inputs": search.tried,
        "times English": round(worst.times_english, 1),
        "four times as long": round(search.measure(larger, 2), 1),
        "costliest input": str(worst.recipe),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of CPU, for all profiles together")
    parser.add_argument("--profiles", default=",".join(profile.name for profile in PROFILES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    profiles = [profile for profile in PROFILES if profile.name in options.profiles.split(",")]
    if not profiles:
        parser.error(
            f"--profiles: {options.profiles!r} names none of {', '.join(profile.name for profile in PROFILES)}"
        )
    meet_all_code_points()
    rows = [
        search_profile(profile, seconds=options.seconds / len(profiles), seed=options.seed + number)
        for number, profile in enumerate(profiles)
    ]
    report = BenchmarkReport("Slow inputs", {"seconds": options.seconds, "seed": options.seed})
    report.add("costliest inputs", rows)
    report.show(as_json=options.json)
    return int(any(max(row["times English"], row["four times as long"]) > MOST_TIMES_ENGLISH for row in rows))


if __name__ == "__main__":
    sys.exit(main())
