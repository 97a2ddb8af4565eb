"""Verdicts on the compiled kernel beside those on numpy: `python -m load.kernel_verdicts [--documents 25000]`.

Documents with copies, repeats, short texts, revisions, several scripts and deletes go through two gates in memory,
batch by batch. Every field of every verdict has to be the same; so have the answers to deletes. The exit code
is 1 where one is not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from random import Random

import msgspec

from gate import CheckIn, Gate
from gate.core.native import loader
from gate.pipeline import chunked
from load.corpus import SyntheticCorpus

BATCH = 256
SCRIPTS = (
    str.maketrans("abcdefghijklmnop", "абцдефгхийклмноп"),  # Cyrillic
    str.maketrans("aeiou", "áèîöũ"),  # composed
    {ord(letter): letter + mark for letter, mark in zip("aeiou", "\u0301\u0300\u0302\u0308\u0303")},  # to be composed
    str.maketrans("abcdefghijklmnop", "的一是不了人我在有他这中大来上国"),  # words of one letter
    {ord("f"): "ﬁ", ord("o"): "ｏ", ord(" "): " \u200b"},  # folded, and dropped
)


def stream(count: int, seed: int) -> Iterator[CheckIn | str]:
    """Check-ins, and document ids to delete."""
    random = Random(seed)
    seen: list[CheckIn] = []
    for planted in SyntheticCorpus(seed, count):
        kind = random.random()
        if seen and kind < 0.05:
            yield random.choice(seen)  # delivered again
        elif seen and kind < 0.08:
            yield random.choice(seen).document_id
        text = planted.text
        if kind > 0.9:
            text = text.translate(random.choice(SCRIPTS))
        elif kind > 0.85:
            text = text[: random.choice((0, 1, 10, 40, 80))]
        revised = seen and 0.08 < kind < 0.14
        document_id = random.choice(seen).document_id if revised else planted.document_id
        document = CheckIn(document_id=document_id, text=text, version=str(planted.number), source="load")
        seen.append(document)
        yield document


def differences(count: int, *, seed: int, profile: str, secret: bytes) -> tuple[int, int]:
    """How many verdicts there were, and how many differ in some field."""
    kernel = loader.active()
    if kernel is None:
        raise SystemExit("there is no compiled kernel to compare")
    verdicts = differing = 0
    with Gate(profile, secret=secret) as on_numpy, Gate(profile, secret=secret, sign_threads=2) as compiled:
        for batch in chunked(stream(count, seed), size=lambda _: 0, max_items=BATCH, max_size=1):
            documents = [item for item in batch if isinstance(item, CheckIn)]
            deletes = [item for item in batch if isinstance(item, str)]
            with loader.using(None):
                expected = on_numpy.check_in(documents), on_numpy.delete(deletes)
            with loader.using(kernel):
                actual = compiled.check_in(documents), compiled.delete(deletes)
            verdicts += len(documents)
            pairs = zip(expected[0], actual[0], strict=True)
            differing += sum(msgspec.to_builtins(left) != msgspec.to_builtins(right) for left, right in pairs)
            differing += sum(left != right for left, right in zip(expected[1], actual[1], strict=True))
    return verdicts, differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="append", help="one or more; standard and simhash unless given")
    arguments = parser.parse_args()
    failed = False
    for profile in arguments.profile or ("standard", "simhash"):
        for secret in (b"", b"a secret"):
            verdicts, differing = differences(arguments.documents, seed=arguments.seed, profile=profile, secret=secret)
            failed |= differing > 0
            print(
                f"{profile}{', with a secret' if secret else ''}: {verdicts} verdicts, {differing} differ", flush=True
            )
    sys.exit(failed)


if __name__ == "__main__":
    main()
