"""Which kernels each execution provider has, as data: op -> rows of (since, until, dtypes).
A registered kernel may still fail when it runs, for some dtypes, which `fails` has, or with some word of an
attribute: `words` says for which dtypes a word works.

`cpu.json` is what the registry of the oldest supported runtime lists that has released an opset, `cuda.json`
what its documentation does, `portable.json` what is left of the CPU's for models that other runtimes read as
well. The target of a compilation need not be the machine that compiles, so none is asked at compile time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

PROVIDERS = ("cpu", "cuda")
"""The targets that are execution providers of onnxruntime."""

TARGETS = (*PROVIDERS, "portable")


@cache
def _table(target: str) -> dict[str, Any]:
    text = (files("passes.kernels") / f"{target}.json").read_text(encoding="utf-8")
    return json.loads(text)


def provider_of(target: str) -> str:
    """The target whose execution provider runs this one's models: itself, or the one that it is `like`.

    Its kernels, types and prices hold for both.
    """
    return _table(target).get("like", target)


def shunned(target: str) -> Mapping[str, str]:
    """The ops that a target does without although its provider has them -> why."""
    return _table(target).get("without", {})


def symmetric_pads(target: str) -> str | None:
    """Why a ConvTranspose for a target has equal pads at both ends of an axis; None if it need not."""
    return _table(target).get("symmetric_pads")


def narrow_integers(target: str) -> str | None:
    """Why arithmetic on sizes for a target stays within 31 bits; None if it has all of an s64."""
    return _table(target).get("narrow_integers")


@cache
def kernel_table(target: str) -> Mapping[str, list[tuple[int, int | None, Mapping[str, str]]]]:
    kernels = _table(provider_of(target))["kernels"]
    return {name: rows for name, rows in kernels.items() if name not in shunned(target)}


RENAMED: Mapping[str, tuple[tuple[int, Mapping[str, tuple[str, ...]]], ...]] = {
    "BatchNormalization": ((14, {"T": ("T", "T1", "T2")}), (15, {"T": ("T", "T1"), "U": ("T2",)})),
    "DequantizeLinear": ((19, {"T": ("T1",)}), (23, {"T2": ("T2", "T3")})),
    "Identity": ((14, {"T": ("V",)}),),
    "QuantizeLinear": ((19, {"T2": ("T3",)}), (23, {"T1": ("T1", "T2"), "T2": ("T3",)})),
}
"""Op -> before which revision its type variables had other names, and what these are called now: a runtime
registers the kernels of a revision by the names of that time."""


def renamed(name: str, since: int, types: Mapping[str, str]) -> Mapping[str, str]:
    """The dtypes of a kernel by the names that the type variables have now."""
    none: Mapping[str, tuple[str, ...]] = {}
    changed = next((names for before, names in RENAMED.get(name, ()) if since < before), none)
    return {new: words for old, words in types.items() for new in changed.get(old, (old,))}


def word_types(target: str) -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, str]]]]:
    """Op -> attribute -> word -> the dtypes of each type variable with which that word works.

    A kernel is registered for its types alone: of a word that is not here all of them work.
    """
    return _table(provider_of(target)).get("words", {})


def failing_types(target: str) -> Mapping[str, Mapping[str, str]]:
    """Op -> type variable -> the dtypes with which each of its kernels fails when it runs."""
    return _table(provider_of(target)).get("fails", {})


def cpu_sources() -> dict[int, str]:
    """Opset -> the runtime whose CPU kernels the table has, from the opset before it to this one."""
    return {int(opset): source for opset, source in _table("cpu")["sources"].items()}


EXPANDED_BY_RUNTIME: Mapping[str, int] = {
    **dict.fromkeys(
        ("CastLike", "CausalConvWithState", "CenterCropPad", "GroupNormalization", "HardSwish"), 1
    ),
    **dict.fromkeys(("LinearAttention", "Mish", "NegativeLogLikelihoodLoss", "SequenceMap"), 1),
    "SoftmaxCrossEntropyLoss": 1,
    "Attention": 25,
    "ReduceLogSum": 28,
    "ReduceLogSumExp": 28,
}
"""Op -> the revision from which on onnxruntime writes the ops by which ONNX defines it, where it has no
kernel for it."""

FAILS_ON_EMPTY = frozenset(("Attention", "GroupNormalization"))
"""Those of which these fail in onnxruntime for an empty tensor: a Reshape has a -1 beside a 0."""


def newest_opset() -> int:
    """The newest opset whose CPU kernels are known."""
    return max(cpu_sources())


@dataclass(frozen=True)
class Kernels:
    """The kernels that a target has for the ops of one opset."""

    target: str
    opset: int

    def has(self, name: str, schema_since: int, types: Mapping[str, str]) -> bool:
        """Whether an op of a schema version has a kernel for the dtype of each type variable.

        An open-ended kernel serves only the schema version that it was registered for: when ONNX
        revised the op later, the runtime does not find it.
        """
        fails = failing_types(self.target).get(name, {})
        if any(types.get(variable) in words.split() for variable, words in fails.items()):
            return False
        return any(
            serves(since, until, schema_since) and _admits(renamed(name, since, constraints), types)
            for since, until, constraints in kernel_table(self.target).get(name, [])
        )

    def failing_word(
        self, name: str, attributes: Mapping[str, object], types: Mapping[str, str]
    ) -> str | None:
        """An attribute with the word for which an op's kernel fails when it runs; None if there is none."""
        for attribute, words in word_types(self.target).get(name, {}).items():
            word = attributes.get(attribute)
            if isinstance(word, str) and word in words and not _admits(words[word], types):
                return f"{attribute} {word}"
        return None


def serves(since: int, until: int | None, schema_since: int) -> bool:
    """Whether a kernel of these versions is found for a schema version."""
    return since == schema_since if until is None else since <= schema_since <= until


def _admits(constraints: Mapping[str, str], types: Mapping[str, str]) -> bool:
    return all(
        dtype in constraints[variable].split() for variable, dtype in types.items() if variable in constraints
    )
