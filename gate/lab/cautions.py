"""What to be wary of in a corpus before a profile is chosen for it: templates, short texts, scripts without spaces."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gate.lab.experiment import per_cent
from gate.lab.planting import FEW_WORDS, pieces
from gate.lab.truth import UNSPACED, Corpus, share_without_spaces

COMMON = 0.1  # share of the documents that a shingle of a template occurs in
TEMPLATE = 0.2  # share of common shingles in a document from which on it is reported
FEW_DOCUMENTS = 30  # with fewer, a tenth of them is no template
SHORT = 0.1  # share of short documents from which on they are reported
LONG_RUN = 30  # letters in one run: no language that writes spaces has such words, but for a few
_RUN = re.compile(r"\w+")
_READ = 20_000  # characters of a document that are searched for words


@dataclass(frozen=True, slots=True, kw_only=True)
class Cautions:
    warnings: Sequence[str]
    spaceless: bool  # letters count as words in much of the corpus


def cautions(documents: Corpus) -> Cautions:
    """What to warn of, and whether words are single letters here."""
    opened = [text[:_READ] for text in documents.texts]
    alone, (unknown, script) = share_without_spaces(opened), share_of_long_runs(opened)
    warnings = [templates(documents), short(opened)]
    if alone >= UNSPACED:
        warnings.append(
            f"{per_cent(alone, 0)} of the letters are of a script without spaces (Han, kana, Thai, Lao, Khmer, "
            f"Myanmar): each "
            "letter counts as a word, so k-grams of words are short; longer ones and characters were tried too"
        )
    if unknown >= UNSPACED:
        warnings.append(
            f"{per_cent(unknown, 0)} of the letters are in runs of more than {LONG_RUN} without a space (mostly "
            f"{script}): "
            "the gate cannot separate words there; trust the tokenizer characters, or put spaces between words first"
        )
    return Cautions(warnings=[warning for warning in warnings if warning], spaceless=alone >= UNSPACED)


def share_of_long_runs(texts: Sequence[str]) -> tuple[float, str]:
    """The share of letters in runs so long that they must be several words, and the script of most of them."""
    total = 0
    scripts: Counter[str] = Counter()
    for text in texts:
        for run in _RUN.findall(text):
            total += len(run)
            if len(run) > LONG_RUN and not share_without_spaces([run]):
                scripts[unicodedata.name(run[len(run) // 2], "unnamed").split(" ")[0].capitalize()] += len(run)
    most = scripts.most_common(1)
    return scripts.total() / max(total, 1), most[0][0] if most else ""


def templates(documents: Corpus) -> str:
    """Whether a typical document shares a large part with many others."""
    numbers, starts = documents.shingles
    firsts = np.flatnonzero((documents.first_equal == np.arange(len(documents))) & (np.diff(starts) > 0))
    if len(firsts) < FEW_DOCUMENTS:
        return ""
    spread = np.bincount(np.concatenate([numbers[starts[i] : starts[i + 1]] for i in firsts.tolist()]))
    common = spread >= COMMON * len(firsts)
    shares = [float(common[numbers[starts[i] : starts[i + 1]]].mean()) for i in firsts.tolist()]
    if (typical := float(np.median(shares))) < TEMPLATE:
        return ""
    return (
        f"templates: half of the documents share {per_cent(typical, 0)} or more of their shingles with a tenth "
        f"of all others; "
        "take headers, footers and forms out before check-in, or different documents of one form will be called alike"
    )


def short(texts: Sequence[str]) -> str:
    few = sum(len(pieces(text)) < FEW_WORDS for text in texts)
    if few < SHORT * len(texts):
        return ""
    return (
        f"very short: {per_cent(few / len(texts), 0)} of the documents have fewer than {FEW_WORDS} words; one "
        f"changed word "
        "takes much of them away, so few of their edited copies are found, and below min_features only exact copies"
    )
