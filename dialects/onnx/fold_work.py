"""How much arithmetic it is to fold an op: what is too much is left to the runtime, which is quicker.

A constant is small in a text, `dense<0.5> : tensor<4096x4096xf32>`, and a product of two of them is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from dialects.onnx import traits
from dialects.support import shapes

MOST_WORK = 2**31
"""Multiplications of a fold, or what takes as long: some seconds."""

MATRICES = frozenset(("Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"))

SEARCHING = frozenset(("Col2Im", "Det", "NonMaxSuppression"))

LABORIOUS = (
    SEARCHING
    | traits.ATTENTION
    | traits.POOLS
    | traits.PRODUCTS
    | traits.RECURRENT
    | traits.SAMPLINGS
    | traits.SPECTRA
)
"""Of which a number of the result may be made of all those of an operand."""


def is_too_much(name: str, operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> bool:
    """Whether to fold an op, all of whose types are static, is more work than is done at compile time."""
    if name not in LABORIOUS or not operands:
        return False
    made = max(map(_elements, results))
    if name in MATRICES:
        return made * max(shapes.static(shapes.shape_of(operands[0])[-2:]) or (1,)) > MOST_WORK
    return made * max(map(_elements, operands)) > MOST_WORK


def _elements(value: SSAValue) -> int:
    if not shapes.has_rank(value):
        return 0
    return math.prod(shapes.static(shapes.shape_of(value)) or (0,))
