"""The table of methods: what signs a text, says where its signature is stored, and compares two of them.

A method is all that the index and the pipeline know of how likeness works. A new one is a struct of parameters and a
row of `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gate.core.method import NO_LIMIT, BodyLayout, Measures, Method, Signatures
from gate.core.method_parameters import (
    BswN,
    Hybrid,
    MethodParameters,
    MinHash,
    MinN,
    ModN,
    SimHash,
    SimilarityIndex,
    SketchN,
)
from gate.core.minhash import HybridMethod, MinHashMethod
from gate.core.profile import Profile
from gate.core.sampled_methods import SampleMethod, SketchMethod
from gate.core.simhash import SimHashMethod
from gate.core.similarity_index import SimilarityIndexMethod
from gate.errors import ConfigError

__all__ = ["METHODS", "BodyLayout", "Measures", "Method", "Signatures", "method_of", "parameters_by_name"]

# What is called with a profile, its parameters of that kind, the secret and the limit of features.
METHODS: dict[type[MethodParameters], Callable[[Profile, Any, bytes, int], Method]] = {
    SimHash: SimHashMethod,
    MinHash: MinHashMethod,
    Hybrid: HybridMethod,
    ModN: SampleMethod,
    MinN: SampleMethod,
    BswN: SampleMethod,
    SketchN: SketchMethod,
    SimilarityIndex: SimilarityIndexMethod,
}


def parameters_by_name() -> dict[str, type[MethodParameters]]:
    """The parameters of each method, by the name that a profile in TOML gives it."""
    return {kind.name: kind for kind in METHODS}


def method_of(profile: Profile, secret: bytes = b"", *, max_features: int = NO_LIMIT) -> Method:
    """The method of a profile, the parameters checked."""
    parameters = profile.method
    if type(parameters) not in METHODS:
        raise ConfigError(
            f"profile.method: {parameters!r} is unknown; give the parameters of one of "
            f"{', '.join(sorted(kind.__name__ for kind in METHODS))}"
        )
    problems = parameters.problems(tokenizer=profile.tokenizer, gram=profile.gram)
    if problems := [*problems, *_length_filter_problems(profile)]:
        raise ConfigError(*problems)
    method = METHODS[type(parameters)](profile, parameters, secret, max_features)
    if not _can_decide(method, profile):
        raise ConfigError(
            f"profile.resemblance: {parameters.name} has nothing to decide by; give a threshold between 0 and 1 for "
            "profile.resemblance or profile.containment"
        )
    return method


def _length_filter_problems(profile: Profile) -> list[str]:
    """What a length filter needs, and what it would break."""
    if not isinstance(profile.method, MinHash) or profile.method.length_filter == "none":
        return []
    problems = []
    if profile.resemblance is None:
        problems.append(
            "profile.resemblance: a length filter rules out what cannot reach it; give a threshold between 0 and 1, or "
            "leave out profile.length_filter"
        )
    if profile.containment is not None:
        problems.append(
            "profile.containment: a part is shorter than its whole, and a length filter rules it out; leave out one of "
            "profile.containment and profile.length_filter"
        )
    return problems


def _can_decide(method: Method, profile: Profile) -> bool:
    """Whether the method measures what the profile has a threshold for; a distance always has the radius."""
    body = [bytes(method.layout.body_bytes)]
    measures = method.compare(body, body)
    return (
        measures.distance is not None
        or (measures.resemblance is not None and profile.resemblance is not None)
        or (measures.left_in_right is not None and profile.containment is not None)
    )
