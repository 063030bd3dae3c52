"""Op specs: declarations of ops as data.

An op spec determines the op's class, its stub for editors and type checkers (written by `python -m
dialects.onednn.stubs`), its numpy semantics, text form, builder method, documentation entry and test
problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dialects.support.attributes import AttributeSpec

Meaning = Callable[..., Any]
"""Function from float64 arrays, one per data operand, and keyword attributes to one or more results."""


@dataclass(frozen=True)
class OpSpec:
    """The declaration of one op.

    `kind` is oneDNN's word, `formula` the documented formula of one element. Attributes without default are
    required. `decides`: the result is discontinuous in an operand, so operands of half type are rounded
    first. `moves`: results are copies of operand elements, so half types need no conversion. `rounds`: the op
    exists to round, so it must not be removed.
    """

    kind: str
    formula: str
    meaning: Meaning
    attributes: Mapping[str, AttributeSpec[Any]] = field(default_factory=lambda: MappingProxyType({}))
    dtypes: tuple[str, ...] = ("f32", "bf16", "f16", "f64")
    decides: bool = False
    moves: bool = False
    rounds: bool = False

    @property
    def method(self) -> str:
        """The builder's method, and the op's name in its dialect."""
        return snake_case(self.kind)


@dataclass(frozen=True)
class BackwardOpSpec(OpSpec):
    """The gradient of an elementwise op.

    `meaning` takes src and diff_dst. `from_dst` takes dst, the output of the forward op, instead of src; if
    present, the op has the attribute `use_dst`.
    """

    from_dst: Meaning | None = None


_WORDS = ("PReLU", "ReLU", "GELU", "SoftMax", "MatMul")
"""Words with inner capitals."""

_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(kind: str) -> str:
    """Convert `LeakyReLU` to leaky_relu, `ReduceL1` to reduce_l1, `RMSNorm` to rms_norm."""
    for word in _WORDS:
        kind = kind.replace(word, word.capitalize())
    return _BETWEEN_WORDS.sub("_", kind).lower()
