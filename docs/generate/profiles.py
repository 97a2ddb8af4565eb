"""The page of profiles: the built-in ones, the fields of every profile, and the parameters of every method."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from docs.generate.markdown import GENERATED, code, table
from gate.cli.profile_names import FOR_USE, FROM_PAPERS
from gate.config.sources import describe_type
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import MethodParameters
from gate.core.method_registry import parameters_by_name
from gate.core.profile import Profile

HEAD = f"""\
# Profiles

{GENERATED}\
A profile says what of a text is looked at, how it is signed and found, and what counts as alike. Its name and version
are in every verdict and every index. [Choosing a profile and a threshold](../choosing-a-profile.md) helps to decide;
this page lists what there is.

A profile of your own is a TOML file with a flat table, or a table in `gate.toml`. It names its `base` and what differs
from it; `false` turns a threshold off:

```toml
# strict.toml
base = "standard"
name = "strict"
resemblance = 0.85
index = "all"
```

Give it to any command as `--profile strict.toml`. A change of what a signature means makes another index: give such a
profile another name or version. A changed built-in profile needs one too.

"""

NAMES = {**FOR_USE, **FROM_PAPERS}

FIELDS = {
    "name": "the name, in every verdict and every key of an index",
    "version": "the version; signatures of two versions never meet",
    "tokenizer": "what a text is cut into",
    "gram": "how many tokens in a row make a shingle",
    "drop_stop_words": "leave stop words out",
    "drop_vowels": "leave vowels out; for `characters`",
    "drop_repeats": "each word once, at its first place; for `words` and `soundex`",
    "mask_numbers": "every run of digits counts as one 0",
    "fold_confusables": "letters of other scripts count as the Latin letters that they look like",
    "stop_words": "the stop words, instead of the English ones",
    "method": "how a text is signed and found; it has [parameters](#methods) of its own",
    "resemblance": "alike from this resemblance on; `false`: resemblance does not decide",
    "containment": "alike if so much of one is in the other; `false`: it names the relation but does not decide",
    "min_features": "a document with fewer features is `too_short`: compared exactly only",
    "index": "what stays findable: `originals` only what passed, `all` copies too",
    "revisions": "whether a new version replaces the one before it in the index",
}

PARAMETERS = {
    "radius": "every pair of fingerprints within so many bits of 64 is found",
    "weights": "how much a feature counts: by its number, by the logarithm of it, or once",
    "bins": "the length of the signature, in bytes",
    "bands": "how many bands are cut from the signature: each is a bucket key",
    "rows": "how many values a band has: more make a band rarer",
    "multisets": "a feature counts as often as it occurs",
    "length_filter": "which documents of a bucket are not even fetched, as their "
    "[lengths](../papers.md#the-length-filter-azgomi-et-al-2014) rule out the `resemblance`: none, or by the size of "
    "the `set` of features, with each `repetition` counted, or `weighted` by place, which loses some pairs; for "
    "`minhash`",
    "family": "values in one pass, or each by a hash function of a family",
    "window": "the size of a window, in bytes",
    "sample": "the n of the name",
    "chunks": "what stands for a chunk: its smallest fingerprint, or a hash of the whole",
    "max_prints": "the most fingerprints of a document that are kept; of more, the smallest",
    "max_keys": "the most fingerprints that are bucket keys; of more, the smallest",
    "si_method": "the number of the method in Roth 2011; 15 and 16 take a third that is the same in every document",
    "si_window": "the window of winnowing, the paper's w",
}


def page() -> str:
    parts = [
        HEAD,
        "## Built-in profiles\n\n",
        table(["profile", "what it is", "what differs from the default values below"], map(_built_in, NAMES.items())),
        "\n## Fields of every profile\n\n",
        table(["field", "values", "default", "meaning"], _rows(Profile, FIELDS)),
        "\n## Methods\n",
    ]
    for name, kind in parameters_by_name().items():
        parts += [f"\n### {name}\n\n{inspect.getdoc(kind)}\n\n"]
        parts += [table(["parameter", "values", "default", "meaning"], _rows(kind, PARAMETERS))]
        if kind.unused:
            parts.append(f"\nIt does not take {', '.join(map(code, kind.unused))}.\n")
    return "".join(parts)


def _built_in(named: tuple[str, str]) -> tuple[str, str, str]:
    name, description = named
    profile = BUILT_IN[name]
    plain = Profile(name="plain")
    defaults = {**structs.asdict(plain), **structs.asdict(type(profile.method)()), "method": plain.method.name}
    changed = {field: value for field, value in profile.parameters().items() if value != defaults[field]}
    shown = (code(f"{field} = {_toml(value)}") for field, value in changed.items() if field != "name")
    return code(name), description, ", ".join(shown)


def _rows(kind: type[Profile | MethodParameters], meanings: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for field in structs.fields(kind):
        if field.name == "method":
            values = ", ".join(code(name) for name in parameters_by_name())
        else:
            values = describe_type(field.type).removeprefix("give a ").removeprefix("give ")
            values = values.removeprefix("choose one of ")
            if values.startswith("text like "):
                values = f"text like {code(values.removeprefix('text like '))}"
        default = "" if field.required else code(_toml(field.default))
        yield code(field.name), values, default, meanings[field.name]


def _toml(value: Any) -> str:
    if isinstance(value, MethodParameters):
        return _toml(value.name)
    return json.dumps(False if value is None else value)
