"""Kernel tables of each execution provider, as data: op -> rows of (since, until, dtypes).

A registered kernel may fail at run time for some dtypes (`fails`, see the quirk recurrent-in-f64), or for a
value of an attribute: `words` has the dtypes for which a value works.

`cpu.json` lists the kernel registry of the oldest supported runtime of each opset, `cuda.json` its
documentation. No runtime is queried at compile time: the target may be another machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

PROVIDERS = ("cpu", "cuda")
"""Execution providers of onnxruntime with a kernel table."""


@cache
def _table(provider: str) -> dict[str, Any]:
    text = (files("passes.kernel_tables") / f"{provider}.json").read_text(encoding="utf-8")
    return json.loads(text)


@cache
def kernel_table(provider: str) -> Mapping[str, list[tuple[int, int | None, Mapping[str, str]]]]:
    return _table(provider)["kernels"]


OLD_VARIABLE_NAMES: Mapping[str, tuple[tuple[int, Mapping[str, tuple[str, ...]]], ...]] = {
    "BatchNormalization": ((14, {"T": ("T", "T1", "T2")}), (15, {"T": ("T", "T1"), "U": ("T2",)})),
    "DequantizeLinear": ((19, {"T": ("T1",)}), (23, {"T2": ("T2", "T3")})),
    "Identity": ((14, {"T": ("V",)}),),
    "QuantizeLinear": ((19, {"T2": ("T3",)}), (23, {"T1": ("T1", "T2"), "T2": ("T3",)})),
}
"""Op -> (revision before which type variables had other names, {old name: today's names}). Runtimes register
kernels by the names of their time."""


def rename_variables(name: str, since: int, types: Mapping[str, str]) -> Mapping[str, str]:
    """Return the dtypes of a kernel by today's names of type variables."""
    none: Mapping[str, tuple[str, ...]] = {}
    changed = next((names for before, names in OLD_VARIABLE_NAMES.get(name, ()) if since < before), none)
    return {new: words for old, words in types.items() for new in changed.get(old, (old,))}


def word_types(provider: str) -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, str]]]]:
    """Return op -> attribute -> value -> the dtypes of each type variable for which the value works.

    Kernels are registered by types only; attribute values that are not listed work for all of them.
    """
    return _table(provider).get("words", {})


def failing_types(provider: str) -> Mapping[str, Mapping[str, str]]:
    """Return op -> type variable -> dtypes for which all kernels fail at run time."""
    return _table(provider).get("fails", {})


def cpu_sources() -> dict[int, str]:
    """Return opset -> the runtime whose kernels the CPU table has, from the previous opset to this one."""
    return {int(opset): source for opset, source in _table("cpu")["sources"].items()}


def newest_runtime() -> str:
    """Return the version of the newest onnxruntime of the CPU table, as `1.32.0`."""
    source = max(cpu_sources().items())[1]
    return source.split(",")[0].split()[1]


EXPANDED_BY_RUNTIME: Mapping[str, int] = {
    **dict.fromkeys(
        ("CastLike", "CausalConvWithState", "CenterCropPad", "GroupNormalization", "HardSwish"), 1
    ),
    **dict.fromkeys(("LinearAttention", "Mish", "SequenceMap"), 1),
    "Attention": 25,
    "ReduceLogSum": 28,
    "ReduceLogSumExp": 28,
}
"""Op -> first revision whose ONNX function body onnxruntime inlines if it has no kernel."""

FAILS_ON_EMPTY = frozenset(("Attention", "GroupNormalization"))
"""Ops whose inlined bodies fail for empty tensors: quirk function-body-of-nothing."""


def newest_opset() -> int:
    """Return the newest opset with known CPU kernels."""
    return max(cpu_sources())


@dataclass(frozen=True)
class Kernels:
    """The kernels of an execution provider for the ops of one opset."""

    provider: str
    opset: int

    def has(self, name: str, schema_since: int, types: Mapping[str, str]) -> bool:
        """Return whether an op of a schema version has a kernel for the dtype of each type variable.

        An open-ended kernel serves only the schema version that it was registered for: if ONNX revises the
        op, runtimes do not find it.
        """
        fails = failing_types(self.provider).get(name, {})
        if any(types.get(variable) in words.split() for variable, words in fails.items()):
            return False
        return any(
            serves(since, until, schema_since) and _admits(rename_variables(name, since, constraints), types)
            for since, until, constraints in kernel_table(self.provider).get(name, [])
        )

    def failing_word(
        self, name: str, attributes: Mapping[str, object], types: Mapping[str, str]
    ) -> str | None:
        """Return an attribute with a value for which the op's kernel fails at run time, or None."""
        for attribute, words in word_types(self.provider).get(name, {}).items():
            word = attributes.get(attribute)
            if isinstance(word, str) and word in words and not _admits(words[word], types):
                return f"{attribute} {word}"
        return None


def serves(since: int, until: int | None, schema_since: int) -> bool:
    """Return whether a kernel of these versions is found for a schema version."""
    return since == schema_since if until is None else since <= schema_since <= until


def _admits(constraints: Mapping[str, str], types: Mapping[str, str]) -> bool:
    return all(
        dtype in constraints[variable].split() for variable, dtype in types.items() if variable in constraints
    )
