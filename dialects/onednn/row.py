"""What a row of a family's table says: everything in which an op differs from its siblings.

From one row come the op's class and what editors and type checkers read of it (`python -m
dialects.onednn.stubs` writes that), its meaning in numpy, its text form, its builder method, its line on the
family's page and its problems in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dialects.support.attributes import AttributeSpec

Meaning = Callable[..., Any]
"""From float64 arrays, one per data operand, and the attributes by keyword, to the result, or to several."""


@dataclass(frozen=True)
class Row:
    """One op of a family.

    `kind` is oneDNN's word, `formula` what its documentation says of one element. An attribute without a
    default is required. `decides`: a result jumps where an operand changes by a rounding, so operands of
    half type are rounded before it looks at them. `moves`: results are elements of operands as they are, so
    a half type stays what it is. `rounds`: the op is there for its rounding, which nobody leaves out.
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
class BackwardRow(Row):
    """The gradient of an op that works element by element.

    `meaning` takes src and diff_dst. `from_dst` takes dst, the output of the forward op, in the place of
    src: where there is one, the op has the attribute `use_dst`.
    """

    from_dst: Meaning | None = None


_WORDS = ("PReLU", "ReLU", "GELU", "SoftMax", "MatMul")
"""Capitals within one word."""

_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(kind: str) -> str:
    """`LeakyReLU` as leaky_relu, `ReduceL1` as reduce_l1, `RMSNorm` as rms_norm."""
    for word in _WORDS:
        kind = kind.replace(word, word.capitalize())
    return _BETWEEN_WORDS.sub("_", kind).lower()
