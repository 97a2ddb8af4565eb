"""Write the known answers anew: what is stored of some texts under every tokenizer, variation and built-in profile.

Run by hand, and only when a change of what is stored is meant: `python tests/vectors/generate.py`. Such a change is a
migration. Documents signed before it do not meet those signed after it, so every profile that it touches needs a new
version, and whoever has an index under the old one has to build it again.

    texts.json      the texts; written by hand, only ever added to
    contents.json   normal form and content ids
    features.json   fingerprints by count, log and set, the signature of 16 bins: tokenizer x variation x gram x secret
    profiles.json   bodies, fingerprints, bucket keys and tags under each built-in profile, and the profile's digest
    families.json   the signature of 16 values by each family of hash functions
    numbers.json    the similarity index by each of the sixteen methods: tokenizer x variation x secret
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from gate.core import java_string_hash, similarity_index
from gate.core.bands import Probes
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import FREQUENT, Family, SimilarityIndex, Weights
from gate.core.method_registry import method_of
from gate.core.minhash import signatures
from gate.core.profile import Profile, Tokenizer
from gate.core.shingles import features
from gate.core.simhash import fingerprints
from gate.core.text import content_id_of_bytes, content_ids, encoded, normalise
from gate.core.token_filters import ENGLISH

HERE = Path(__file__).parent
SECRETS = {"": b"", " secret": b"correct horse battery staple"}
BINS = 16
NUMBERS_WINDOW = 4  # of winnowing
FAMILIES: tuple[Family, ...] = ("modular", "multiplicative", "murmur3")
WEIGHTS: tuple[Weights, ...] = ("count", "log", "set")
# What Roth 2011 varies in each tokenizer: his A to D are the four combinations of the two switches.
SWITCHES: dict[Tokenizer, tuple[str, str]] = {
    "characters": ("drop_vowels", "drop_stop_words"),
    "words": ("drop_stop_words", "drop_repeats"),
    "soundex": ("drop_stop_words", "drop_repeats"),
}
GRAMS: dict[Tokenizer, tuple[int, ...]] = {"characters": (1, 5, 9), "words": (1, 3), "soundex": (1, 3)}


def texts() -> dict[str, str]:
    found: dict[str, str] = read("texts")
    return found


def read(name: str) -> Any:
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def contents() -> dict[str, Any]:
    normal = normalise(list(texts().values()))
    columns = {f"content_id{label}": [one.hex() for one in content_ids(normal, key)] for label, key in SECRETS.items()}
    columns["normal"] = [data.decode() for data in encoded(normal)]
    found: dict[str, Any] = {name: {k: v[i] for k, v in columns.items()} for i, name in enumerate(texts())}
    nothing = hashlib.sha256(b"").digest()
    for label, key in SECRETS.items():
        found[f"(the bytes of an empty file){label}"] = content_id_of_bytes(nothing, key).hex()
    found["(English stop words)"] = hashlib.blake2b(" ".join(ENGLISH).encode(), digest_size=16).hexdigest()
    return found


def shapes() -> Iterator[tuple[str, Profile]]:
    """Every tokenizer under every variation, with its name."""
    for tokenizer, switches in SWITCHES.items():
        for gram, *on in product(GRAMS[tokenizer], *[(False, True)] * 3):
            chosen = dict(zip((*switches, "mask_numbers"), on))
            name = " ".join([tokenizer, str(gram), *(switch for switch, is_on in chosen.items() if is_on)])
            yield name, Profile(name="p", tokenizer=tokenizer, gram=gram, **chosen)  # type: ignore[arg-type]
    yield "words 1 fold_confusables", Profile(name="p", gram=1, fold_confusables=True)
    own = Profile(name="p", gram=2, drop_stop_words=True, stop_words=("Größer", "東", "по"))
    yield "words 2 own stop words", own


def all_features() -> dict[str, dict[str, str]]:
    normal, names = normalise(list(texts().values())), list(texts())
    found: dict[str, dict[str, str]] = {}
    for (shape, profile), (label, secret) in product(shapes(), SECRETS.items()):
        cut = features(normal, profile, secret)
        prints = [fingerprints(cut, weights).tolist() for weights in WEIGHTS]
        sketches, _ = signatures(cut, BINS)
        found[shape + label] = {
            name: " ".join([*(f"{column[i]:016x}" for column in prints), sketches[i].tobytes().hex()])
            for i, name in enumerate(names)
        }
    return found


def all_profiles() -> dict[str, Any]:
    normal, names = normalise(list(texts().values())), list(texts())
    found: dict[str, Any] = {}
    for profile, (label, secret) in product(BUILT_IN.values(), SECRETS.items()):
        method = method_of(profile, secret)
        bodies = method.sign(normal).bodies
        kept, sought = method.postings(bodies), method.probes(bodies)
        found[profile.ref + label] = {"digest": profile.digest(secret)} | {
            name: {
                "body": bodies[i].hex(),
                "fingerprint": _hex(method.fingerprint(bodies[i])),
                "kept": _pairs(kept, i),
                "sought": hashlib.blake2b(" ".join(_pairs(sought, i)).encode(), digest_size=8).hexdigest(),
            }
            for i, name in enumerate(names)
        }
    return found


def _hex(value: int | None) -> str | None:
    return None if value is None else f"{value:016x}"


def _pairs(probes: Probes, row: int) -> list[str]:
    """Keys, tags and radii of one document."""
    mine = np.flatnonzero(probes.rows == row)
    columns = (probes.keys[mine].tolist(), probes.tags[mine].tolist(), probes.radii[mine].tolist())
    return [f"{key:x}:{tag:x}:{radius}" for key, tag, radius in zip(*columns)]


def all_families() -> dict[str, dict[str, str]]:
    normal, names = normalise(list(texts().values())), list(texts())
    found: dict[str, dict[str, str]] = {}
    for family, (label, secret) in product(FAMILIES, SECRETS.items()):
        sketches, _ = signatures(features(normal, Profile(name="p"), secret), BINS, family)
        found[family + label] = {name: sketches[i].tobytes().hex() for i, name in enumerate(names)}
    return found


def number_shapes() -> Iterator[tuple[str, Profile]]:
    """Every tokenizer under every variation of Roth 2011, with its name."""
    for (tokenizer, switches), on in product(SWITCHES.items(), product((False, True), repeat=2)):
        chosen = dict(zip(switches, on))
        name = " ".join([tokenizer, *(switch for switch, is_on in chosen.items() if is_on)])
        plain = Profile(name="p", method=SimilarityIndex(si_window=NUMBERS_WINDOW), tokenizer=tokenizer, gram=2)
        yield name, structs.replace(plain, **chosen)


def all_numbers() -> dict[str, dict[str, str]]:
    """The numbers of each text, those of the methods 1 to 16 in a row; - where a tokenizer has no words to count."""
    normal, names = normalise(list(texts().values())), list(texts())
    found: dict[str, dict[str, str]] = {}
    for (shape, profile), (label, secret) in product(number_shapes(), SECRETS.items()):
        columns = []
        for method in range(1, 17):
            if method == FREQUENT and profile.tokenizer == "characters":
                columns.append(["-"] * len(names))
                continue
            cut = java_string_hash.features(normal, profile, secret, gram=1 if method == FREQUENT else None)
            values = similarity_index.numbers(cut, method, gram=profile.gram, window=NUMBERS_WINDOW, secret=secret)
            columns.append([str(number) for number in values.tolist()])
        found[shape + label] = {name: " ".join(row) for name, row in zip(names, zip(*columns))}
    return found


ANSWERS = {
    "contents": contents,
    "features": all_features,
    "profiles": all_profiles,
    "families": all_families,
    "numbers": all_numbers,
}

if __name__ == "__main__":
    for file, answers in ANSWERS.items():
        (HERE / f"{file}.json").write_text(json.dumps(answers(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
