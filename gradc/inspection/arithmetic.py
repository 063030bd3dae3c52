"""Arithmetic of ONNX ops, as a number or a formula of dynamic sizes.

Products have multiply-accumulates: for each element of the result of a convolution or matrix product, the
number of terms, pads included. The operations are two per multiply-accumulate, one per element of the result
of a pointwise op, of each pooling window, and of the operand of reductions, norms and softmax. Data movement
has none. Bodies of If, Loop and Scan count once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import cast

from xdsl.ir import Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.shapes.forms import Form, TooComplex
from dialects.support import shapes
from dialects.support.shapes import Dim


@dataclass(frozen=True)
class Arithmetic:
    """Multiply-accumulates and operations; None if a rank or size is unknown."""

    macs: Form | None = 0
    flops: Form | None = 0

    def __add__(self, other: Arithmetic) -> Arithmetic:
        return Arithmetic(_sum(self.macs, other.macs), _sum(self.flops, other.flops))


def _sum(a: Form | None, b: Form | None) -> Form | None:
    try:
        return None if a is None or b is None else a + b
    except TooComplex:
        return None


def arithmetic(op: Operation) -> Arithmetic:
    """Return the arithmetic of one op, without its regions."""
    if not isinstance(op, OnnxOp):
        return Arithmetic()
    name = op.onnx_name()
    try:
        if product := _PRODUCTS.get(name):
            macs = product(op)
            return Arithmetic(macs, None if macs is None else 2 * macs)
        return Arithmetic(0, _operations(name, op))
    except (TooComplex, IndexError, shapes.UnknownRank):
        return Arithmetic(None, None)


def _operations(name: str, op: OnnxOp) -> Form | None:
    if name in traits.POINTWISE - traits.CONVERSIONS - traits.CHOICES:
        return _elements(op.results[0])
    if name in traits.POOLS:
        return _times(_elements(op.results[0]), *_attribute(op, "kernel_shape"))
    if name in _READ_ONCE:
        return _elements(op.operands[0])
    return 0


_READ_ONCE = (
    traits.REDUCTIONS
    | traits.INDEX_REDUCTIONS
    | traits.SCANS
    | traits.ALONG_AN_AXIS
    | traits.NORMALIZATIONS
    | traits.GLOBAL_POOLS
)


def _elements(value: SSAValue) -> Form | None:
    return _times(*shapes.shape_of(value))


def _times(*dims: Dim | Form | None) -> Form | None:
    if any(dim is None for dim in dims):
        return None
    return reduce(mul, dims, 1)  # pyright: ignore


def _attribute(op: OnnxOp, name: str) -> Sequence[int]:
    return cast("Sequence[int]", op.onnx_attributes()[name])


def _conv(op: OnnxOp) -> Form | None:
    """Convolution: weights are (M, C/group, kernel), and each result sums over all axes but the first."""
    return _times(_elements(op.results[0]), *shapes.shape_of(op.operands[1])[1:])


def _conv_transpose(op: OnnxOp) -> Form | None:
    """Transposed convolution: weights are (C, M/group, kernel), each input meets all axes but the first."""
    return _times(_elements(op.operands[0]), *shapes.shape_of(op.operands[1])[1:])


def _integer_product(op: OnnxOp) -> Form | None:
    return _times(_elements(op.results[0]), shapes.shape_of(op.operands[0])[-1])


def _qlinear_conv(op: OnnxOp) -> Form | None:
    return _times(_elements(op.results[0]), *shapes.shape_of(op.operands[3])[1:])


def _gemm(op: OnnxOp) -> Form | None:
    rows, columns = shapes.shape_of(op.operands[0])
    terms = rows if op.onnx_attributes().get("transA") else columns
    return _times(_elements(op.results[0]), terms)


def _einsum(op: OnnxOp) -> Form | None:
    """Return the product of the sizes of all indices, None with an ellipsis."""
    equation = str(op.onnx_attributes()["equation"]).replace(" ", "")
    terms, arrow, result = equation.partition("->")
    sizes: dict[str, Dim] = {}
    for term, operand in zip(terms.split(","), op.operands, strict=True):
        if "..." in term:
            return None
        sizes |= zip(term, shapes.shape_of(operand), strict=True)
    return _times(*sizes.values()) if arrow or result == "" else None


def _recurrent(op: OnnxOp) -> Form | None:
    """Products of input and state with all gates' weights, per step and direction."""
    directions, gates, inputs = shapes.shape_of(op.operands[1])
    recurrent = shapes.shape_of(op.operands[2])[-1]
    first, second, _ = shapes.shape_of(op.operands[0])
    steps = _times(first, second, directions, gates)
    return _sum(_times(steps, inputs), _times(steps, recurrent))


_PRODUCTS: Mapping[str, Callable[[OnnxOp], Form | None]] = {
    "Conv": _conv,
    "ConvInteger": _conv,
    "ConvTranspose": _conv_transpose,
    "DeformConv": _conv,
    "Einsum": _einsum,
    "GRU": _recurrent,
    "Gemm": _gemm,
    "LSTM": _recurrent,
    "MatMul": _integer_product,
    "MatMulInteger": _integer_product,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _integer_product,
    "RNN": _recurrent,
}
