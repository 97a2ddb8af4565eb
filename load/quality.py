"""Recall and precision of profiles on real texts: `python -m load.quality [FOLDER...] [--profile NAME|FILE]...`

A folder holds `docs.jsonl`, an object a line with `id` and `text`, or folders that do. The truth (which pairs resemble
each other, and how much) is counted exactly, so no labels are needed; where there are label files (`*.tsv` with columns
a, b, jaccard_w3, or id, group), they are checked against it. Without a folder a seeded corpus with planted copies is
measured.

Two views of each profile: pairwise, over all pairs of a set, the candidates that the index brings together and the
pairs that are called alike; and in the stream, every document checked in to a gate in file order, where only accepted
documents can be met later. `--sweep` and `--scans` print the tables by which the built-in profiles were chosen,
`--changes` what they find of copies that were reordered, framed, cut, edited, scanned, or saved in other formats.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gate.config.settings import load_settings
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.corpora import read_folder
from gate.lab.scores import PairScores, score_profile
from gate.lab.truth import Corpus, disagreements
from load.corpus import Recipe, SyntheticCorpus
from load.quality_changes import change_tables
from load.quality_scans import scan_tables
from load.quality_stream import StreamScores, stream
from load.quality_sweep import sweep
from load.quality_tables import Row, ScoreTable, plan_table, precision_table, recall_table, stream_table, target_table

PLANTED = Path("planted")  # stands for the seeded corpus where no folder is given
RECIPE = Recipe(copies=0.3, exact=0.05, parts=0.15, part_shares=(0.5, 0.6, 0.7, 0.8, 0.9))


def planted(count: int, seed: int, recipe: Recipe = RECIPE) -> Corpus:
    """The seeded corpus as a set; its truth is counted like that of any other."""
    documents = list(SyntheticCorpus(seed, count, recipe))
    return Corpus(PLANTED.name, [d.document_id for d in documents], [d.text for d in documents])


def sets_in(folder: Path) -> list[Path]:
    """The folder itself if it is a set, or the sets in it."""
    return sorted(path.parent for pattern in ("docs.jsonl", "*/docs.jsonl") for path in folder.glob(pattern))


@contextmanager
def timed_step(step: str) -> Iterator[None]:
    """Progress, on standard error."""
    begun = time.monotonic()
    print(f"{step} ...", end=" ", file=sys.stderr, flush=True)
    yield
    print(f"{time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)


def gather(folders: Sequence[Path], *, count: int, seed: int) -> tuple[list[Corpus], ScoreTable]:
    """The sets, with their truth counted, and a table of what they hold."""
    rows: list[Row] = []
    sets: list[Corpus] = []
    for folder in folders or [PLANTED]:
        with timed_step(f"{folder.name}: truth"):
            documents = planted(count, seed) if folder is PLANTED else read_folder(folder)
            rows.append(
                {
                    "set": documents.name,
                    "documents": len(documents),
                    "equal to an earlier one": len(documents) - len(set(documents.first_equal.tolist())),
                    "pairs with J >= .5": len(documents.pairs),
                    "labels": len(documents.labels),
                    "labels that disagree": disagreements(documents),
                }
            )
        sets.append(documents)
    return sets, ScoreTable("The sets, and the truth about them", rows)


def measure(profile: Profile, sets: Sequence[Corpus]) -> list[ScoreTable]:
    """All tables of one profile."""
    pairs: dict[str, PairScores] = {}
    streams: dict[str, StreamScores] = {}
    for documents in sets:
        with timed_step(f"{documents.name}: {profile.ref}"):
            pairs[documents.name] = score_profile(documents, profile)
            streams[documents.name] = stream(documents, profile)
    tables = [target_table(profile, pairs, streams)]
    tables += [recall_table(profile, pairs), precision_table(profile, pairs), stream_table(profile, streams)]
    if any(share is not None for score in pairs.values() for share in score.planned.values()):
        tables.append(plan_table(profile, pairs))
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--profile", action="append", metavar="NAME|FILE", help="may be repeated; default: standard")
    parser.add_argument(
        "--sweep", action="store_true", help="the tables over streams, k-grams, weights, bands, thresholds"
    )
    parser.add_argument("--scans", action="store_true", help="the tables by which the profile scans was chosen")
    parser.add_argument("--changes", action="store_true", help="what is found of copies, by what was done to them")
    parser.add_argument("--planted", type=int, default=2_000, metavar="N", help="documents where no folder is given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the tables there too")
    arguments = parser.parse_args()
    try:
        names = arguments.profile or ["standard"]
        profiles = [load_settings({"profile": name}, {})[0].profile for name in names]
    except ConfigError as exc:
        parser.error("; ".join(exc.problems))
    folders = [found for folder in arguments.folders for found in sets_in(folder)]
    if missing := [str(folder) for folder in arguments.folders if not sets_in(folder)]:
        parser.error(f"no docs.jsonl in {', '.join(missing)} nor in a folder there")

    sets, about = gather(folders, count=arguments.planted, seed=arguments.seed)
    tables = [about]
    if arguments.sweep:
        tables += sweep(sets, timed_step)
    if arguments.scans:
        tables += scan_tables(sets, timed_step)
    if arguments.changes:
        tables += change_tables(sets, timed_step)
    if not (arguments.sweep or arguments.scans or arguments.changes):
        for profile in profiles:
            tables += measure(profile, sets)
    text = "\n".join(table.markdown() for table in tables)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    if arguments.json:
        print(json.dumps({table.title: table.plain() for table in tables}, indent=2))
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
