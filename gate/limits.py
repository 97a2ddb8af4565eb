"""The bounds that keep one document, one batch or one crowded bucket from taking the whole machine."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
OnCapped = Literal["pass", "refuse", "quarantine"]


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is refused, cut or capped. A verdict says so when a cap was hit; nothing is dropped in silence."""

    max_document_chars: Positive = 5_000_000  # a longer document is dead-lettered: its kernels would need about 100 MB
    max_features: Positive = 2_000_000  # features signed of one document; the rest is left out and the verdict degraded
    max_matches: Positive = 10  # matches named in a verdict, best first
    max_candidates: Positive = 48  # candidates verified of one document
    max_bucket: Positive = 4096  # postings read of one bucket: a template that most documents share fills it
    max_scanned: Positive = 10_000_000  # fingerprints of one look-up that has to scan; also those held to list pairs
    max_postings: Positive = 16_384  # postings read for one document: decoys may fill all of its buckets
    # What a search that a limit ended means for a document to which nothing alike was found: the verdict `undecided`.
    on_capped: OnCapped = "pass"
    batch_documents: Positive = 256  # the kernels gain little beyond, and latency grows
    batch_chars: Positive = 2_000_000  # bounds the memory of a batch; a longer document is a batch of its own
    # Of the details of a document, which verdicts and the index repeat. The highest together fit a field of an index.
    max_title_chars: Annotated[int, Meta(ge=1, le=4096)] = 512
    max_source_chars: Annotated[int, Meta(ge=1, le=1024)] = 256
    max_uri_chars: Annotated[int, Meta(ge=1, le=4096)] = 1024
    max_metadata_bytes: Annotated[int, Meta(ge=0, le=16_384)] = 2048
    long_details: Literal["cut", "refuse"] = "cut"  # cut: and the verdict is marked `details_cut`
