"""Small but realistic models whose gradients the proof is tried on, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from support.proof.images import IMAGES
from support.proof.net import ProofModel
from support.proof.others import AT_KINKS, OTHERS
from support.proof.random_graphs import random_graph
from support.proof.texts import TEXTS

MODELS: Mapping[str, Callable[[], ProofModel]] = MappingProxyType({**IMAGES, **TEXTS, **OTHERS})
"""Name -> model; each gradient can be proved."""

RANDOM = "random_"


@cache
def proof_model(name: str) -> ProofModel:
    """The model of a name, or the random graph `random_SEED`. It is built once; nobody may change it."""
    if name.startswith(RANDOM):
        return random_graph(int(name.removeprefix(RANDOM)))
    return {**MODELS, **AT_KINKS}[name]()
