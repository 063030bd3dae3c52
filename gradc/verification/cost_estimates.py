"""Estimates of a gradient check's time and memory from types."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue

from dialects.support.shapes import has_rank, shape_of
from gradc.verification.point_plan import Plan

PRODUCTS_PER_SECOND = 1e10
"""Multiplications of a product or a convolution in float64 on one core."""

ELEMENTS_PER_SECOND = 2e8
"""Elements of results of other ops."""

PASSES = 6
"""Evaluations, in units of the forward ops' time: values, tangents, gradient, compiled model."""

UNKNOWN = 8
"""The value assumed for a dynamic size."""


def estimate_seconds(plan: Plan) -> float:
    """Return the estimated seconds of a check at one point."""
    return sum(map(_seconds, plan.forward)) * PASSES


def estimate_bytes(plan: Plan) -> int:
    """Return an upper bound on the bytes of the forward ops' values and tangents."""
    return 16 * sum(_elements(value) for op in plan.forward for value in op.results)


def _seconds(op: Operation) -> float:
    results = sum(map(_elements, op.results))
    return _products(op) / PRODUCTS_PER_SECOND + results / ELEMENTS_PER_SECOND


def _products(op: Operation) -> int:
    name = op.name.removeprefix("onnx.")
    if len(op.operands) < 2 or not op.results:
        return 0
    data, other = (_shape(value) for value in op.operands[:2])
    if name in ("Conv", "ConvTranspose"):
        larger = op.results[0] if name == "Conv" else op.operands[0]
        return _elements(larger) * prod(other[1:])
    if name in ("MatMul", "Gemm") and data:
        return _elements(op.results[0]) * max(data[-2:])
    return 0


def _elements(value: SSAValue) -> int:
    return prod(_shape(value))


def _shape(value: SSAValue) -> tuple[int, ...]:
    if not has_rank(value):
        return (UNKNOWN,)
    return tuple(dim if isinstance(dim, int) else UNKNOWN for dim in shape_of(value))
